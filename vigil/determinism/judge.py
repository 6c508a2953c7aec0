"""How two runs that differ in one thing compare: the same bits, as far apart as rounding alone puts them, or further.

What rounding alone does is measured: twins begin with every weight moved by less than its rounding, and training makes of that
what it makes of rounding. A distance of some of theirs is rounding; a batch that is cut wrongly, or a row that is left out, is a
hundred times further and more (docs/determinism.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from vigil.documents.determinism import DIFFERENT, ROUNDING, SAME, Cost

# A run rounds in every operator of every step, a twin once, in its weights: right ones lie at 11 floors at most, a planted error
# that is seen on uneven devices alone at 260 (docs/determinism.md).
MARGIN = 30.0
_ROUNDOFF = {"fp64": 2.0**-53, "fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8, "tf32": 2.0**-11}

Arrays = Mapping[str, np.ndarray]


def twin_of(state: Arrays, precision: str, *, draw: int) -> dict[str, np.ndarray]:
    """Return a state with every parameter moved at random by up to its rounding in a precision, relative to its size."""
    random, unit = np.random.default_rng(draw), _ROUNDOFF[precision]
    return {
        name: array * (1.0 + unit * random.uniform(-1.0, 1.0, array.shape)).astype(array.dtype)
        if name.startswith("params/") and np.issubdtype(array.dtype, np.floating)
        else array
        for name, array in state.items()
    }


def distance(first: Arrays, second: Arrays) -> float:
    """Return the norm of the difference, relative to that of the first; inf where names, shapes or infinities do not fit."""
    if set(first) != set(second) or any(first[name].shape != second[name].shape for name in first):
        return math.inf
    pairs = [[np.asarray(each[name], np.float64).ravel() for each in (first, second)] for name in sorted(first)]
    apart = math.sqrt(math.fsum(float(np.sum((one - other) ** 2)) for one, other in pairs))
    norm = math.sqrt(math.fsum(float(np.sum(one**2)) for one, _ in pairs))
    if not math.isfinite(apart):
        return math.inf
    return apart / norm if norm else apart


def is_same(first: Arrays, second: Arrays) -> bool:
    """Have two results the same names, types, shapes and bits?"""
    return set(first) == set(second) and all(
        first[name].dtype == second[name].dtype and first[name].shape == second[name].shape
        and first[name].tobytes() == second[name].tobytes()
        for name in first
    )  # fmt: skip


def first_different(first: Sequence[float], second: Sequence[float]) -> int | None:
    """Return the number, from 1 on, of the first step whose losses differ; None where none does."""
    if len(first) != len(second):
        return min(len(first), len(second)) + 1
    return next((step for step, (one, other) in enumerate(zip(first, second, strict=True), 1) if one != other), None)


def answer_of(*, same: bool, apart: float, floor: float) -> str:
    """Return whether two results are the same bits, differ by rounding, or are different."""
    if same:
        return SAME
    return ROUNDING if apart <= MARGIN * floor else DIFFERENT


def cost_of(off: Sequence[float], on: Sequence[float]) -> Cost | None:
    """Return how much longer a step takes with determinism: the mean of pairs' log ratios, with Student's 95 % interval.

    Args:
        off, on: examples a second of runs that were made in turns.
    """
    ratios = np.log(np.asarray(off, np.float64) / np.asarray(on, np.float64))
    if len(ratios) < 2:
        return None
    mean = float(ratios.mean())
    half = float(scipy.stats.t.ppf(0.975, len(ratios) - 1) * ratios.std(ddof=1) / math.sqrt(len(ratios)))
    return Cost(ratio=math.exp(mean), low=math.exp(mean - half), high=math.exp(mean + half), pairs=len(ratios))
