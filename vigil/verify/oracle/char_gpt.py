"""The small GPT on the oracle's graph. Same taps as its twins in runners/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from runners.contract.kinds.language import block_names
from vigil.verify.oracle import operations
from vigil.verify.oracle.graph import Graph, Node
from vigil.verify.oracle.layers import Layers

Tensors = Mapping[str, np.ndarray]


def forward(
    graph: Graph, tokens: np.ndarray, labels: Tensors, *, model: dict[str, Any], statistics: Tensors
) -> tuple[Node, np.ndarray]:
    """Return the logits of tokens [batch, block] in training mode, [batch, block, token], and the token that follows each.

    Args:
        labels: those of `runners.contract.kinds.language.TextBatches`.
    """
    return _logits(Layers(graph, model, statistics, training=True), tokens, labels, model), labels["classes"]


def objective(graph: Graph, logits: Node, classes: np.ndarray) -> Node:
    """Return the mean over all places of -log softmax(logits)[class]."""
    flat = graph.apply(operations.reshaped, logits, shape=(classes.size, -1), widens=True)
    rounded = graph.rounding.master
    graph.form("loss", "cross entropy", flat)
    losses = graph.apply(operations.cross_entropy_of_rows, flat, labels=classes.ravel(), rounded=rounded, is_wide=True)
    return graph.apply(operations.mean_of_sums, losses, is_wide=True, terms=(classes.size,))


def evaluate(graph: Graph, tokens: np.ndarray, *, model: dict[str, Any], statistics: Tensors) -> Node:
    """Return the logits of tokens in evaluation mode."""
    return _logits(Layers(graph, model, statistics, training=False), tokens, {}, model)


def _logits(layers: Layers, tokens: np.ndarray, labels: Tensors, model: dict[str, Any]) -> Node:
    # A graph's images are float64; each number of a token is exact there.
    x = layers.embedding("embedding", tokens.astype(np.int64), of=("tokens", "positions"))
    x = layers.graph.tap("embedding", _dropped(layers, x, labels, "embedding", model), ends_block=True)
    for name in block_names(model):
        x = _block(layers, name, x, labels, model)
    x = layers.layer_norm("norm", x)
    return layers.tied_dense("tokens", x, tap="logits", ends_block=True)


def _block(layers: Layers, name: str, x: Node, labels: Tensors, model: dict[str, Any]) -> Node:
    around = layers.identity(f"{name}.shortcut1", x)
    x = layers.linear(f"{name}.qkv", layers.layer_norm(f"{name}.norm1", x))
    x = layers.attention(f"{name}.attention", x, heads=model["heads"], keeps=_keeps(labels, f"{name}.attention", model))
    x = layers.product(f"{name}.projection", x)
    x = layers.graph.tap(f"{name}.projection", _dropped(layers, x, labels, f"{name}.projection", model))
    x = layers.add(f"{name}.sum1", around, x)
    around = layers.identity(f"{name}.shortcut2", x)
    x = layers.linear(f"{name}.up", layers.layer_norm(f"{name}.norm2", x))
    x = layers.product(f"{name}.down", layers.gelu(f"{name}.gelu", x))
    x = layers.graph.tap(f"{name}.down", _dropped(layers, x, labels, f"{name}.down", model))
    return layers.add(f"{name}.sum2", around, x, ends_block=True)


def _keeps(labels: Tensors, place: str, model: dict[str, Any]) -> np.ndarray | None:
    """Return what a place's numbers are multiplied by; None where nothing is dropped."""
    return labels[place] / (1.0 - model["dropout"]) if place in labels else None


def _dropped(layers: Layers, x: Node, labels: Tensors, place: str, model: dict[str, Any]) -> Node:
    keeps = _keeps(labels, place, model)
    return x if keeps is None else layers.graph.apply(operations.scaled, x, factor=keeps)
