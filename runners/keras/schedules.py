"""Keras: schedules of a learning rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from runners.contract.errors import Unsupported
from runners.keras.optimizers import precise

_STEPS = 64


def _rates(make: Callable[[Any], Any], rate: Any) -> Any:
    """Return the rate of each step."""
    with precise(rate):
        schedule = make(rate[0])
        return keras.ops.stack([keras.ops.cast(schedule(step), rate.dtype) for step in range(_STEPS)])


def _polynomial(rate: Any, *, end: float, power: float, total: int, begin: int) -> Any:
    if begin:
        raise Unsupported("begin: Keras begins at once.")
    return _rates(lambda first: keras.optimizers.schedules.PolynomialDecay(first, total, end, power), rate)


def _exponential(rate: Any, *, decay: float, period: int, is_stair: bool, begin: int, end: float | None) -> Any:
    if begin or end is not None:
        raise Unsupported("begin, end: Keras begins at once and has no end.")
    return _rates(lambda first: keras.optimizers.schedules.ExponentialDecay(first, period, decay, is_stair), rate)


def _cosine(rate: Any, *, total: int, alpha: float, power: float) -> Any:
    if power != 1.0:
        raise Unsupported("power: Keras has none.")
    return _rates(lambda first: keras.optimizers.schedules.CosineDecay(first, total, alpha), rate)


def _warmup_cosine(rate: Any, *, begin: float, warmup: int, total: int, end: float, power: float) -> Any:
    if power != 1.0:
        raise Unsupported("power: Keras has none.")
    return _rates(
        lambda first: keras.optimizers.schedules.CosineDecay(
            begin, total - warmup, end / first, warmup_target=first, warmup_steps=warmup
        ), rate,
    )  # fmt: skip


CALLS = {
    "polynomial": {"keras.optimizers.schedules.PolynomialDecay": _polynomial},
    "polynomial_cycle": {
        "keras.optimizers.schedules.PolynomialDecay": lambda rate, *, end, power, total: _rates(
            lambda first: keras.optimizers.schedules.PolynomialDecay(first, total, end, power, cycle=True), rate
        ),
    },
    "exponential": {"keras.optimizers.schedules.ExponentialDecay": _exponential},
    "inverse_time": {
        "keras.optimizers.schedules.InverseTimeDecay": lambda rate, *, decay, period, is_stair: _rates(
            lambda first: keras.optimizers.schedules.InverseTimeDecay(first, period, decay, is_stair), rate
        ),
    },
    "pieces_until_boundaries": {
        "keras.optimizers.schedules.PiecewiseConstantDecay": lambda rate, *, boundaries, factors: _rates(
            lambda first: keras.optimizers.schedules.PiecewiseConstantDecay(boundaries, [each * first for each in factors]), rate
        ),
    },
    "cosine": {"keras.optimizers.schedules.CosineDecay": _cosine},
    "warmup_cosine": {"keras.optimizers.schedules.CosineDecay": _warmup_cosine},
    "cosine_restarts_with_shares": {
        "keras.optimizers.schedules.CosineDecayRestarts": lambda rate, *, first, growth, shrinking, alpha: _rates(
            lambda start: keras.optimizers.schedules.CosineDecayRestarts(start, first, growth, shrinking, alpha), rate
        ),
    },
}
