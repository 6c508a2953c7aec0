"""The learning rate of a step, from the recipe's schedule."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any


def learning_rate(schedule: dict[str, Any], step: int) -> float:
    """Return the learning rate of step `step` (the first is 0); a boundary b means: from step b on."""
    if schedule["kind"] == "cosine":
        stair = 1 + step // schedule["steps_per_stair"]
        return schedule["base"] * 0.5 * (1.0 + math.cos(math.pi * stair / schedule["stairs"]))
    if schedule["kind"] == "warm_up_cosine":
        base, least, before = schedule["base"], schedule["least"], schedule["warm_up_steps"]
        if step < before:
            return base * (step + 1) / (before + 1)
        share = min(1.0, (step - before) / (schedule["steps"] - before))
        return least + 0.5 * (1.0 + math.cos(math.pi * share)) * (base - least)
    return schedule["values"][bisect_right(schedule["boundaries"], step)]
