"""How far a published value may be from the mean of our runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy

from vigil.statistics.bands import Band
from vigil.statistics.metric import spread_floor


@dataclass(frozen=True)
class Tolerance:
    """Half the width of what counts as met, in the metric's unit, and whose spread it is made of."""

    size: float
    spread_of: str


def tolerance(
    values: Sequence[float], *, band: Band | None, unit: str, n_test: int, coverage: float, standard_error: float = 0.0
) -> Tolerance | None:
    """Return how far one published value may be from the mean of our m runs, on either side: t * sqrt(s^2 * (1 + 1 / m) + e^2).

    s and its degrees of freedom are the reference's where there is a band, else those of our runs where there are two or more,
    never below the floor. Without either no spread is known: None. e is the published value's own `standard_error`, of a sample
    large enough to be known: the degrees of freedom of both together are Welch's (1947, doi:10.1093/biomet/34.1-2.28).
    """
    n_runs, mean = len(values), math.fsum(values) / len(values)
    if band is not None:
        spread, freedom, spread_of = max(band.spread, band.spread_floor), band.degrees_of_freedom, "the reference"
    elif n_runs >= 2:
        own = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n_runs - 1))
        spread = max(own, spread_floor(values, unit=unit, n_test=n_test))
        freedom, spread_of = n_runs - 1.0, f"these {n_runs} runs"
    else:
        return None
    of_seeds = spread * math.sqrt(1.0 + 1.0 / n_runs)
    deviation = math.hypot(of_seeds, standard_error)
    if standard_error:
        freedom *= (deviation / of_seeds) ** 4 if of_seeds else math.inf
    return Tolerance(float(scipy.stats.t.ppf((1.0 + coverage) / 2.0, freedom)) * deviation, spread_of)
