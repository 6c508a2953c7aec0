"""The alternating measurement as numbers: rounds of a block each, and what they come to.

Blocks of one round lie next to each other in time, so a machine that slows down slows all. The median over rounds then passes
over the round in which it did so between two blocks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.throughput.alternate import RUNNER


@dataclasses.dataclass(frozen=True)
class Ratio:
    """Runner speed over another's: 1 where Vigil costs nothing, below 1 where it does. The median of rounds, and quartiles."""

    median: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Throughput:
    """The runner's speed, a median over rounds, and its ratio to each of the others."""

    images_per_second: float
    ratios: dict[str, Ratio]


def summarise(rounds: Sequence[Mapping[str, float]], *, images: int) -> Throughput:
    """Return medians and quartiles over rounds: name -> seconds of a block of `images` images. Raises ValueError for no round."""
    if not rounds:
        raise ValueError("no round was measured: the ratio of nothing is undefined")
    ratios = {}
    for name in rounds[0]:
        if name != RUNNER:
            low, median, high = np.percentile([each[name] / each[RUNNER] for each in rounds], [25, 50, 75])
            ratios[name] = Ratio(float(median), float(low), float(high))
    return Throughput(images / float(np.median([each[RUNNER] for each in rounds])), ratios)
