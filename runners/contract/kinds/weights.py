"""Initial training state, drawn in numpy under canonical names, so that every framework starts from the same bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runners.contract.data import streams
from runners.contract.kinds.table import kind_of
from runners.contract.optimizers import optimizer_of
from runners.contract.protocol.checkpoint import State


def initial_state(training: dict[str, Any], *, seed: int) -> State:
    """Return parameters, statistics and the optimizer's arrays of step 0, float32.

    Drawn in float64 and rounded once: an fp64 run starts from the same numbers as an fp32 run.
    """
    model, kind = training["model"], kind_of(training)
    table = kind.tabulate(model)
    if kind.draw:
        parameters = kind.draw(model, seed)
    else:
        parameters = {name: _draw(model["init"][each.init], name, each.shape, seed) for name, each in table.parameters.items()}
    state: State = {f"params/{name}": array for name, array in parameters.items()}
    state |= optimizer_of(training).initial(parameters)
    return state | {f"stats/{name}": statistic.begin(parameters, seed) for name, statistic in table.statistics.items()}


def state_names(training: dict[str, Any]) -> set[str]:
    """Return the canonical names that a training state has, without a loss scaler's."""
    table = kind_of(training).tabulate(training["model"])
    trained = {f"params/{name}" for name in table.parameters} | optimizer_of(training).names(table.parameters)
    return trained | {f"stats/{name}" for name in table.statistics}


def deviation(rule: dict[str, Any], shape: tuple[int, ...]) -> float:
    """Return the standard deviation of a `normal` init rule: the rule's own, or sqrt(variance / fan).

    He et al. 2015, arXiv 1502.01852.
    """
    if "deviation" in rule:
        return rule["deviation"]
    fans = {"fan_in": math.prod(shape[:-1]), "fan_out": math.prod(shape) // shape[-2] if len(shape) > 1 else shape[0]}
    if rule["per"] not in fans:
        raise ValueError(f"init per {rule['per']!r}: allowed are fan_in, fan_out")
    return math.sqrt(rule["variance"] / fans[rule["per"]])


def _draw(rule: dict[str, Any], name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    if rule["distribution"] == "constant":
        return np.full(shape, rule["value"], np.float32)
    if rule["distribution"] == "normal":
        standard = streams.normal(seed, f"init/{name}", count=math.prod(shape)).reshape(shape)
        return (rule["mean"] + deviation(rule, shape) * standard).astype(np.float32)
    raise ValueError(f"init distribution {rule['distribution']!r} of {name}: allowed are normal, constant")
