"""Are the gradients the derivative of the loss? The one thing that a program in float64 can say of itself against itself.

A rule for a backward pass that is wrong is wrong in float64, too, and no oracle made of the same program sees it. The derivative
along one direction, by central differences, costs two evaluations and depends on every gradient.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

_STEP = 1e-5  # of a parameter's size
# What the two may differ by. A derivative along random signs has a spread, and a wrong gradient moves it by about its own share
# of that; what two steps differ by tells of curvature and of kinks that lie between, and rounding of the loss is divided by the
# step.
# Right programs are at 0.079 of it at most, the median at 3e-5 (16 programs in three frameworks, torch 2.13.0,
# tensorflow-cpu 2.21.0, jax 0.10.2, AMD EPYC, 2026-11-25: `python -m benchmarks.own_steps derivatives`).
_LEAST_SHARE, _SAFETY, _ROUNDING = 1e-5, 30.0, 2.0**-48


def derivatives(oracle: Any, batch: Any, exact: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Return the loss's derivative along random signs of all parameters (``), and of each one where that differs.

    `central`: by central differences, `gradients`: by the gradients; `error`: what they may differ by.

    Args:
        oracle: answers without rounding.
        exact: what its step on the batch computes.
    """
    gradients = {name[len("gradients/") :]: value for name, value in exact.items() if name.startswith("gradients/")}
    directions = {name: _direction(name, value) for name, value in oracle.parameters().items() if name in gradients}
    results = {"": _compared(oracle, batch, gradients, directions)}
    if differs(results[""]):
        results |= {name: _compared(oracle, batch, gradients, {name: each}) for name, each in directions.items()}
    return results


def differs(result: dict[str, float]) -> bool:
    """Are the two derivatives further apart than what they may differ by?"""
    return not abs(result["central"] - result["gradients"]) <= result["error"]


def _compared(oracle: Any, batch: Any, gradients: dict, directions: dict) -> dict[str, float]:
    along = math.fsum(float(np.sum(gradients[name] * direction)) for name, direction in directions.items())
    spread = math.sqrt(math.fsum(float(np.sum((gradients[name] * each) ** 2)) for name, each in directions.items()))
    near, nearer = (_central(oracle, batch, directions, step) for step in (_STEP, _STEP / 4))
    rounding = _ROUNDING * abs(oracle.loss_at(batch, {})) / (_STEP / 4)
    error = _SAFETY * (abs(near - nearer) + rounding) + _LEAST_SHARE * spread
    return {"central": nearer, "gradients": along, "error": error}


def _central(oracle: Any, batch: Any, directions: dict, step: float) -> float:
    up, down = (oracle.loss_at(batch, {name: sign * step * each for name, each in directions.items()}) for sign in (1.0, -1.0))
    return (up - down) / (2.0 * step)


def _direction(name: str, value: np.ndarray) -> np.ndarray:
    """Return signs at random, as large as the parameter's elements are."""
    size = float(np.sqrt(np.mean(np.square(value, dtype=np.float64)))) if np.size(value) else 0.0
    random = np.random.default_rng(zlib.crc32(name.encode()))
    return (size or 1.0) * random.choice((-1.0, 1.0), size=np.shape(value))
