"""Where a step in a series began, with an interval. That there is one is decided elsewhere (steps.py).

The posterior of the place under normal noise of unknown spread (A. Smith, Biometrika 62 (1975) 407, doi:10.1093/biomet/62.2.407).
Unlike the tests, which must be right whatever seeds share, it takes values of one seed to be correlated by a half: so seeds
that were run on one side only help to find the place, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_CORRELATION = 0.5
# How many standard deviations a change is before it is looked at (a normal prior): wide, so that it hardly matters.
_PRIOR_STEP = 3.0
# The part of the prior that nights with a new release share alone. More would place a change on a release that did not bring it:
# at a half, the 90 % interval holds the night of a faint drop between releases in 87 % of cases, at this in 89 %.
_RELEASE_SHARE = 0.25


@dataclass(frozen=True)
class Place:
    """Where a step began: the likeliest boundary, and where the likeliest with together the coverage begin and end."""

    boundary: int
    low: int
    high: int


def locate(
    values: np.ndarray,
    seeds: np.ndarray,
    boundaries: Sequence[int] | np.ndarray,
    *,
    begins_release: np.ndarray,
    spread_floor: float = 0.0,
    coverage: float = 0.9,
) -> Place | None:
    """Return where a step began, given that there is one; None for no boundary, fewer than three values, or equal ones.

    Args:
        values, seeds: [point].
        boundaries: [boundary], the first point after.
        begins_release: [boundary], whether a release began there.
    """
    number = len(values)
    if not len(boundaries) or number < 3:
        return None
    same = np.equal.outer(np.asarray(seeds, dtype=str), np.asarray(seeds, dtype=str))
    weigh = np.linalg.inv((1.0 - _CORRELATION) * np.eye(number) + _CORRELATION * same)
    # The mean that generalised least squares finds is taken out of everything.
    rows = weigh.sum(axis=1)
    weigh -= np.outer(rows, rows) / rows.sum()
    after = (np.arange(number) >= np.asarray(boundaries)[:, np.newaxis]).astype(float)
    centred = values - values.mean()
    weighed = weigh @ centred
    total = float(centred @ weighed) + spread_floor**2
    if total <= 1e-24 * max(1.0, float(np.abs(values).max())) ** 2:
        return None
    weights = ((after @ weigh) * after).sum(axis=1)
    left = np.maximum(total - (after @ weighed) ** 2 / (weights + _PRIOR_STEP**-2), 1e-12 * total)
    prior = np.full(len(after), 1.0 / len(after))
    if begins_release.any():
        prior = (1.0 - _RELEASE_SHARE) * prior + _RELEASE_SHARE * begins_release / begins_release.sum()
    logarithm = np.log(prior) - 0.5 * np.log1p(_PRIOR_STEP**2 * weights) - 0.5 * (number - 1.0) * np.log(left)
    posterior = np.exp(logarithm - logarithm.max())
    posterior /= posterior.sum()
    order = np.argsort(-posterior, kind="stable")
    held = order[: int(np.searchsorted(np.cumsum(posterior[order]), coverage - 1e-12)) + 1]
    best, low, high = order[0], held.min(), held.max()
    return Place(int(boundaries[best]), int(boundaries[low]), int(boundaries[high]))
