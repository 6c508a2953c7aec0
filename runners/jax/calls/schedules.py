"""JAX: schedules of a learning rate, of optax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from runners.contract.errors import Unsupported

_STEPS = 64


def _rates(schedule: Any, rate: Any) -> Any:
    """Return the rate of each step."""
    return jax.vmap(lambda step: jnp.asarray(schedule(step), rate.dtype))(jnp.arange(_STEPS))


def _number(rate: Any) -> float:
    """Return the rate for a schedule that asks whether it is zero."""
    if isinstance(rate, jax.core.Tracer):
        raise Unsupported("jit: the schedule takes a number, not an array of a compiled function.")
    return float(rate[0])


def _exponential(rate: Any, *, decay: float, period: int, is_stair: bool, begin: int, end: float | None) -> Any:
    return _rates(optax.exponential_decay(rate[0], period, decay, begin, is_stair, end), rate)


def _cosine_restarts(rate: Any, *, first: int, growth: int, least: float) -> Any:
    if least:
        raise Unsupported("least: optax has a share of the rate.")
    long = first
    cycles: list[dict[str, Any]] = []
    while sum(each["decay_steps"] for each in cycles) < _STEPS:
        cycles.append({"init_value": 0.0, "peak_value": _number(rate), "warmup_steps": 0, "decay_steps": long})
        long *= growth
    return _rates(optax.sgdr_schedule(cycles), rate)


def _warmup_exponential(
    rate: Any, *, begin: float, warmup: int, decay: float, period: int, is_stair: bool, wait: int, end: float | None
) -> Any:
    schedule = optax.warmup_exponential_decay_schedule(begin, rate[0], warmup, period, decay, wait, is_stair, end)
    return _rates(schedule, rate)


def _one_cycle(rate: Any, *, total: int, share: float, first: float, last: float, kind: str, phases: int, is_closed: bool) -> Any:
    if is_closed or kind != "cos" or phases != 2:
        raise Unsupported("is_closed, kind, phases: optax has the cosine of two phases, whose end comes after the last step.")
    return _rates(optax.cosine_onecycle_schedule(total, rate[0], share, first, last), rate)


def _plateau(
    rate: Any, metrics: Any, *, mode: str, factor: float, patience: int, threshold: float, is_relative: bool, cooldown: int,
    least: float,
) -> Any:  # fmt: skip
    if mode != "min" or least:
        raise Unsupported("mode, least: optax has the least of metrics, and a least scale.")
    # DIFFERS(jax): optax counts the metric that is one too many.
    reduce = optax.contrib.reduce_on_plateau(
        factor, patience + 1, threshold if is_relative else 0.0, 0.0 if is_relative else threshold, cooldown
    )  # fmt: skip

    def step(state: Any, metric: Any) -> tuple[Any, Any]:
        _, state = reduce.update(rate, state, value=metric)
        return state, state.scale

    _, scales = jax.lax.scan(step, reduce.init(rate), metrics)
    return rate * scales


CALLS = {
    "constant": {"optax.constant_schedule": lambda rate: _rates(optax.constant_schedule(rate[0]), rate)},
    "linear_to_rate": {
        "optax.linear_schedule": lambda rate, *, end, total, begin: _rates(
            optax.linear_schedule(rate[0], end, total, begin), rate
        ),
    },
    "polynomial": {
        "optax.polynomial_schedule": lambda rate, *, end, power, total, begin: _rates(
            optax.polynomial_schedule(rate[0], end, power, total, begin), rate
        ),
    },
    "exponential": {"optax.exponential_decay": _exponential},
    "steps_of_factors": {
        "optax.piecewise_constant_schedule": lambda rate, *, boundaries, factors: _rates(
            optax.piecewise_constant_schedule(rate[0], dict(zip(boundaries, factors, strict=True))), rate
        ),
        "optax.join_schedules": lambda rate, *, boundaries, factors: _rates(
            optax.join_schedules(
                [optax.constant_schedule(rate[0] * each) for each in jnp.cumprod(jnp.asarray([1.0, *factors], rate.dtype))],
                boundaries,
            ),
            rate,
        ),
    },
    "interpolated": {
        "optax.piecewise_interpolate_schedule": lambda rate, *, kind, boundaries, factors: _rates(
            optax.piecewise_interpolate_schedule(kind, rate[0], dict(zip(boundaries, factors, strict=True))), rate
        ),
    },
    "cosine": {
        "optax.cosine_decay_schedule": lambda rate, *, total, alpha, power: _rates(
            optax.cosine_decay_schedule(rate[0], total, alpha, power), rate
        ),
    },
    "cosine_restarts": {"optax.sgdr_schedule": _cosine_restarts},
    "warmup_constant": {
        "optax.warmup_constant_schedule": lambda rate, *, begin, warmup: _rates(
            optax.warmup_constant_schedule(begin, rate[0], warmup), rate
        ),
    },
    "warmup_cosine": {
        "optax.warmup_cosine_decay_schedule": lambda rate, *, begin, warmup, total, end, power: _rates(
            optax.warmup_cosine_decay_schedule(begin, _number(rate), warmup, total, end, power), rate
        ),
    },
    "warmup_exponential": {"optax.warmup_exponential_decay_schedule": _warmup_exponential},
    "one_cycle": {"optax.cosine_onecycle_schedule": _one_cycle},
    "one_cycle_of_lines": {
        "optax.linear_onecycle_schedule": lambda rate, *, total, share, share_down, first, last: _rates(
            optax.linear_onecycle_schedule(total, rate[0], share, share_down, first, last), rate
        ),
    },
    "plateau": {"optax.contrib.reduce_on_plateau": _plateau},
}
