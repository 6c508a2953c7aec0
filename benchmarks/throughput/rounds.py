"""The alternating measurement as numbers: rounds of a block each, and what they come to.

Blocks of one round lie next to each other in time, so a machine that slows down slows all. The median over rounds then passes
over the round in which it did so between two blocks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.throughput.alternate import RUNNER, STEP_WITH_INPUT, TWIN


@dataclasses.dataclass(frozen=True)
class Ratio:
    """One speed over another: of the runner, 1 where Vigil costs nothing, below 1 where it does. The median, and quartiles."""

    median: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Throughput:
    """The runner's speed, a median over rounds, and its ratio to each of the others.

    noise: the ratio of one loop to another that is the same, which nothing but the machine moves.
    """

    images_per_second: float
    ratios: dict[str, Ratio]
    noise: Ratio | None = None


def summarise(rounds: Sequence[Mapping[str, float]], *, images: int) -> Throughput:
    """Return medians and quartiles over rounds: name -> seconds of a block of `images` images. Raises ValueError for no round."""
    if not rounds:
        raise ValueError("no round was measured: the ratio of nothing is undefined")
    others = [name for name in rounds[0] if name not in (RUNNER, TWIN)]
    ratios = {name: _ratio([each[name] / each[RUNNER] for each in rounds]) for name in others}
    noise = _ratio([each[TWIN] / each[STEP_WITH_INPUT] for each in rounds]) if TWIN in rounds[0] else None
    return Throughput(images / float(np.median([each[RUNNER] for each in rounds])), ratios, noise)


def _ratio(of_rounds: Sequence[float]) -> Ratio:
    low, median, high = np.percentile(of_rounds, [25, 50, 75])
    return Ratio(float(median), float(low), float(high))
