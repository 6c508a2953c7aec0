"""ResNet for CIFAR of He et al. 2015 (arXiv 1512.03385, section 4.2) on the oracle's graph.

Same taps as its twins in runners/.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from runners.contract.models import blocks_per_stage
from vigil.verify.oracle import operations
from vigil.verify.oracle.graph import Graph, Node


def forward(graph: Graph, images: np.ndarray, *, model: dict[str, Any], running: Mapping[str, np.ndarray] | None = None) -> Node:
    """Return the logits of images [batch, height, width, channel]; every tap is in `graph.outputs`.

    Args:
        running: running statistics for evaluation; None takes the batch's own, and leaves them in `graph.statistics`.
    """
    convolution, norm = model["convolution"], model["batch_norm"]
    padding = tuple(map(tuple, convolution["padding"]))

    def conv(name: str, x: Node, stride: int) -> Node:
        kernel = f"{name}.kernel"
        height, width, n_in, n_out = graph.params[kernel].value.shape
        positions = x.value.shape[0] * (x.value.shape[1] // stride) * (x.value.shape[2] // stride)
        terms = height * width * n_in, height * width * n_out, positions
        options = {"stride": stride, "padding": padding}
        return graph.tap(name, graph.apply(operations.convolution, x, params=(kernel,), casts=True, terms=terms, **options))

    def bn(name: str, x: Node) -> Node:
        params, epsilon = (f"{name}.scale", f"{name}.bias"), norm["epsilon"]
        if running is not None:
            # The factor is rounded once for a whole channel. Programs that compute x * factor + (bias - mean * factor), as
            # TensorFlow's do, round both products, which may be larger than what is left of them.
            mean, variance = (running[f"{name}.{moment}"] for moment in ("mean", "variance"))
            scale, bias = (graph.params[parameter].value for parameter in params)
            factor = graph.rounding.master(operations.batch_norm_factor(scale, variance, epsilon=epsilon))
            value = graph.rounding.master(x.value * factor) + (bias - graph.rounding.master(mean * factor))
            return graph.tap(name, Node(graph.rounding.activation(value)))
        over = tuple(range(x.value.ndim - 1))
        n = x.value.size // x.value.shape[-1]
        mean, variance = graph.rounding.master(x.value.mean(axis=over), n), graph.rounding.master(x.value.var(axis=over), n)
        graph.statistics |= {f"{name}.mean": mean, f"{name}.variance": variance * (n / (n - 1))}

        def normalise(x, scale, bias):
            return operations.batch_norm(x, scale, bias, mean, variance, epsilon=epsilon)

        return graph.tap(name, graph.apply(normalise, x, params=params, terms=(1, 1, n, n)))

    def relu(name: str, x: Node) -> Node:
        return graph.tap(name, graph.apply(operations.relu, x))

    def shortcut(x: Node, stride: int, extra_channels: int) -> Node:
        if stride == 1 and extra_channels == 0:
            # A node of its own: cut, it must not take the gradient that the block's first convolution sends to x.
            return graph.apply(lambda value: (value, lambda gradient: (gradient,)), x)
        before = extra_channels // 2
        sides = {"channels_before": before, "channels_after": extra_channels - before}
        return graph.apply(operations.strided_slice, x, stride=stride, **sides)

    x = conv("stem.conv", Node(graph.rounding.cast(images)), 1)
    x = relu("stem.relu", bn("stem.bn", x))
    n_in = model["widths"][0]
    for stage, n_out in enumerate(model["widths"], start=1):
        for block in range(1, blocks_per_stage(model["depth"]) + 1):
            name, stride = f"stage{stage}.block{block}", 2 if stage > 1 and block == 1 else 1
            around = graph.tap(f"{name}.shortcut", shortcut(x, stride, n_out - n_in))
            x = relu(f"{name}.relu1", bn(f"{name}.bn1", conv(f"{name}.conv1", x, stride)))
            x = bn(f"{name}.bn2", conv(f"{name}.conv2", x, 1))
            x = graph.tap(f"{name}.sum", graph.apply(operations.add, x, around))
            x = relu(f"{name}.relu2", x)
            n_in = n_out
    batch, height, width, features = x.value.shape
    x = graph.tap("pool", graph.apply(operations.mean_pool, x, terms=(height * width,)))
    terms = features, model["n_classes"], batch, batch
    head = graph.apply(operations.dense, x, params=("head.kernel", "head.bias"), casts=True, terms=terms)
    return graph.tap("logits", head)


def taps(model: dict[str, Any]) -> list[str]:
    """Return the names of the taps in forward order."""
    names = ["stem.conv", "stem.bn", "stem.relu"]
    for stage in range(1, len(model["widths"]) + 1):
        for block in range(1, blocks_per_stage(model["depth"]) + 1):
            parts = ("shortcut", "conv1", "bn1", "relu1", "conv2", "bn2", "sum", "relu2")
            names += [f"stage{stage}.block{block}.{part}" for part in parts]
    return [*names, "pool", "logits"]
