"""What one call does to a training state, in float64: a training step, accumulation, forward passes, evaluation, layers alone.

Each function returns a flat dict of named tensors, the same names that a runner's answers have.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runners.contract.data.batches import Labels
from runners.contract.optimizers import optimizer_of
from vigil.verify.oracle.graph import Graph
from vigil.verify.oracle.models import architecture_of
from vigil.verify.oracle.outline import Outline
from vigil.verify.oracle.rounding import Rounding

Tensors = dict[str, np.ndarray]
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
        statistics = graph.statistics
        losses.append(loss)
        gradients.append(graph.parameter_gradients())
    sums = {name: functools.reduce(np.add, (each[name] for each in gradients)) for name in params}
    mean = {name: of_all.astype(np.float64) / len(batches) for name, of_all in sums.items()}  # coarse ones are float32
    answer: Tensors = {"loss": np.mean(losses)}
    answer |= {f"output/{name}": value for name, value in graph.outputs.items()}
    answer |= {f"leaf_gradient/{name}": value for name, value in graph.tap_gradients().items()}
    answer |= {f"parameter_gradient/{name}": value for name, value in mean.items()}
    answer |= {f"stats/{name}": value for name, value in statistics.items()}
    own = {name: np.asarray(value, np.float64) for name, value in state.items()}
    rule, optimizer = training["optimizer"], optimizer_of(training)
    return answer | optimizer.update(rule, own, mean, learning_rate, rounded=rounding.master)


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
    architecture = architecture_of(training)
    for some, labels in batches:
        graph = Graph(params, rounding=rounding)
        architecture.forward(graph, some.astype(np.float64), labels, model=model, statistics=statistics)
        statistics = graph.statistics
    logits = []
    for first in range(0, len(images), _EVALUATED_AT_ONCE):
        graph, part = Graph(params, rounding=rounding), images[first : first + _EVALUATED_AT_ONCE].astype(np.float64)
        logits.append(architecture.evaluate(graph, part, model=model, statistics=statistics).value)
    answer = {f"stats/{name}": value for name, value in statistics.items()}
    return answer | {f"params/{name}": value for name, value in params.items()} | {"logits": np.concatenate(logits)}


def taps(training: dict[str, Any], state: Mapping[str, np.ndarray], batch: tuple[np.ndarray, Labels]) -> Tensors:
    """Return the taps of a forward pass in training mode."""
    graph, _, _ = _forward(training, _group(state, "params"), _group(state, "stats"), *batch, rounding=Rounding(None))
    return graph.outputs


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
    return answer | {f"stats/{name}": value for name, value in graph.statistics.items()}


def _differentiate(
    training, params, statistics, images, labels, *, rounding, leaves=None, cotangents=None
) -> tuple[Graph, np.ndarray]:
    graph, outputs, expected = _forward(
        training, params, statistics, images, labels, rounding=rounding, leaves=leaves, cotangents=cotangents
    )
    loss = architecture_of(training).objective(graph, outputs, expected)
    graph.backward(loss)
    return graph, loss.value


def _forward(training, params, statistics, images, labels, *, rounding, leaves=None, cotangents=None) -> tuple[Graph, Any, Any]:
    graph = Graph(params, rounding=rounding, leaves=leaves, cotangents=cotangents)
    forward, model = architecture_of(training).forward, training["model"]
    return graph, *forward(graph, images.astype(np.float64), labels, model=model, statistics=statistics)


def _group(state: Mapping[str, np.ndarray], group: str) -> Tensors:
    prefix = f"{group}/"
    return {name[len(prefix) :]: np.asarray(value, np.float64) for name, value in state.items() if name.startswith(prefix)}


def outline(training: dict[str, Any], state: Mapping[str, np.ndarray], batch: tuple[np.ndarray, Labels]) -> Outline:
    """Return what a training step is made of. Any state and batch will do."""
    params, statistics = _group(state, "params"), _group(state, "stats")
    graph, _ = _differentiate(training, params, statistics, *batch, rounding=Rounding(None))
    return graph.outline()
