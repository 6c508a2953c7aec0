"""The learning rate of a step, from the recipe's schedule."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any


def learning_rate(schedule: dict[str, Any], step: int) -> float:
    """Return the learning rate of step `step` (the first is 0); a boundary b means: from step b on."""
    return schedule["values"][bisect_right(schedule["boundaries"], step)]
