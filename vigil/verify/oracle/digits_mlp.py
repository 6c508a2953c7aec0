"""The multi-layer perceptron on digits on the oracle's graph. Same taps as its twins in runners/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vigil.verify.oracle import operations
from vigil.verify.oracle.graph import Graph, Node
from vigil.verify.oracle.layers import Layers
from vigil.verify.oracle.outline import Parameter

Tensors = Mapping[str, np.ndarray]


def forward(
    graph: Graph, images: np.ndarray, labels: Tensors, *, model: dict[str, Any], statistics: Tensors
) -> tuple[list[Node], np.ndarray]:
    """Return cross-entropy and penalty of images [batch, height, width, channel], [batch] each, and what the first weighs.

    Args:
        labels: those of `runners.contract.kinds.perceptron.WholeEpochBatches`.
    """
    logits = _logits(Layers(graph, model, statistics, training=True), images)
    rounded = graph.rounding.master
    graph.form("loss", "cross entropy", logits)
    losses = graph.apply(operations.cross_entropy_of_rows, logits, labels=labels["classes"], rounded=rounded, widens=True)
    return [losses, _penalty(graph, labels["penalty"].astype(np.float64))], labels["weights"].astype(np.float64)


def objective(graph: Graph, losses: list[Node], weights: np.ndarray) -> Node:
    """Return the mean over the rows of cross-entropy times weight, plus penalty."""
    first, penalty = losses
    weighted = graph.apply(operations.scaled, first, factor=weights, is_wide=True)
    return graph.apply(operations.mean_of_sums, weighted, penalty, is_wide=True, terms=(2 * len(weights),))


def evaluate(graph: Graph, images: np.ndarray, *, model: dict[str, Any], statistics: Tensors) -> Node:
    """Return the logits of images."""
    return _logits(Layers(graph, model, statistics, training=False), images)


def _logits(layers: Layers, images: np.ndarray) -> Node:
    x = Node(layers.graph.rounding.cast(images.reshape(len(images), -1)))
    x = layers.relu("relu", layers.dense("hidden", x, tap="hidden"), ends_block=True)
    return layers.dense("output", x, tap="logits", ends_block=True)


def _penalty(graph: Graph, factor: np.ndarray) -> Node:
    """Return half of the sum of the squared kernels, times each row's factor."""
    kernels = Parameter("hidden", "kernel"), Parameter("output", "kernel")
    sizes = [graph.params[kernel.name].value.size for kernel in kernels]

    def penalised(factor: np.ndarray, *kernels: np.ndarray) -> tuple[np.ndarray, operations.Backward]:
        half = 0.5 * sum(np.square(kernel).sum() for kernel in kernels)

        def backward(gradient: np.ndarray) -> tuple[np.ndarray, ...]:
            share = gradient @ factor
            return gradient * half, *(share * kernel for kernel in kernels)

        return factor * half, backward

    for kernel in kernels:
        for layer in ("penalty", kernel.layer):
            graph.form(layer, "half of squares", graph.params[kernel.name])
    node = graph.apply(penalised, Node(factor), params=kernels, is_wide=True, terms=(sum(sizes), 1, len(factor), len(factor)))
    return graph.tap("penalty", node)
