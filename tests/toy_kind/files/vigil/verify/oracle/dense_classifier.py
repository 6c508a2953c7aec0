"""One dense layer on the oracle's graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vigil.verify.oracle import operations
from vigil.verify.oracle.graph import Graph, Node
from vigil.verify.oracle.layers import mean_cross_entropy
from vigil.verify.oracle.outline import Parameter


def forward(
    graph: Graph, images: np.ndarray, labels: np.ndarray, *, model: dict[str, Any], statistics: Mapping[str, np.ndarray]
) -> tuple[Node, np.ndarray]:
    """Return the logits of images [batch, height, width, channel], and the right class of each row."""
    return evaluate(graph, images, model=model, statistics=statistics), labels


objective = mean_cross_entropy


def evaluate(graph: Graph, images: np.ndarray, *, model: dict[str, Any], statistics: Mapping[str, np.ndarray]) -> Node:
    """Return the logits of images."""
    x = Node(graph.rounding.cast(images.reshape(len(images), -1)))
    params = Parameter("head", "kernel"), Parameter("head", "bias")
    terms = x.value.shape[1], model["n_classes"], len(images), len(images)
    node = graph.apply(operations.dense, x, params=params, casts=True, terms=terms)
    return graph.tap("logits", node, layer="head", ends_block=True)
