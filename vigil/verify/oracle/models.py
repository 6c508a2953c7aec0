"""The oracle's models: one row each, with what a step of it is made of and what is put to the test besides."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vigil.verify.oracle import char_gpt, digits_mlp, moco_lite, paired_detections, proposals, resnet_cifar, tiny_mask_rcnn

Tensors = Mapping[str, np.ndarray]
Batch = tuple[np.ndarray, Any]


@dataclasses.dataclass(frozen=True)
class Choices:
    """How a model that chooses is judged: rounding may turn a comparison, and then all that follows is another step.

    fix: (batch, model, params, statistics) -> the batch with the oracle's own choice in the place of the model's.
    ties: (batch, model) -> a batch and leaves for which nothing rounds, and comparisons meet their thresholds exactly.
    """

    fix: Callable[..., Batch]
    ties: Callable[[Batch, dict[str, Any]], tuple[Batch, dict[str, np.ndarray]]]


def _as_it_is(answer: Tensors, expected: Tensors) -> dict[str, np.ndarray]:
    return dict(answer)


@dataclasses.dataclass(frozen=True)
class Architecture:
    """One model.

    forward: (graph, images, labels, model, statistics) -> what the loss is made of, and what it should be.
    objective: (graph, outputs, expected) -> the loss.
    evaluate: (graph, images, model, statistics) -> what is predicted.
    choices: None for a model that computes all that it gives.
    comparable: (answer, expected answer) -> tensors of which each element has its counterpart.
    is_small: whether a step takes milliseconds in every framework, so that hundreds of them can be asked for.
    """

    forward: Callable[..., Any]
    objective: Callable[..., Any]
    evaluate: Callable[..., Any]
    choices: Choices | None = None
    comparable: Callable[[Tensors, Tensors], dict[str, np.ndarray]] = _as_it_is
    is_small: bool = False


MODELS = {
    "resnet_cifar": Architecture(resnet_cifar.forward, resnet_cifar.objective, resnet_cifar.evaluate),
    "moco_lite": Architecture(moco_lite.forward, moco_lite.objective, moco_lite.evaluate),
    "tiny_mask_rcnn": Architecture(
        tiny_mask_rcnn.forward,
        tiny_mask_rcnn.objective,
        tiny_mask_rcnn.evaluate,
        choices=Choices(proposals.fix, proposals.ties),
        comparable=paired_detections.comparable,
    ),
    "digits_mlp": Architecture(digits_mlp.forward, digits_mlp.objective, digits_mlp.evaluate, is_small=True),
    "char_gpt": Architecture(char_gpt.forward, char_gpt.objective, char_gpt.evaluate),
}


def architecture_of(training: Mapping[str, Any]) -> Architecture:
    """Return the row of a recipe's model."""
    return MODELS[training["model"]["name"]]


def fix_choices(training: dict[str, Any], state: Tensors, batch: Batch) -> Batch:
    """Return a batch as a step from `state` is judged on it: where a model chooses, with the oracle's choice."""
    choices = architecture_of(training).choices
    if choices is None:
        return batch
    params, statistics = (
        {name.removeprefix(prefix): np.asarray(value, np.float64) for name, value in state.items() if name.startswith(prefix)}
        for prefix in ("params/", "stats/")
    )
    return choices.fix(batch, model=training["model"], params=params, statistics=statistics)
