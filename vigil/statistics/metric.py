"""What a metric's unit decides: how its amounts are told, and how small a spread can be."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vigil.statistics.bands import binomial_floor


def unit_of_difference(unit: str) -> str:
    """Return the unit in which differences are told: of percent it is points."""
    return "points" if unit == "percent" else unit


def amount(size: float, unit: str) -> str:
    """Return a difference as it is told."""
    return f"{size:{'.2f' if unit == 'percent' else '.4g'}} {unit_of_difference(unit)}"


def spread_floor(values: Sequence[float], *, unit: str, n_test: int) -> float:
    """Return the least spread to believe of values in this unit, measured on n_test examples.

    Only of a share of right answers is the measurement noise known from the number of examples; it is 0 otherwise.
    """
    return binomial_floor(math.fsum(values) / len(values), n_test=n_test) if unit == "percent" else 0.0
