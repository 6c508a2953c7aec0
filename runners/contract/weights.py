"""Initial training state, drawn in numpy under canonical names, so that every framework starts from the same bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runners.contract import models, streams
from runners.contract.checkpoint import State


def initial_state(model: dict[str, Any], *, seed: int) -> State:
    """Return parameters, running statistics and momentum buffers of step 0, float32.

    Drawn in float64 and rounded once: an fp64 run starts from the same numbers as an fp32 run.
    """
    state: State = {}
    for name, shape in models.parameter_shapes(model).items():
        state[f"params/{name}"] = _draw(model["init"][models.parameter_kind(name)], name, shape, seed)
        state[f"momentum/{name}"] = np.zeros(shape, np.float32)
    for name, shape in models.statistic_shapes(model).items():
        state[f"stats/{name}"] = (np.ones if name.endswith(".variance") else np.zeros)(shape, np.float32)
    return state


def deviation(rule: dict[str, Any], shape: tuple[int, ...]) -> float:
    """Return the standard deviation of a `normal` init rule: sqrt(variance / fan_in), He et al. 2015, arXiv 1502.01852."""
    if rule["per"] != "fan_in":
        raise ValueError(f"init per {rule['per']!r}: allowed is fan_in")
    return math.sqrt(rule["variance"] / math.prod(shape[:-1]))


def _draw(rule: dict[str, Any], name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    if rule["distribution"] == "constant":
        return np.full(shape, rule["value"], np.float32)
    if rule["distribution"] == "normal":
        standard = streams.normal(seed, f"init/{name}", count=math.prod(shape)).reshape(shape)
        return (rule["mean"] + deviation(rule, shape) * standard).astype(np.float32)
    raise ValueError(f"init distribution {rule['distribution']!r} of {name}: allowed are normal, constant")
