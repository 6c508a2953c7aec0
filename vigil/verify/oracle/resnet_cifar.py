"""ResNet for CIFAR of He et al. 2015 (arXiv 1512.03385, section 4.2) on the oracle's graph.

Same taps as its twins in runners/.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from runners.contract.kinds.classification import blocks_per_stage
from vigil.verify.oracle import operations
from vigil.verify.oracle.graph import Graph, Node
from vigil.verify.oracle.layers import Layers, mean_cross_entropy


def forward(
    graph: Graph, images: np.ndarray, labels: np.ndarray, *, model: dict[str, Any], statistics: Mapping[str, np.ndarray]
) -> tuple[Node, np.ndarray]:
    """Return the logits of images [batch, height, width, channel] in training mode, and the right class of each row."""
    return _logits(Layers(graph, model, statistics, training=True), images, model), labels


objective = mean_cross_entropy


def evaluate(graph: Graph, images: np.ndarray, *, model: dict[str, Any], statistics: Mapping[str, np.ndarray]) -> Node:
    """Return the logits of images in evaluation mode."""
    return _logits(Layers(graph, model, statistics, training=False), images, model)


def _logits(layers: Layers, images: np.ndarray, model: dict[str, Any]) -> Node:
    x = layers.conv("stem.conv", Node(layers.graph.rounding.cast(images)), 1)
    x = layers.relu("stem.relu", layers.batch_norm("stem.bn", x), ends_block=True)
    n_in = model["widths"][0]
    for stage, n_out in enumerate(model["widths"], start=1):
        for block in range(1, blocks_per_stage(model["depth"]) + 1):
            name, stride = f"stage{stage}.block{block}", 2 if stage > 1 and block == 1 else 1
            around = _shortcut(layers, f"{name}.shortcut", x, stride, n_out - n_in)
            x = layers.relu(f"{name}.relu1", layers.batch_norm(f"{name}.bn1", layers.conv(f"{name}.conv1", x, stride)))
            x = layers.batch_norm(f"{name}.bn2", layers.conv(f"{name}.conv2", x, 1))
            x = layers.relu(f"{name}.relu2", layers.add(f"{name}.sum", x, around), ends_block=True)
            n_in = n_out
    return layers.dense("head", layers.pool("pool", x), tap="logits", ends_block=True)


def _shortcut(layers: Layers, name: str, x: Node, stride: int, extra_channels: int) -> Node:
    if stride == 1 and extra_channels == 0:
        return layers.identity(name, x)
    before = extra_channels // 2
    after = extra_channels - before
    node = layers.graph.apply(operations.strided_slice, x, stride=stride, channels_before=before, channels_after=after)
    return layers.graph.tap(name, node)
