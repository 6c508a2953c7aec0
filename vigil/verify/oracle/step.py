"""What one call does to a training state, in float64: a training step, accumulation, forward passes, evaluation, layers alone.

Each function returns a flat dict of named tensors, the same names that a runner's answers have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runners.contract.data.batches import Labels
from vigil.verify.oracle import moco_lite, resnet_cifar, tiny_mask_rcnn
from vigil.verify.oracle.graph import Graph
from vigil.verify.oracle.rounding import Rounding

Tensors = dict[str, np.ndarray]
MODELS = {"resnet_cifar": resnet_cifar, "moco_lite": moco_lite, "tiny_mask_rcnn": tiny_mask_rcnn}
# In evaluation images know nothing of each other; a few at once stay in the processor's cache.
_EVALUATED_AT_ONCE = 16


def train_step(
    training: dict[str, Any],
    state: Mapping[str, np.ndarray],
    batches: Sequence[tuple[np.ndarray, Labels]],
    learning_rate: float,
    *,
    rounding: Rounding | None = None,
) -> Tensors:
    """Return loss, state, taps and gradients of one step on (images, labels).

    Several batches are micro-batches: their gradients are averaged, the running statistics move with each, and the taps are
    those of the last.
    """
    rounding = rounding or Rounding(None)
    params, statistics = _group(state, "params"), _group(state, "stats")
    losses, gradients = [], []
    for images, labels in batches:
        graph, loss = _differentiate(training, params, statistics, images, labels, rounding=rounding)
        statistics = graph.moved
        losses.append(loss)
        gradients.append(graph.parameter_gradients())
    mean = {name: sum(each[name] for each in gradients) / len(batches) for name in params}
    answer: Tensors = {"loss": np.mean(losses)}
    answer |= {f"output/{name}": value for name, value in graph.outputs.items()}
    answer |= {f"leaf_gradient/{name}": value for name, value in graph.tap_gradients().items()}
    answer |= {f"parameter_gradient/{name}": value for name, value in mean.items()}
    answer |= {f"stats/{name}": value for name, value in statistics.items()}
    rule = training["optimizer"]
    for name, value in params.items():
        decayed = mean[name] + rule["weight_decay"] * value
        buffer = rounding.master(rule["momentum"] * state[f"momentum/{name}"] + decayed)
        answer[f"momentum/{name}"] = buffer
        answer[f"params/{name}"] = rounding.master(value - learning_rate * buffer)
    return answer


def forward_passes(
    training: dict[str, Any],
    state: Mapping[str, np.ndarray],
    batches: Sequence[tuple[np.ndarray, Labels]],
    images: np.ndarray,
    *,
    rounding: Rounding | None = None,
) -> Tensors:
    """Return statistics after training-mode forward passes over (images, labels), and then what evaluation gives for `images`."""
    rounding = rounding or Rounding(None)
    model, params, statistics = training["model"], _group(state, "params"), _group(state, "stats")
    for some, labels in batches:
        graph = Graph(params, rounding=rounding)
        MODELS[model["name"]].forward(graph, some.astype(np.float64), labels, model=model, statistics=statistics)
        statistics = graph.moved
    logits = []
    for first in range(0, len(images), _EVALUATED_AT_ONCE):
        graph, part = Graph(params, rounding=rounding), images[first : first + _EVALUATED_AT_ONCE].astype(np.float64)
        logits.append(MODELS[model["name"]].evaluate(graph, part, model=model, statistics=statistics).value)
    answer = {f"stats/{name}": value for name, value in statistics.items()}
    return answer | {f"params/{name}": value for name, value in params.items()} | {"logits": np.concatenate(logits)}


def segments(
    training: dict[str, Any],
    state: Mapping[str, np.ndarray],
    batch: tuple[np.ndarray, Labels],
    *,
    leaves: Mapping[str, np.ndarray],
    cotangents: Mapping[str, np.ndarray],
    rounding: Rounding | None = None,
) -> Tensors:
    """Return taps, gradients and statistics when the given taps are cut: with all cut, every layer is alone."""
    rounding = rounding or Rounding(None)
    params, statistics = _group(state, "params"), _group(state, "stats")
    graph, loss = _differentiate(training, params, statistics, *batch, rounding=rounding, leaves=leaves, cotangents=cotangents)
    answer: Tensors = {"loss": loss}
    answer |= {f"output/{name}": value for name, value in graph.outputs.items()}
    answer |= {f"leaf_gradient/{name}": value for name, value in graph.tap_gradients().items()}
    answer |= {f"parameter_gradient/{name}": value for name, value in graph.parameter_gradients().items()}
    return answer | {f"stats/{name}": value for name, value in graph.moved.items()}


def _differentiate(
    training, params, statistics, images, labels, *, rounding, leaves=None, cotangents=None
) -> tuple[Graph, np.ndarray]:
    model = training["model"]
    architecture = MODELS[model["name"]]
    graph = Graph(params, rounding=rounding, leaves=leaves, cotangents=cotangents)
    outputs, expected = architecture.forward(graph, images.astype(np.float64), labels, model=model, statistics=statistics)
    loss = architecture.objective(graph, outputs, expected)
    graph.backward(loss)
    return graph, loss.value


def _group(state: Mapping[str, np.ndarray], group: str) -> Tensors:
    prefix = f"{group}/"
    return {name[len(prefix) :]: np.asarray(value, np.float64) for name, value in state.items() if name.startswith(prefix)}


def readers(training: dict[str, Any], state: Mapping[str, np.ndarray], batch: tuple[np.ndarray, Labels]) -> dict[str, list[str]]:
    """Return tap -> the taps made directly from it; the loss is made from the last of them."""
    params, statistics = _group(state, "params"), _group(state, "stats")
    graph, _ = _differentiate(training, params, statistics, *batch, rounding=Rounding(None))
    return graph.readers()
