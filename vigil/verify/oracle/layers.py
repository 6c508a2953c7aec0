"""Layers that the models have in common, on the oracle's graph: each records its output under a tap's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vigil.verify.oracle import operations
from vigil.verify.oracle.graph import Graph, Node


class Layers:
    """The layers of one model in one pass.

    Args:
        model: the recipe's model block.
        statistics: running statistics before the pass. What training moves is in `graph.moved` afterwards.
        training: take the batch's own statistics, and move the running ones.
    """

    def __init__(self, graph: Graph, model: dict[str, Any], statistics: Mapping[str, np.ndarray], *, training: bool) -> None:
        self.graph, self.training = graph, training
        self._padding = tuple(map(tuple, model["convolution"]["padding"]))
        self._norm, self._statistics = model["batch_norm"], statistics

    def conv(self, name: str, x: Node, stride: int, *, is_padded: bool = True, tap: str | None = None) -> Node:
        """Convolve images, or regions [batch, region, height, width, channel]; with a bias where the model has one."""
        height, width, n_in, n_out = self.graph.params[f"{name}.kernel"].value.shape
        positions = x.value.size // n_in // stride**2
        params = [part for part in (f"{name}.kernel", f"{name}.bias") if part in self.graph.params]
        function = operations.biased_convolution if len(params) > 1 else operations.convolution
        terms = height * width * n_in, height * width * n_out, *[positions] * len(params)
        options = {"stride": stride, "padding": self._padding if is_padded else ((0, 0), (0, 0))}
        function = operations.for_regions(function) if x.value.ndim == 5 else function
        node = self.graph.apply(function, x, params=tuple(params), casts=True, terms=terms, **options)
        return self.graph.tap(tap or name, node)

    def transposed_conv(self, name: str, x: Node) -> Node:
        """Convolve regions back, each pixel to a patch of the kernel's size."""
        side, _, n_in, n_out = self.graph.params[f"{name}.kernel"].value.shape
        positions = x.value.size // n_in
        terms, params = (n_in, side**2 * n_out, positions, side**2 * positions), (f"{name}.kernel", f"{name}.bias")
        function = operations.for_regions(operations.transposed_convolution)
        return self.graph.tap(name, self.graph.apply(function, x, params=params, casts=True, terms=terms))

    def batch_norm(self, name: str, x: Node) -> Node:
        params, epsilon = (f"{name}.scale", f"{name}.bias"), self._norm["epsilon"]
        if not self.training:
            return self.graph.tap(name, self._by_running_statistics(name, x, params, epsilon))
        rows = self._norm.get("rows", len(x.value))
        parts = x.value.reshape(-1, rows, *x.value.shape[1:])
        over = tuple(range(1, parts.ndim - 1))
        n = parts[0].size // parts.shape[-1]
        means = self.graph.rounding.master(parts.mean(axis=over), n)
        variances = self.graph.rounding.master(parts.var(axis=over), n)
        share = self._norm["momentum"]
        for moment, batch in (("mean", means.mean(axis=0)), ("variance", variances.mean(axis=0) * (n / (n - 1)))):
            running = self._statistics[f"{name}.{moment}"]
            self.graph.moved[f"{name}.{moment}"] = self.graph.rounding.master((1.0 - share) * running + share * batch)

        def normalise(x, scale, bias):
            return operations.split_batch_norm(x, scale, bias, means, variances, epsilon=epsilon)

        total = n * len(parts)
        return self.graph.tap(name, self.graph.apply(normalise, x, params=params, terms=(1, 1, total, total)))

    def region_batch_norm(self, name: str, x: Node, used: np.ndarray) -> Node:
        """Normalise regions [batch, region, height, width, channel] by the statistics of those in use."""
        params, epsilon = (f"{name}.scale", f"{name}.bias"), self._norm["epsilon"]
        if not self.training:
            return self.graph.tap(name, self._by_running_statistics(name, x, params, epsilon))
        counted = x.value[used].reshape(-1, x.value.shape[-1])
        n, share = len(counted), self._norm["momentum"]
        mean, variance = (self.graph.rounding.master(each, n) for each in (counted.mean(axis=0), counted.var(axis=0)))
        for moment, batch in (("mean", mean), ("variance", variance * (n / (n - 1)))):
            running = self._statistics[f"{name}.{moment}"]
            self.graph.moved[f"{name}.{moment}"] = self.graph.rounding.master((1.0 - share) * running + share * batch)

        def normalise(x, scale, bias):
            return operations.region_batch_norm(x, scale, bias, mean, variance, used=used.ravel(), epsilon=epsilon)

        function = operations.for_regions(normalise)
        return self.graph.tap(name, self.graph.apply(function, x, params=params, terms=(1, 1, n, n)))

    def relu(self, name: str, x: Node) -> Node:
        return self.graph.tap(name, self.graph.apply(operations.relu, x))

    def add(self, name: str, x: Node, y: Node) -> Node:
        return self.graph.tap(name, self.graph.apply(operations.add, x, y))

    def identity(self, name: str, x: Node) -> Node:
        # A node of its own: cut, it must not take the gradient that another reader sends to x.
        return self.graph.tap(name, self.graph.apply(lambda value: (value, lambda gradient: (gradient,)), x))

    def pool(self, name: str, x: Node) -> Node:
        _, height, width, _ = x.value.shape
        return self.graph.tap(name, self.graph.apply(operations.mean_pool, x, terms=(height * width,)))

    def dense(self, name: str, x: Node, *, tap: str, widens: bool = False) -> Node:
        """Multiply rows [batch, in], or regions [batch, region, in], by a kernel, and add a bias."""
        n_in, n_out = self.graph.params[f"{name}.kernel"].value.shape
        rows = x.value.size // n_in
        terms, params = (n_in, n_out, rows, rows), (f"{name}.kernel", f"{name}.bias")
        function = operations.for_regions(operations.dense) if x.value.ndim == 3 else operations.dense
        return self.graph.tap(tap, self.graph.apply(function, x, params=params, casts=True, widens=widens, terms=terms))

    def _by_running_statistics(self, name: str, x: Node, params: tuple[str, str], epsilon: float) -> Node:
        # The factor is rounded once for a whole channel. Programs that compute x * factor + (bias - mean * factor), as
        # TensorFlow's do, round both products, which may be larger than what is left of them.
        rounding = self.graph.rounding
        mean, variance = (self._statistics[f"{name}.{moment}"] for moment in ("mean", "variance"))
        scale, bias = (self.graph.params[parameter].value for parameter in params)
        factor = rounding.master(operations.batch_norm_factor(scale, variance, epsilon=epsilon))
        value = rounding.master(x.value * factor) + (bias - rounding.master(mean * factor))
        return Node(rounding.activation(value))


def mean_cross_entropy(graph: Graph, logits: Node, classes: np.ndarray) -> Node:
    """Return the mean over the batch of -log softmax(logits)[class]."""
    terms = (len(classes) + logits.value.shape[1],)
    return graph.apply(operations.softmax_cross_entropy, logits, labels=classes, terms=terms)
