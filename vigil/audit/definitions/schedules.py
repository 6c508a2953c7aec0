"""Schedules of a learning rate: the rates of the first steps, for a base rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from vigil.audit.arguments import drawn, uniform
from vigil.audit.entry import Definition, operator

TORCH = "https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler."
OPTAX = "https://optax.readthedocs.io/en/latest/api/optimizer_schedules.html#optax.schedules."
KERAS = "https://keras.io/api/optimizers/learning_rate_schedules/"
STEPS = 64


def _schedule(source: str, *parameters: Mapping[str, Any]) -> Callable[[Definition], Definition]:
    """Enter a schedule whose one tensor is a base rate. It has no gradient: most frameworks take a number."""
    return operator(
        source=source,
        sizes=({"n": 1},),
        parameters=parameters,
        precisions=("fp32", "fp64"),
        rate=uniform(0.01, 1.0, "n").fixed(),
    )


def _metrics(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
    """Return metrics that fall, rise and waver."""
    steps = np.arange(shape[0])
    return 2.0 + np.cos(0.3 * steps) + 1.5 * np.exp(-steps / 20) + 0.2 * random.standard_normal(shape)


def _steps() -> np.ndarray:
    return np.arange(STEPS, dtype=np.float64)


@_schedule(OPTAX + "constant_schedule", {})
def constant(rate: np.ndarray) -> np.ndarray:
    """The rate of each step is the base rate."""
    return rate * np.ones(STEPS)


@_schedule(TORCH + "ConstantLR.html", {"factor": 1 / 3, "total": 5}, {"factor": 0.5, "total": 20}, {"factor": 0.1, "total": 100})
def constant_factor(rate: np.ndarray, *, factor: float, total: int) -> np.ndarray:
    """A share of the rate until a step, then all of it."""
    return rate * np.where(_steps() < total, factor, 1.0)


@_schedule(
    TORCH + "LinearLR.html",
    {"start": 1 / 3, "end": 1.0, "total": 5},
    {"start": 1.0, "end": 0.1, "total": 50},
    {"start": 0.25, "end": 0.75, "total": 100},
)
def linear_rate(rate: np.ndarray, *, start: float, end: float, total: int) -> np.ndarray:
    """A share of the rate that goes in a line from one to another, and stays."""
    return rate * (start + (end - start) * np.minimum(_steps(), total) / total)


@_schedule(OPTAX + "linear_schedule", {"end": 0.001, "total": 20, "begin": 0}, {"end": 0.5, "total": 30, "begin": 10})
def linear_to_rate(rate: np.ndarray, *, end: float, total: int, begin: int) -> np.ndarray:
    """A rate that begins at a step to go in a line to another."""
    return rate + (end - rate) * np.clip((_steps() - begin) / total, 0.0, 1.0)


# A root begins at 0 with a slope of infinity, and what rounding leaves of a 30th times 30 is 4e-9 there: 32 steps are exact.
@_schedule(
    OPTAX + "polynomial_schedule",
    {"end": 0.001, "power": 2.0, "total": 20, "begin": 0},
    {"end": 0.5, "power": 0.5, "total": 32, "begin": 10},
    {"end": 0.0001, "power": 1.0, "total": 50, "begin": 0},
    {"end": 0.0, "power": 3.0, "total": 100, "begin": 5},
    {"end": 0.0, "power": 2.0, "total": 50, "begin": 0},
)
def polynomial(rate: np.ndarray, *, end: float, power: float, total: int, begin: int) -> np.ndarray:
    """A rate that begins at a step to go to another one as a power of what remains."""
    return (rate - end) * (1.0 - np.clip((_steps() - begin) / total, 0.0, 1.0)) ** power + end


@_schedule(KERAS + "polynomial_decay/", {"end": 0.001, "power": 1.0, "total": 10}, {"end": 0.01, "power": 2.0, "total": 7})
def polynomial_cycle(rate: np.ndarray, *, end: float, power: float, total: int) -> np.ndarray:
    """A polynomial decay over the first multiple of its steps that a step is not beyond."""
    steps = _steps()
    long = total * np.maximum(1.0, np.ceil(steps / total))
    return (rate - end) * (1.0 - steps / long) ** power + end


@_schedule(
    OPTAX + "exponential_decay",
    {"decay": 0.9, "period": 1, "is_stair": False, "begin": 0, "end": None},
    {"decay": 0.5, "period": 10, "is_stair": False, "begin": 0, "end": None},
    {"decay": 0.5, "period": 10, "is_stair": True, "begin": 0, "end": None},
    {"decay": 0.1, "period": 7, "is_stair": True, "begin": 0, "end": None},
    {"decay": 0.8, "period": 4, "is_stair": False, "begin": 5, "end": 0.005},
    {"decay": 1.1, "period": 4, "is_stair": True, "begin": 5, "end": 1.5},
)
def exponential(rate: np.ndarray, *, decay: float, period: int, is_stair: bool, begin: int, end: float | None) -> np.ndarray:
    """A share of the rate every so many steps, gradually or at once, down to an end, or up."""
    times = np.maximum(_steps() - begin, 0.0) / period
    found = rate * decay ** (np.floor(times) if is_stair else times)
    if end is None:
        return found
    return np.maximum(found, end) if decay < 1 else np.minimum(found, end)


@_schedule(
    KERAS + "inverse_time_decay/",
    {"decay": 0.5, "period": 10, "is_stair": False},
    {"decay": 0.5, "period": 7, "is_stair": True},
    {"decay": 2.0, "period": 1, "is_stair": False},
)
def inverse_time(rate: np.ndarray, *, decay: float, period: int, is_stair: bool) -> np.ndarray:
    """The rate over one more than a share of the steps."""
    times = _steps() / period
    return rate / (1.0 + decay * (np.floor(times) if is_stair else times))


@_schedule(
    TORCH + "MultiStepLR.html",
    {"boundaries": [10, 30], "factors": [0.1, 0.1]},
    {"boundaries": [1, 5, 40], "factors": [0.5, 0.5, 0.5]},
    {"boundaries": [8, 16], "factors": [0.25, 2.0]},
)
def steps_of_factors(rate: np.ndarray, *, boundaries: list[int], factors: list[float]) -> np.ndarray:
    """A rate that is multiplied by a factor at each boundary, from that step on."""
    steps = _steps()
    found = rate * np.ones(STEPS)
    for boundary, factor in zip(boundaries, factors, strict=True):
        found = np.where(steps >= boundary, found * factor, found)
    return found


@_schedule(
    KERAS + "piecewise_constant_decay/",
    {"boundaries": [10, 30], "factors": [1.0, 0.5, 0.1]},
    {"boundaries": [0, 5, 6], "factors": [0.3, 1.0, 2.0, 0.25]},
)
def pieces_until_boundaries(rate: np.ndarray, *, boundaries: list[int], factors: list[float]) -> np.ndarray:
    """Shares of the rate, each up to and with its boundary."""
    return rate * np.asarray(factors)[np.searchsorted(boundaries, _steps(), side="left")]


@_schedule(
    OPTAX + "piecewise_interpolate_schedule",
    {"kind": "linear", "boundaries": [10, 30], "factors": [0.5, 0.1]},
    {"kind": "cosine", "boundaries": [10, 30], "factors": [0.5, 0.1]},
    {"kind": "cosine", "boundaries": [5, 40, 50], "factors": [2.0, 0.25, 3.0]},
)
def interpolated(rate: np.ndarray, *, kind: str, boundaries: list[int], factors: list[float]) -> np.ndarray:
    """A rate that goes from boundary to boundary, where it is multiplied by factors, in lines or in half waves."""
    edges = [0, *boundaries]
    values = rate * np.cumprod([1.0, *factors])
    found = np.full(STEPS, values[-1])
    for place, (low, high) in enumerate(pairwise(edges)):
        inside = (_steps() >= low) & (_steps() < high)
        share = (_steps() - low) / (high - low)
        if kind == "cosine":
            share = (1.0 - np.cos(np.pi * share)) / 2.0
        found = np.where(inside, values[place] + (values[place + 1] - values[place]) * share, found)
    return found


@_schedule(
    OPTAX + "cosine_decay_schedule",
    {"total": 40, "alpha": 0.0, "power": 1.0},
    {"total": 50, "alpha": 0.1, "power": 1.0},
    {"total": 100, "alpha": 0.0, "power": 2.0},
    {"total": 64, "alpha": 0.05, "power": 1.0},
)
def cosine(rate: np.ndarray, *, total: int, alpha: float, power: float) -> np.ndarray:
    """A half wave from the rate to a share of it, where it stays."""
    wave = 0.5 * (1.0 + np.cos(np.pi * np.minimum(_steps(), total) / total))
    return rate * ((1.0 - alpha) * wave**power + alpha)


@_schedule(
    TORCH + "CosineAnnealingLR.html", {"total": 20, "least": 0.0}, {"total": 64, "least": 0.001}, {"total": 100, "least": 0.005}
)
def cosine_waves(rate: np.ndarray, *, total: int, least: float) -> np.ndarray:
    """Waves between the rate and the least one: after a half wave it comes up again."""
    return least + 0.5 * (rate - least) * (1.0 + np.cos(np.pi * _steps() / total))


@_schedule(
    TORCH + "CosineAnnealingWarmRestarts.html",
    {"first": 10, "growth": 1, "least": 0.0},
    {"first": 5, "growth": 2, "least": 0.001},
    {"first": 3, "growth": 3, "least": 0.0},
)
def cosine_restarts(rate: np.ndarray, *, first: int, growth: int, least: float) -> np.ndarray:
    """Half waves down to the least rate, each so many times longer than that before."""
    found = np.zeros(STEPS)
    begin, long = 0, first
    for step in range(STEPS):
        if step - begin >= long:
            begin, long = begin + long, long * growth
        found[step] = least + 0.5 * (rate[0] - least) * (1.0 + math.cos(math.pi * (step - begin) / long))
    return found


@_schedule(
    KERAS + "cosine_decay_restarts/",
    {"first": 10, "growth": 1.0, "shrinking": 1.0, "alpha": 0.0},
    {"first": 5, "growth": 2.0, "shrinking": 0.5, "alpha": 0.1},
    {"first": 3, "growth": 3.0, "shrinking": 0.8, "alpha": 0.0},
)
def cosine_restarts_with_shares(rate: np.ndarray, *, first: int, growth: float, shrinking: float, alpha: float) -> np.ndarray:
    """Half waves of the rate down to a share of it, each so many times longer, and from a share of where that before began."""
    found = np.zeros(STEPS)
    begin, long, top = 0.0, float(first), 1.0
    for step in range(STEPS):
        if step - begin >= long:
            begin, long, top = begin + long, long * growth, top * shrinking
        wave = 0.5 * top * (1.0 + math.cos(math.pi * (step - begin) / long))
        found[step] = rate[0] * ((1.0 - alpha) * wave + alpha)
    return found


@_schedule(
    OPTAX + "warmup_cosine_decay_schedule",
    {"begin": 0.0, "warmup": 10, "total": 50, "end": 0.0, "power": 1.0},
    {"begin": 0.001, "warmup": 5, "total": 40, "end": 0.002, "power": 1.0},
    {"begin": 0.0, "warmup": 20, "total": 60, "end": 0.001, "power": 2.0},
)
def warmup_cosine(rate: np.ndarray, *, begin: float, warmup: int, total: int, end: float, power: float) -> np.ndarray:
    """A line from a rate to the peak, then a half wave down to the end; total has both."""
    steps = _steps()
    wave = 0.5 * (1.0 + np.cos(np.pi * np.clip((steps - warmup) / (total - warmup), 0.0, 1.0)))
    return np.where(steps < warmup, begin + (rate - begin) * steps / warmup, end + (rate - end) * wave**power)


@_schedule(OPTAX + "warmup_constant_schedule", {"begin": 0.0, "warmup": 10}, {"begin": 0.5, "warmup": 33})
def warmup_constant(rate: np.ndarray, *, begin: float, warmup: int) -> np.ndarray:
    """A line from a rate to the peak, where it stays."""
    return begin + (rate - begin) * np.minimum(_steps() / warmup, 1.0)


@_schedule(
    OPTAX + "warmup_exponential_decay_schedule",
    {"begin": 0.0, "warmup": 10, "decay": 0.5, "period": 10, "is_stair": False, "wait": 0, "end": None},
    {"begin": 0.001, "warmup": 5, "decay": 0.8, "period": 4, "is_stair": True, "wait": 3, "end": 0.002},
)
def warmup_exponential(
    rate: np.ndarray, *, begin: float, warmup: int, decay: float, period: int, is_stair: bool, wait: int, end: float | None
) -> np.ndarray:
    """A line from a rate to the peak, then, after waiting, an exponential decay."""
    steps = _steps()
    times = np.maximum(steps - warmup - wait, 0.0) / period
    found = rate * decay ** (np.floor(times) if is_stair else times)
    found = found if end is None else np.maximum(found, end)
    return np.where(steps < warmup, begin + (rate - begin) * steps / warmup, found)


@_schedule(
    "https://arxiv.org/abs/1506.01186",
    {"top": 2.0, "up": 10, "down": 10, "mode": "triangular", "gamma": 1.0},
    {"top": 1.5, "up": 5, "down": 12, "mode": "triangular2", "gamma": 1.0},
    {"top": 3.0, "up": 8, "down": 8, "mode": "exp_range", "gamma": 0.97},
)
def cyclic(rate: np.ndarray, *, top: float, up: int, down: int, mode: str, gamma: float) -> np.ndarray:
    """Lines up from the rate to `top`, and down; their height is halved each cycle, or shrinks each step."""
    steps = _steps()
    cycle = np.floor(steps / (up + down))
    place = steps - cycle * (up + down)
    height = np.where(place <= up, place / up, (up + down - place) / down)
    scale = {"triangular": np.ones(STEPS), "triangular2": 0.5**cycle, "exp_range": gamma**steps}[mode]
    return rate + (top - rate) * height * scale


@_schedule(
    "https://arxiv.org/abs/1708.07120",
    {"total": 64, "share": 0.25, "first": 25.0, "last": 1e4, "kind": "cos", "phases": 2, "is_closed": True},
    {"total": 64, "share": 0.25, "first": 10.0, "last": 100.0, "kind": "linear", "phases": 2, "is_closed": True},
    {"total": 64, "share": 0.25, "first": 10.0, "last": 100.0, "kind": "cos", "phases": 3, "is_closed": True},
    {"total": 60, "share": 0.25, "first": 25.0, "last": 1e4, "kind": "cos", "phases": 2, "is_closed": False},
    {"total": 40, "share": 0.5, "first": 10.0, "last": 10.0, "kind": "cos", "phases": 2, "is_closed": False},
)
def one_cycle(
    rate: np.ndarray, *, total: int, share: float, first: float, last: float, kind: str, phases: int, is_closed: bool
) -> np.ndarray:
    """One cycle: from rate / first up to the rate in a share of the steps, and down to a last-th of where it began.

    phases: with 3 it comes down to where it began as it went up, and further from there. is_closed: the last of the steps has the
    last rate, as in torch, where the peak is at total * share - 1; else the step after it, as in optax.
    """
    low = rate / first
    ends = [share * total - is_closed, total - float(is_closed)]
    values = [low, rate, low / last]
    if phases == 3:
        ends.insert(1, 2.0 * share * total - 2.0 * is_closed)
        values.insert(2, low)
    found = np.full(STEPS, values[-1][0])
    begin = 0.0
    for place, end in enumerate(ends):
        inside = (_steps() >= begin) & (_steps() <= end)
        part = (_steps() - begin) / (end - begin)
        part = (1.0 - np.cos(np.pi * part)) / 2.0 if kind == "cos" else part
        found = np.where(inside, values[place] + (values[place + 1] - values[place]) * part, found)
        begin = end
    return found


@_schedule(
    OPTAX + "linear_onecycle_schedule",
    {"total": 60, "share": 0.3, "share_down": 0.85, "first": 25.0, "last": 1e4},
    {"total": 40, "share": 0.25, "share_down": 0.5, "first": 10.0, "last": 100.0},
)
def one_cycle_of_lines(rate: np.ndarray, *, total: int, share: float, share_down: float, first: float, last: float) -> np.ndarray:
    """Lines: up from rate / first to the rate, down again, and down to a last-th of where it began."""
    places = [0.0, share * total, share_down * total, float(total)]
    return np.interp(_steps(), places, [rate[0] / first, rate[0], rate[0] / first, rate[0] / first / last])


@operator(
    source=TORCH + "ReduceLROnPlateau.html",
    sizes=({"n": 1},),
    precisions=("fp32", "fp64"),
    rate=uniform(0.01, 1.0, "n").fixed(),
    metrics=drawn(_metrics, STEPS, is_differentiated=False),
    parameters=(
        {"mode": "min", "factor": 0.5, "patience": 2, "threshold": 1e-3, "is_relative": True, "cooldown": 0, "least": 0.0},
        {"mode": "max", "factor": 0.1, "patience": 1, "threshold": 1e-2, "is_relative": False, "cooldown": 3, "least": 0.0001},
        {"mode": "min", "factor": 0.8, "patience": 0, "threshold": 0.1, "is_relative": True, "cooldown": 1, "least": 0.02},
    ),
)
def plateau(
    rate: np.ndarray,
    metrics: np.ndarray,
    *,
    mode: str,
    factor: float,
    patience: int,
    threshold: float,
    is_relative: bool,
    cooldown: int,
    least: float,
) -> np.ndarray:
    """The rate after each of some metrics: it shrinks where more than `patience` of them were not better than the best."""
    found = np.zeros(STEPS)
    sign = 1.0 if mode == "min" else -1.0
    best, bad, waits, now = sign * math.inf, 0, 0, rate[0]
    for step, metric in enumerate(metrics):
        margin = abs(best) * threshold if is_relative else threshold
        if sign * metric < sign * best - margin or not math.isfinite(best):
            best, bad = metric, 0
        else:
            bad += 1
        if waits:
            waits, bad = waits - 1, 0
        if bad > patience:
            now, waits, bad = max(now * factor, least), cooldown, 0
        found[step] = now
    return found
