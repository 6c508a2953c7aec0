"""The mean of what several devices hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def mean_over_devices(held: Sequence[Any], weights: Sequence[float]) -> Any:
    """Return the weighted mean of arrays of any framework; the weights add up to 1. What all hold alike stays so, to the bit.

    It is the first array and the mean of what the others differ from it by: in floating point, (x + x + x) / 3 need not be x.
    """
    first = held[0]
    return first + sum(weight * (each - first) for weight, each in zip(weights, held, strict=True))
