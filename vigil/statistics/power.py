"""What so many runs can see, before any is made: against the reference, and between two releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from vigil.statistics.bands import WELCH_DECIDES_FROM, detectable_drop, prediction_band
from vigil.statistics.metric import spread_floor
from vigil.statistics.paired import EXPECTED_CORRELATION, found_with
from vigil.statistics.pooling import SampleLabels, spread_within_seeds

MOST_SEEDS = 1000


@dataclass(frozen=True)
class Power:
    """The smallest true difference that is found nine times in ten, in the metric's unit; None where it cannot be known.

    n: runs (against the reference), or runs of each release, on the same seeds.
    """

    n: int
    against_reference: float
    between_releases: float | None
    paired: float | None


@dataclass(frozen=True)
class Basis:
    """What a recipe's reference says of the noise of its runs. `framework`: the one with the widest band; None: all alike."""

    samples: tuple[float, ...]
    labels: SampleLabels
    floor: float
    spread: float
    within_seeds: float | None
    framework: str | None


def basis(samples: Sequence[float], *, seeds: Sequence[int], frameworks: Sequence[str], unit: str, n_test: int) -> Basis:
    """Return the noise that reference samples show. Raises BandUndefined where they do not determine a band.

    Args:
        seeds, frameworks: of each sample.
        n_test: the number of test examples, which sets the floor under the spread of a metric in percent.
    """
    floor = spread_floor(samples, unit=unit, n_test=n_test)
    bands = {
        name: prediction_band(samples, spread_floor=floor, groups=seeds, frameworks=frameworks, framework=name)
        for name in sorted(set(frameworks))
    }
    widest = max(bands, key=lambda name: bands[name].high - bands[name].low)
    are_alike = len({round(band.n_effective, 6) for band in bands.values()}) == 1
    return Basis(
        samples=tuple(samples),
        labels={"groups": seeds, "frameworks": frameworks, "framework": widest},
        floor=floor,
        spread=max(bands[widest].spread, floor),
        within_seeds=spread_within_seeds(samples, seeds=seeds, frameworks=frameworks),
        framework=None if are_alike else widest,
    )


def power(known: Basis, n: int, *, coverage: float = 0.99) -> Power:
    """Return what n runs can see.

    Two releases: by the noncentral t distribution, with a standard error of s * sqrt(2 / n). Where the seeds are ignored s
    is the spread of a run, with 2n - 2 degrees of freedom; paired by seed it is the spread within seeds of the
    reference, with n - 1. That is the noise between frameworks that train one seed; two releases of one framework should
    be no less alike. Never below the floor (see `paired.paired`).
    """
    released = None if n < 2 else found_with(known.spread * math.sqrt(2.0 / n), freedom=2 * n - 2, coverage=coverage)
    paired = None
    if n >= 2 and known.within_seeds is not None:
        spread = max(known.within_seeds * math.sqrt(2.0), known.floor * math.sqrt(2.0 * (1.0 - EXPECTED_CORRELATION)))
        paired = found_with(spread / math.sqrt(n), freedom=n - 1, coverage=coverage)
    against = detectable_drop(known.samples, n_new=n, coverage=coverage, spread_floor=known.floor, **known.labels)
    return Power(n, against, released, paired)


def seeds_needed(known: Basis, effect: float, *, column: str) -> int | None:
    """Return the fewest runs whose column of `Power` is `effect` or less; None where MOST_SEEDS are not enough."""
    fewest, most = 1, MOST_SEEDS
    if not _sees(known, most, effect, column=column):
        return None
    # What runs can see becomes smaller with their number on either side of where Welch's test joins, and is larger just there.
    if _sees(known, WELCH_DECIDES_FROM - 1, effect, column=column):
        most = WELCH_DECIDES_FROM - 1
    else:
        fewest = WELCH_DECIDES_FROM
    while fewest < most:
        middle = (fewest + most) // 2
        if _sees(known, middle, effect, column=column):
            most = middle
        else:
            fewest = middle + 1
    return fewest


def _sees(known: Basis, n: int, effect: float, *, column: str) -> bool:
    found = getattr(power(known, n), column)
    return found is not None and found <= effect
