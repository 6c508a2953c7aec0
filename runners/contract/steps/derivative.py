"""Are the gradients the derivative of the loss? The one thing that a program in float64 can say of itself against itself.

A rule for a backward pass that is wrong is wrong in float64, too, and no oracle made of the same program sees it. The derivative
along one direction, by central differences, costs two evaluations and depends on every gradient.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

_STEP, _BESIDE = 1e-5, 1e-2  # of a parameter's size
# What the two may differ by. A derivative along random signs has a spread, and a wrong gradient moves it by about its own share
# of that; what two steps differ by tells of curvature and of kinks that lie between, and rounding of the loss is divided by the
# step.
# Right programs are at 0.079 of it at most, the median at 3e-5 (16 programs in three frameworks, torch 2.13.0,
# tensorflow-cpu 2.21.0, jax 0.10.2, AMD EPYC, 2026-11-25: `python -m benchmarks.own_steps derivatives`).
_LEAST_SHARE, _SAFETY, _ROUNDING = 1e-5, 30.0, 2.0**-48
# A program in halves has its constants in halves: the derivative of erf is 1.125 exp(-x^2) in bfloat16, and not 1.1284.
_SHARES_OF_HALVES = {"bf16": 4 * 2.0**-8, "fp16": 4 * 2.0**-11}


def derivatives(oracle: Any, batch: Any, exact: dict[str, np.ndarray], *, precision: str = "fp32") -> dict[str, dict[str, float]]:
    """Return the loss's derivative along random signs of all parameters (``), and of each one where that differs.

    `central`: by central differences, `gradients`: by the gradients; `error`: what they may differ by.
    Where gates stand at zero, as a ReLU's behind zeros and a bias of zeros, a loss has a kink: then all is asked beside it.

    Args:
        oracle: answers without rounding.
        exact: what its step on the batch computes.
        precision: the program's.
    """
    share = _SHARES_OF_HALVES.get(precision, _LEAST_SHARE)
    gradients = {name[len("gradients/") :]: value for name, value in exact.items() if name.startswith("gradients/")}
    directions = {name: _direction(name, value) for name, value in oracle.parameters().items() if name in gradients}
    results = {"": _compared(oracle, batch, gradients, directions, {}, share)}
    beside: dict[str, np.ndarray] = {}
    if differs(results[""]) and _is_kink(oracle, batch, directions, results[""]["error"]):
        beside = {name: _BESIDE * direction for name, direction in directions.items()}
        gradients = oracle.gradients_at(batch, beside)
        results = {"": _compared(oracle, batch, gradients, directions, beside, share)}
    if differs(results[""]):
        results |= {name: _compared(oracle, batch, gradients, {name: each}, beside, share) for name, each in directions.items()}
    return results


def differs(result: dict[str, float]) -> bool:
    """Are the two derivatives further apart than what they may differ by?"""
    return not abs(result["central"] - result["gradients"]) <= result["error"]


def _compared(oracle: Any, batch: Any, gradients: dict, directions: dict, beside: dict, share: float) -> dict[str, float]:
    along = math.fsum(float(np.sum(gradients[name] * direction)) for name, direction in directions.items())
    spread = math.sqrt(math.fsum(float(np.sum((gradients[name] * each) ** 2)) for name, each in directions.items()))
    near, nearer = (_central(oracle, batch, directions, step, beside) for step in (_STEP, _STEP / 4))
    rounding = _ROUNDING * abs(oracle.loss_at(batch, beside)) / (_STEP / 4)
    error = _SAFETY * (abs(near - nearer) + rounding) + share * spread
    return {"central": nearer, "gradients": along, "error": error}


def _central(oracle: Any, batch: Any, directions: dict, step: float, beside: dict) -> float:
    up, down = _both_sides(oracle, batch, directions, step, beside)
    return (up - down) / (2.0 * step)


def _is_kink(oracle: Any, batch: Any, directions: dict, error: float) -> bool:
    """Do the slopes of both sides stay apart at a smaller step? Those of a curve come nearer as the step does."""
    middle = oracle.loss_at(batch, {})
    losses = ((*_both_sides(oracle, batch, directions, step, {}), step) for step in (_STEP, _STEP / 4))
    near, nearer = (abs(up - 2.0 * middle + down) / step for up, down, step in losses)
    return nearer > max(error, near / 2.0)


def _both_sides(oracle: Any, batch: Any, directions: dict, step: float, beside: dict) -> tuple[float, float]:
    """Return the losses of a step up and of one down."""
    up, down = (
        oracle.loss_at(batch, beside | {name: beside.get(name, 0.0) + each * by for name, each in directions.items()})
        for by in (step, -step)
    )
    return up, down


def _direction(name: str, value: np.ndarray) -> np.ndarray:
    """Return signs at random, as large as the parameter's elements are."""
    size = float(np.sqrt(np.mean(np.square(value, dtype=np.float64)))) if np.size(value) else 0.0
    random = np.random.default_rng(zlib.crc32(name.encode()))
    return (size or 1.0) * random.choice((-1.0, 1.0), size=np.shape(value))
