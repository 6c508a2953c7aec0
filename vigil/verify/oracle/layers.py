"""Layers that the models have in common, on the oracle's graph: each records its output under a tap's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vigil.verify.oracle import operations
from vigil.verify.oracle.graph import Graph, Node
from vigil.verify.oracle.outline import Parameter, Statistic


class Layers:
    """The layers of one model in one pass.

    Args:
        model: the recipe's model block; what a model has none of, as convolutions, is not there.
        statistics: running statistics before the pass. What training moves is in `graph.statistics` afterwards.
        training: take the batch's own statistics, and move the running ones.
    """

    def __init__(self, graph: Graph, model: dict[str, Any], statistics: Mapping[str, np.ndarray], *, training: bool) -> None:
        self.graph, self.training = graph, training
        self._padding = tuple(map(tuple, model["convolution"]["padding"])) if "convolution" in model else ()
        self._norm, self._statistics = model.get("batch_norm", {}), statistics
        self._layer_norm = model.get("layer_norm", {})

    def conv(
        self,
        name: str,
        x: Node,
        stride: int,
        *,
        is_padded: bool = True,
        of_regions: bool = False,
        tap: str | None = None,
        ends_block: bool = False,
    ) -> Node:
        """Convolve images, or regions [batch, region, height, width, channel]; with a bias where the model has one."""
        kernel, bias = Parameter(name, "kernel"), Parameter(name, "bias")
        height, width, n_in, n_out = self.graph.params[kernel.name].value.shape
        positions = x.value.size // n_in // stride**2
        params = [kernel, bias] if bias.name in self.graph.params else [kernel]
        function = operations.biased_convolution if len(params) > 1 else operations.convolution
        terms = height * width * n_in, height * width * n_out, *[positions] * len(params)
        padding = self._padding if is_padded else ((0, 0), (0, 0))
        self.graph.form(name, "convolution", x, kernel=(height, width), out=n_out, stride=stride, padding=padding)
        function = operations.for_regions(function) if of_regions else function
        node = self.graph.apply(function, x, params=tuple(params), casts=True, terms=terms, stride=stride, padding=padding)
        return self.graph.tap(tap or name, node, ends_block=ends_block)

    def transposed_conv(self, name: str, x: Node) -> Node:
        """Convolve regions back, each pixel to a patch of the kernel's size."""
        params = Parameter(name, "kernel"), Parameter(name, "bias")
        side, _, n_in, n_out = self.graph.params[params[0].name].value.shape
        positions = x.value.size // n_in
        terms = n_in, side**2 * n_out, positions, side**2 * positions
        self.graph.form(name, "transposed convolution", x, kernel=(side, side), out=n_out, stride=side)
        function = operations.for_regions(operations.transposed_convolution)
        return self.graph.tap(name, self.graph.apply(function, x, params=params, casts=True, terms=terms))

    def batch_norm(self, name: str, x: Node) -> Node:
        params, epsilon = (Parameter(name, "scale"), Parameter(name, "bias")), self._norm["epsilon"]
        rows = self._norm.get("rows", 0)
        self.graph.form(name, "batch norm", x, epsilon=epsilon, share=self._norm["momentum"], rows=rows)
        if not self.training:
            return self.graph.tap(name, self._by_running_statistics(name, x, params, epsilon))
        rows = self._norm.get("rows", len(x.value))
        parts = x.value.reshape(-1, rows, *x.value.shape[1:])
        n = parts[0].size // parts.shape[-1]
        of_parts = zip(*map(operations.moments, parts), strict=True)
        means, variances = (self.graph.rounding.master(np.stack(each), n) for each in of_parts)
        self._move(name, mean=means.mean(axis=0), variance=variances.mean(axis=0) * (n / (n - 1)))

        def normalise(x, scale, bias):
            return operations.split_batch_norm(x, scale, bias, means, variances, epsilon=epsilon)

        total = n * len(parts)
        return self.graph.tap(name, self.graph.apply(normalise, x, params=params, terms=(1, 1, total, total)))

    def region_batch_norm(self, name: str, x: Node, used: np.ndarray) -> Node:
        """Normalise regions [batch, region, height, width, channel] by the statistics of those in use."""
        params, epsilon = (Parameter(name, "scale"), Parameter(name, "bias")), self._norm["epsilon"]
        self.graph.form(name, "masked batch norm", x, epsilon=epsilon, share=self._norm["momentum"])
        if not self.training:
            return self.graph.tap(name, self._by_running_statistics(name, x, params, epsilon))
        counted = x.value[used].reshape(-1, x.value.shape[-1])
        n = len(counted)
        mean, variance = (self.graph.rounding.master(each, n) for each in (counted.mean(axis=0), counted.var(axis=0)))
        self._move(name, mean=mean, variance=variance * (n / (n - 1)))

        def normalise(x, scale, bias):
            return operations.region_batch_norm(x, scale, bias, mean, variance, used=used.ravel(), epsilon=epsilon)

        function = operations.for_regions(normalise)
        return self.graph.tap(name, self.graph.apply(function, x, params=params, terms=(1, 1, n, n)))

    def relu(self, name: str, x: Node, *, ends_block: bool = False) -> Node:
        self.graph.form(name, "relu", x)
        return self.graph.gate(name, self.graph.apply(operations.relu, x), of=x, ends_block=ends_block)

    def add(self, name: str, x: Node, y: Node, *, ends_block: bool = False) -> Node:
        return self.graph.tap(name, self.graph.apply(operations.add, x, y), ends_block=ends_block)

    def identity(self, name: str, x: Node) -> Node:
        # A node of its own: cut, it must not take the gradient that another reader sends to x.
        return self.graph.tap(name, self.graph.apply(lambda value: (value, lambda gradient: (gradient,)), x))

    def pool(self, name: str, x: Node) -> Node:
        _, height, width, _ = x.value.shape
        self.graph.form(name, "mean pool", x)
        return self.graph.tap(name, self.graph.apply(operations.mean_pool, x, terms=(height * width,)), ends_block=True)

    def dense(
        self, name: str, x: Node, *, tap: str, of_regions: bool = False, widens: bool = False, ends_block: bool = False
    ) -> Node:
        """Multiply rows [batch, in], or regions [batch, region, in], by a kernel, and add a bias."""
        params = Parameter(name, "kernel"), Parameter(name, "bias")
        n_in, n_out = self.graph.params[params[0].name].value.shape
        rows = x.value.size // n_in
        terms, function = (n_in, n_out, rows, rows), operations.for_regions(operations.dense) if of_regions else operations.dense
        self.graph.form(name, "dense", x, out=n_out)
        node = self.graph.apply(function, x, params=params, casts=True, widens=widens, terms=terms)
        return self.graph.tap(tap, node, layer=name, ends_block=ends_block)

    def linear(self, name: str, x: Node) -> Node:
        """Multiply rows [..., in] by a kernel, without a bias."""
        return self.graph.tap(name, self.product(name, x))

    def product(self, name: str, x: Node) -> Node:
        """Return rows [..., in] times a kernel, without a tap."""
        kernel = Parameter(name, "kernel")
        n_in, n_out = self.graph.params[kernel.name].value.shape
        self.graph.form(name, "linear", x, out=n_out)
        return self.graph.apply(operations.linear, x, params=(kernel,), casts=True, terms=(n_in, n_out, x.value.size // n_in))

    def embedding(self, name: str, tokens: np.ndarray, *, of: tuple[str, str]) -> Node:
        """Return the sum of what tokens [batch, block] and their places are embedded in, [batch, block, width], without a tap."""
        params = tuple(Parameter(layer, "embedding") for layer in of)
        # Nothing comes in that has a gradient; how often a row is used, so many terms its gradient has.
        uses = max(np.bincount(tokens.ravel()).max(), len(tokens))
        function = operations.embedding_sum
        for parameter in params:
            rows, width = self.graph.params[parameter.name].value.shape
            for layer in (name, parameter.layer):
                self.graph.form(layer, "embedding", Node(tokens), rows=rows, width=width)
        return self.graph.apply(function, Node(tokens), params=params, casts=True, terms=(1, 1, int(uses), len(tokens)))

    def tied_dense(self, name: str, x: Node, *, tap: str, ends_block: bool = False) -> Node:
        """Multiply rows [..., width] by a transposed embedding [token, width]."""
        kernel = Parameter(name, "embedding")
        n_out, n_in = self.graph.params[kernel.name].value.shape
        terms = n_in, n_out, x.value.size // n_in
        for layer in (name, tap):
            self.graph.form(layer, "attend", x, out=n_out)
        node = self.graph.apply(operations.transposed_linear, x, params=(kernel,), casts=True, terms=terms)
        return self.graph.tap(tap, node, layer=tap, ends_block=ends_block)

    def layer_norm(self, name: str, x: Node) -> Node:
        """Normalise each row [..., width] by its own mean and variance, and multiply by a scale."""
        params, width = (Parameter(name, "scale"),), x.value.shape[-1]
        self.graph.form(name, "layer norm", x, epsilon=self._layer_norm["epsilon"])
        rounded = self.graph.rounding.master
        mean = rounded(x.value.mean(axis=-1, keepdims=True), width)
        variance = rounded(x.value.var(axis=-1, keepdims=True), width)

        def normalise(x: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, operations.Backward]:
            return operations.layer_norm(x, scale, mean, variance, epsilon=self._layer_norm["epsilon"])

        # In low precision flax casts the scale, too.
        terms = 1, 1, x.value.size // width
        return self.graph.tap(name, self.graph.apply(normalise, x, params=params, casts=True, terms=terms))

    def gelu(self, name: str, x: Node) -> Node:
        self.graph.form(name, "gelu", x)
        return self.graph.tap(name, self.graph.apply(operations.gelu, x, rounded=self.graph.rounding.master))

    def attention(self, name: str, x: Node, *, heads: int, keeps: np.ndarray | None) -> Node:
        """Let each place of [batch, block, 3 * width] look at itself and those before it.

        Args:
            keeps: what each share of each head is multiplied by, [batch, head, block, block].
        """
        block, of_head = x.value.shape[1], x.value.shape[2] // 3 // heads
        self.graph.form(name, "causal attention", x, heads=heads)
        # Frameworks add products up in the parameters' type, and take the softmax of those.
        scores = self.graph.apply(operations.attention_scores, x, heads=heads, widens=True, terms=(of_head, block))
        shares = self.graph.apply(operations.causal_softmax, scores, terms=(1, 1))
        if keeps is not None:
            shares = self.graph.apply(operations.scaled, shares, factor=keeps)
        function = operations.attention_values
        return self.graph.tap(name, self.graph.apply(function, shares, x, heads=heads, terms=(block, of_head, block)))

    def _move(self, name: str, **of_batch: np.ndarray) -> None:
        """Move running moments [channel] towards those of the batch."""
        share = self._norm["momentum"]
        for moment, batch in of_batch.items():
            running = self._statistics[f"{name}.{moment}"]
            moved = self.graph.rounding.master((1.0 - share) * running + share * batch)
            self.graph.move(f"{name}.{moment}", moved, Statistic(name, f"running {moment}"))

    def _by_running_statistics(self, name: str, x: Node, params: tuple[Parameter, Parameter], epsilon: float) -> Node:
        # The factor is rounded once for a whole channel. Programs that compute x * factor + (bias - mean * factor), as
        # TensorFlow's do, round both products, which may be larger than what is left of them.
        rounding = self.graph.rounding
        mean, variance = (self._statistics[f"{name}.{moment}"] for moment in ("mean", "variance"))
        scale, bias = (self.graph.params[parameter.name].value for parameter in params)
        factor = rounding.master(operations.batch_norm_factor(scale, variance, epsilon=epsilon))
        value = rounding.master(x.value * factor) + (bias - rounding.master(mean * factor))
        return Node(rounding.activation(value))


def mean_cross_entropy(graph: Graph, logits: Node, classes: np.ndarray) -> Node:
    """Return the mean over the batch of -log softmax(logits)[class]."""
    terms = (len(classes) + logits.value.shape[1],)
    graph.form("loss", "cross entropy", logits)
    return graph.apply(operations.softmax_cross_entropy, logits, labels=classes, terms=terms)
