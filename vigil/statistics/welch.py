"""Tests of a difference of means: the t test that all of them are, and Welch's, whose two sides scatter differently.

The formulas also take numpy arrays, one element a trial of benchmarks/band_calibration.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from vigil.statistics.finite import BandUndefined, beyond_rounding, deviation, finite
from vigil.statistics.pooling import pool


@dataclass(frozen=True)
class MeanDifference:
    """A two-sided test of a difference of means, new - reference, and the interval of the same test around it."""

    difference: float
    standard_error: float
    degrees_of_freedom: float
    p_value: float
    low: float
    high: float


def t_test(difference: Any, *, error: Any, freedom: Any, coverage: float) -> MeanDifference:
    """Return the two-sided t test of a difference with this standard error; without any error only 0 is no difference."""
    size = np.abs(difference)
    statistic = np.divide(size, error, out=np.where(size > 0.0, np.inf, 0.0), where=np.asarray(error) > 0.0)
    half = scipy.special.stdtrit(freedom, (1.0 + coverage) / 2.0) * error
    p_value = 2.0 * scipy.special.stdtr(freedom, -statistic)
    return MeanDifference(difference, error, freedom, p_value, difference - half, difference + half)


def welch_from_moments(
    difference: Any,
    *,
    spread_new: Any,
    n_new: int,
    spread_reference: Any,
    n_reference: Any,
    coverage: float = 0.99,
    freedom_reference: Any = None,
) -> MeanDifference:
    """Return Welch's test from means and spreads: t = difference / sqrt(s1^2 / n1 + s2^2 / n2).

    Degrees of freedom by Welch and Satterthwaite: (v1 + v2)^2 / (v1^2 / (n1 - 1) + v2^2 / (n2 - 1)), v = s^2 / n.
    B. L. Welch, Biometrika 34 (1947) 28, doi:10.1093/biomet/34.1-2.28. n2 - 1 is replaced by freedom_reference if given.
    """
    known = n_reference - 1.0 if freedom_reference is None else freedom_reference
    new, reference = spread_new**2 / n_new, spread_reference**2 / n_reference
    error = np.sqrt(new + reference)
    freedom = (new + reference) ** 2 / (new**2 / (n_new - 1.0) + reference**2 / known)
    return t_test(difference, error=error, freedom=freedom, coverage=coverage)


def welch(
    new: Sequence[float] | np.ndarray,
    reference: Sequence[float] | np.ndarray,
    *,
    spread_floor: float,
    coverage: float = 0.99,
    groups: Sequence[Hashable] | None = None,
    frameworks: Sequence[str] | None = None,
    framework: str | None = None,
) -> MeanDifference:
    """Return Welch's test of new - reference, the spread of either side lifted to the floor; labels as in `prediction_band`.

    Raises BandUndefined for fewer than two samples or a non-finite one on either side, and where neither side has any
    spread and the floor is 0.
    """
    left, right = finite(new, name="new", needed=2), finite(reference, name="reference", needed=2)
    found = pool(right, seeds=groups, frameworks=frameworks, framework=framework)
    spread_new = max(deviation(left), spread_floor)
    spread_reference = max(beyond_rounding(float(found.spread), scale=float(np.abs(right).max())), spread_floor)
    if spread_new == 0.0 and spread_reference == 0.0:
        raise BandUndefined("neither the new runs nor the reference have any spread, and the floor under it is 0.")
    result = welch_from_moments(
        float(left.mean() - found.mean),
        spread_new=spread_new,
        n_new=len(left),
        spread_reference=spread_reference,
        n_reference=float(found.n_effective),
        coverage=coverage,
        freedom_reference=float(found.degrees_of_freedom),
    )
    return plain(result)


def plain(found: MeanDifference) -> MeanDifference:
    """Return a test of one pair of sides with Python's numbers, as JSON takes them."""
    return MeanDifference(*(float(getattr(found, name)) for name in MeanDifference.__dataclass_fields__))
