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

    def conv(self, name: str, x: Node, stride: int, *, is_padded: bool = True) -> Node:
        kernel = f"{name}.kernel"
        height, width, n_in, n_out = self.graph.params[kernel].value.shape
        positions = x.value.shape[0] * (x.value.shape[1] // stride) * (x.value.shape[2] // stride)
        terms = height * width * n_in, height * width * n_out, positions
        options = {"stride": stride, "padding": self._padding if is_padded else ((0, 0), (0, 0))}
        node = self.graph.apply(operations.convolution, x, params=(kernel,), casts=True, terms=terms, **options)
        return self.graph.tap(name, node)

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

    def dense(self, name: str, x: Node, *, tap: str) -> Node:
        n_in, n_out = self.graph.params[f"{name}.kernel"].value.shape
        terms = n_in, n_out, len(x.value), len(x.value)
        params = f"{name}.kernel", f"{name}.bias"
        return self.graph.tap(tap, self.graph.apply(operations.dense, x, params=params, casts=True, terms=terms))

    def _by_running_statistics(self, name: str, x: Node, params: tuple[str, str], epsilon: float) -> Node:
        # The factor is rounded once for a whole channel. Programs that compute x * factor + (bias - mean * factor), as
        # TensorFlow's do, round both products, which may be larger than what is left of them.
        rounding = self.graph.rounding
        mean, variance = (self._statistics[f"{name}.{moment}"] for moment in ("mean", "variance"))
        scale, bias = (self.graph.params[parameter].value for parameter in params)
        factor = rounding.master(operations.batch_norm_factor(scale, variance, epsilon=epsilon))
        value = rounding.master(x.value * factor) + (bias - rounding.master(mean * factor))
        return Node(rounding.activation(value))
