"""What may be computed with: finite numbers, enough of them, and a deviation that is more than rounding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class BandUndefined(ValueError):
    """The samples at hand do not determine a band."""


def deviation(values: np.ndarray, *, scale: float | None = None) -> float:
    """Return the standard deviation, and 0 where it is no more than rounding of numbers as large as `scale`.

    Equal numbers can have a mean that is none of them: three times 0.1 has a deviation of 1e-17, and any difference
    would be infinitely many of those. `scale` is the largest of the values unless given.
    """
    return beyond_rounding(float(values.std(ddof=1)), scale=float(np.abs(values).max()) if scale is None else scale)


def beyond_rounding(spread: float, *, scale: float) -> float:
    """Return a spread, and 0 where it is no more than rounding of numbers as large as `scale`."""
    return spread if spread > 8.0 * np.finfo(float).eps * scale else 0.0


def finite(samples: Sequence[float] | np.ndarray, *, name: str, needed: int) -> np.ndarray:
    """Return samples as an array. Raises BandUndefined for fewer than `needed`, or one that is not finite."""
    values = np.asarray(samples, dtype=float)
    if values.ndim != 1 or len(values) < needed:
        raise BandUndefined(f"{name}: found {values.size} samples, needed are {needed} or more.")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise BandUndefined(f"{name}[{bad[0]}]: found {values[bad[0]]}, allowed are finite numbers.")
    return values
