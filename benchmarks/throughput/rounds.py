"""The alternating measurement as numbers: rounds of one bare and one runner block, and what they come to.

Blocks of one round lie next to each other in time, so a machine that slows down slows both. The median over rounds then passes
over the round in which it did so between the two.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Round:
    """Seconds that the same number of steps took in each of two neighbouring blocks."""

    bare_seconds: float
    runner_seconds: float

    @property
    def ratio(self) -> float:
        """Runner speed over bare speed: 1 where Vigil costs nothing, below 1 where it does."""
        return self.bare_seconds / self.runner_seconds


@dataclasses.dataclass(frozen=True)
class Throughput:
    """Medians over rounds, and the quartiles of the ratio."""

    bare_images_per_second: float
    runner_images_per_second: float
    ratio: float
    ratio_low: float
    ratio_high: float


def summarise(rounds: Sequence[Round], *, images: int) -> Throughput:
    """Return medians and quartiles over rounds whose blocks are of `images` images each. Raises ValueError for no round."""
    if not rounds:
        raise ValueError("no round was measured: the ratio of nothing is undefined")
    low, ratio, high = np.percentile([each.ratio for each in rounds], [25, 50, 75])
    return Throughput(
        bare_images_per_second=images / float(np.median([each.bare_seconds for each in rounds])),
        runner_images_per_second=images / float(np.median([each.runner_seconds for each in rounds])),
        ratio=float(ratio),
        ratio_low=float(low),
        ratio_high=float(high),
    )
