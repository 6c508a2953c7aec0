"""Initial training state, drawn in numpy under canonical names, so that every framework starts from the same bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runners.contract.data import streams
from runners.contract.kinds import models
from runners.contract.protocol.checkpoint import State


def initial_state(model: dict[str, Any], *, seed: int) -> State:
    """Return parameters, running statistics and momentum buffers of step 0, float32.

    Drawn in float64 and rounded once: an fp64 run starts from the same numbers as an fp32 run.
    """
    state: State = {}
    for name, shape in models.parameter_shapes(model).items():
        state[f"params/{name}"] = _draw(model["init"][models.parameter_kind(name)], name, shape, seed)
        state[f"momentum/{name}"] = np.zeros(shape, np.float32)
    for name, shape in models.statistic_shapes(model).items():
        state[f"stats/{name}"] = _at_rest(name, shape, state, seed)
    return state


def deviation(rule: dict[str, Any], shape: tuple[int, ...]) -> float:
    """Return the standard deviation of a `normal` init rule: sqrt(variance / fan), He et al. 2015, arXiv 1502.01852."""
    fans = {"fan_in": math.prod(shape[:-1]), "fan_out": math.prod(shape) // shape[-2] if len(shape) > 1 else shape[0]}
    if rule["per"] not in fans:
        raise ValueError(f"init per {rule['per']!r}: allowed are fan_in, fan_out")
    return math.sqrt(rule["variance"] / fans[rule["per"]])


def _at_rest(name: str, shape: tuple[int, ...], state: State, seed: int) -> np.ndarray:
    """Return what moves with forward passes, before the first: the key encoder is the query encoder's copy, the queue noise."""
    if name == "queue":
        noise = streams.normal(seed, "init/queue", count=math.prod(shape)).reshape(shape)
        return (noise / np.sqrt(np.square(noise).sum(axis=1, keepdims=True))).astype(np.float32)
    own = name.removeprefix("key.")
    if own != name and f"params/{own}" in state:
        return state[f"params/{own}"].copy()
    return (np.ones if name.endswith(".variance") else np.zeros)(shape, np.float32)


def _draw(rule: dict[str, Any], name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    if rule["distribution"] == "constant":
        return np.full(shape, rule["value"], np.float32)
    if rule["distribution"] == "normal":
        standard = streams.normal(seed, f"init/{name}", count=math.prod(shape)).reshape(shape)
        return (rule["mean"] + deviation(rule, shape) * standard).astype(np.float32)
    raise ValueError(f"init distribution {rule['distribution']!r} of {name}: allowed are normal, constant")
