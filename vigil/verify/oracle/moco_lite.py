"""MoCo (He et al. 2020, arXiv 1911.05722) with ResNet encoders on the oracle's graph.

Same taps as its twins in runners/.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from runners.contract.kinds.contrast import MOCO_LITE, has_projection
from vigil.verify.oracle import operations
from vigil.verify.oracle.graph import Graph, Node
from vigil.verify.oracle.layers import Layers, mean_cross_entropy
from vigil.verify.oracle.outline import Statistic

Tensors = Mapping[str, np.ndarray]


def forward(
    graph: Graph, pairs: np.ndarray, place: np.ndarray, *, model: dict[str, Any], statistics: Tensors
) -> tuple[Node, np.ndarray]:
    """Return the logits of pairs [batch, 2, height, width, channel] in training mode, and their right class, which is 0."""
    rounding, share = graph.rounding, model["key_momentum"]
    features = _features(Layers(graph, model, statistics, training=True), pairs[:, 0], model)
    of_key, of_query = rounding.number(share), rounding.number(1.0 - share)
    follower = {
        name: rounding.master(of_key * statistics[f"key.{name}"] + of_query * graph.params[name].value)
        for name in MOCO_LITE.parameter_shapes(model)
    }
    held = {name.removeprefix("key."): value for name, value in statistics.items() if name.startswith("key.")}
    key_graph = Graph(follower, rounding=rounding)
    encoded = _features(Layers(key_graph, model, held, training=True), pairs[:, 1], model)
    keys = graph.tap("keys", Node(encoded.value))
    dimension, queue = model["dimension"], statistics["queue"]
    terms, options = (dimension, 1 + len(queue), 1), {"place": place, "queue": queue, "temperature": model["temperature"]}
    node = graph.apply(operations.contrast, features, keys, is_wide=True, terms=terms, **options)
    logits = graph.tap("logits", node, layer="contrast", ends_block=True)
    _move_key_encoder(graph, key_graph, follower)
    graph.move("queue", np.concatenate([keys.value, queue[: -len(keys.value)]]), Statistic("queue", "content", "content"))
    return logits, np.zeros(len(pairs), np.int64)


def _move_key_encoder(graph: Graph, key_graph: Graph, follower: Tensors) -> None:
    """Note what the key encoder holds after a pass: its weights moved before it encoded, its statistics with that."""
    for name, value in follower.items():
        layer, part = key_graph.parameters[name]
        graph.move(f"key.{name}", value, Statistic(f"key.{layer}", f"moving average of {part}", "average", before="keys"))
    for name, value in key_graph.statistics.items():
        facts = key_graph.statistic_facts[name]
        graph.move(f"key.{name}", value, dataclasses.replace(facts, layer=f"key.{facts.layer}", before="keys"))


objective = mean_cross_entropy


def evaluate(graph: Graph, images: np.ndarray, *, model: dict[str, Any], statistics: Tensors) -> Node:
    """Return the query encoder's features of images [batch, height, width, channel] in evaluation mode."""
    return _features(Layers(graph, model, statistics, training=False), images, model)


def _features(layers: Layers, images: np.ndarray, model: dict[str, Any]) -> Node:
    x = layers.conv("stem.conv", Node(layers.graph.rounding.cast(images)), 1)
    x = layers.relu("stem.relu", layers.batch_norm("stem.bn", x), ends_block=True)
    n_in = model["widths"][0]
    for stage, (n_out, count) in enumerate(zip(model["widths"], model["blocks"], strict=True), start=1):
        for block in range(1, count + 1):
            name, stride = f"stage{stage}.block{block}", 2 if stage > 1 and block == 1 else 1
            if has_projection(stage, block, n_in, n_out):
                around = layers.conv(f"{name}.shortcut.conv", x, stride, is_padded=False)
                around = layers.batch_norm(f"{name}.shortcut.bn", around)
            else:
                around = layers.identity(f"{name}.shortcut", x)
            x = layers.relu(f"{name}.relu1", layers.batch_norm(f"{name}.bn1", layers.conv(f"{name}.conv1", x, stride)))
            x = layers.batch_norm(f"{name}.bn2", layers.conv(f"{name}.conv2", x, 1))
            x = layers.relu(f"{name}.relu2", layers.add(f"{name}.sum", x, around), ends_block=True)
            n_in = n_out
    x = layers.dense("head", layers.pool("pool", x), tap="head")
    terms = model["dimension"], model["dimension"]
    layers.graph.form("features", "unit rows", x)
    node = layers.graph.apply(operations.normalise_rows, x, widens=True, terms=terms)
    return layers.graph.tap("features", node, ends_block=True)
