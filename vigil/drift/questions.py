"""Three questions to one series: is the newest release away from the reference, is it away from the releases before, is there a
step?

The first two are direct tests, always asked where there are values for them. The third is asked of series that are long enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vigil.drift.series import Series
from vigil.drift.steps import ChangePoint, Scan, Step, arrangements, locate, make_design, plain_step, residual_square, step_at
from vigil.statistics.bands import compare, half_width
from vigil.statistics.finite import BandUndefined
from vigil.statistics.pooling import SampleLabels

# Below these a permutation test of a step cannot be significant among a hundred cells (docs/drift-tables.md).
SCAN_FROM = 12
_ARRANGEMENTS = np.log(10_000.0)
_ON_EACH_SIDE = 2
_LAST_RELEASES = 3
# A night's own verdict judges its runs; the question here is about several, so that a small distance shows too.
_SEEDS_AGAINST_REFERENCE = 5
# Under this a series is looked at for where its change began; that it drifts is decided over all series together.
_WORTH_LOCATING = 0.05
COVERAGE = 0.95
PLACE_COVERAGE = 0.9


@dataclass(frozen=True)
class ReferenceSamples:
    """The reference samples of a recipe's profile, and the floor under their spread."""

    values: tuple[float, ...]
    seeds: tuple[int, ...]
    contexts: tuple[str, ...]
    floor: float


@dataclass(frozen=True)
class Against:
    """The newest values against the reference; `spread` is that of one run, floored."""

    difference: float
    low: float
    high: float
    p_value: float
    spread: float
    n_seeds: int
    n_reference: int


@dataclass(frozen=True)
class Since:
    """Where a change began: nights by number. `night` is None for a series that was away from the reference all along."""

    night: int | None
    release: str | None
    before: int | None
    release_before: str | None
    low: int | None
    high: int | None


@dataclass(frozen=True)
class StepSearch:
    """A search for a step at several places: the smallest p-value times their number (Bonferroni)."""

    p_value: float
    number: int


@dataclass
class ExaminedSeries:
    """A series and the answers. `release` is the step at the newest release that moved any bit, `releases` at the last ones."""

    series: Series
    floor: float
    against: Against | None
    release: Step | None
    releases: StepSearch | None
    scan: Scan | None
    places: StepSearch | None
    p_values: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Take over what the scan has found by now."""
        answers = {"reference": self.against, "release": self.releases, "step": self.scan or self.places}
        self.p_values = {name: float(answer.p_value) for name, answer in answers.items() if answer is not None}

    @property
    def p_value(self) -> float | None:
        """One p-value for the series: the smallest times their number (Bonferroni), for they look at the same values."""
        return min(1.0, len(self.p_values) * min(self.p_values.values())) if self.p_values else None

    @property
    def spread(self) -> float | None:
        """The standard deviation of one value: the reference's where there is one, else the series' own within a seed."""
        if self.against is not None:
            return self.against.spread
        return max(self._own_spread(), self.floor) or None

    def _own_spread(self) -> float:
        """Return the standard deviation within a seed that the likeliest step leaves: the step itself is no spread."""
        series = self.series
        design = make_design(series.seeds, series.boundaries)
        steps = (design.contrasts @ series.values) ** 2 / design.weights
        freedom = len(series.values) - design.n_strata - len(steps[:1])
        left = residual_square(series.values, design) - (steps.max() if len(steps) else 0.0)
        return float(np.sqrt(max(left, 0.0) / freedom)) if freedom > 0 else 0.0


def examine(series: Series, *, reference: ReferenceSamples | None = None) -> ExaminedSeries:
    """Ask all that can be asked, but for the permutations of the scan."""
    floor = 0.0 if reference is None else reference.floor
    last = released_boundaries(series)
    release = step_at(series.values, series.seeds, last[0], spread_floor=floor) if last else None
    scan = _scan(series, floor)
    places = None if scan is not None else _searched(series, _inner(series), floor)
    return ExaminedSeries(series, floor, _against(series, reference), release, _searched(series, last, floor), scan, places)


def release_starts(series: Series) -> np.ndarray:
    """Return the nights on which a release was the first time, or again, the one that ran."""
    return series.visits[1:][series.visit_releases[1:] != series.visit_releases[:-1]]


def released_boundaries(series: Series) -> list[int]:
    """Return the boundaries at which the last releases began that moved any bit, the newest first."""
    found: list[int] = []
    for night in release_starts(series)[::-1]:
        begun = series.boundaries[_begins(series, series.boundaries, [night])]
        found += [int(place) for place in begun[:1] if int(place) not in found]
    return found[:_LAST_RELEASES]


def since(examined: ExaminedSeries) -> Since:
    """Return where the change in a series began."""
    series = examined.series
    place = _place(examined)
    if place is None:
        return Since(None, None, None, None, None, None)
    night = int(series.first[place.boundary])
    before = series.visit_before(night)
    return Since(
        night,
        series.release_of(night),
        before,
        None if before is None else series.release_of(before),
        int(series.first[place.low]),
        int(series.first[place.high]),
    )


def size_of(examined: ExaminedSeries) -> tuple[float, float, float]:
    """Return the size of the change and its 95 % interval: the step where it began, else the distance to the reference.

    Values without any spread (100 % correct night after night, then 90 %) have a step and no interval: NaN.
    """
    place = _place(examined)
    step, series = None, examined.series
    if place is not None:
        step = step_at(series.values, series.seeds, place.boundary, spread_floor=examined.floor)
    if step is not None:
        return (step.size, *step.interval(COVERAGE))
    if examined.against is not None:
        return examined.against.difference, examined.against.low, examined.against.high
    if place is None:
        return float("nan"), float("nan"), float("nan")
    return plain_step(series.values, series.seeds, place.boundary), float("nan"), float("nan")


def _place(examined: ExaminedSeries) -> ChangePoint | None:
    """Return where the change began; None for a series that was as far from the reference before any step in it."""
    series, by_itself = examined.series, min(examined.p_values.get("release", 1.0), examined.p_values.get("step", 1.0))
    if by_itself > _WORTH_LOCATING:
        return None
    found = locate(
        series.values,
        series.seeds,
        series.boundaries,
        begins_release=_begins(series, series.boundaries, release_starts(series)),
        spread_floor=examined.floor,
        coverage=PLACE_COVERAGE,
    )
    if found is None:
        return None
    step, against = step_at(series.values, series.seeds, found.boundary, spread_floor=examined.floor), examined.against
    if (
        step is not None
        and against is not None
        and against.p_value < by_itself
        and abs(step.size) < 0.5 * abs(against.difference)
    ):
        return None
    return found


def _begins(series: Series, boundaries: np.ndarray, starts: np.ndarray | list[int]) -> np.ndarray:
    """Return, for each boundary, whether a release that starts on one of the nights may have made it."""
    latest = np.maximum.accumulate(series.last)
    nights = np.asarray(starts, dtype=int)
    return np.any((latest[boundaries - 1, np.newaxis] < nights) & (nights <= series.first[boundaries, np.newaxis]), axis=1)


def _against(series: Series, reference: ReferenceSamples | None) -> Against | None:
    """Return the newest values against the reference's, judged as `vigil.statistics.bands` judges several; None if too few."""
    if reference is None:
        return None
    newest = _newest(series)
    own = [
        not (context == series.cell["context"] and seed in newest)
        for seed, context in zip(reference.seeds, reference.contexts, strict=True)
    ]
    samples = [value for value, keep in zip(reference.values, own, strict=True) if keep]
    labels: SampleLabels = {
        "groups": [seed for seed, keep in zip(reference.seeds, own, strict=True) if keep],
        "frameworks": [_framework(text) for text, keep in zip(reference.contexts, own, strict=True) if keep],
        "framework": _framework(series.cell["context"]),
    }
    values, n_new = list(newest.values()), len(newest)
    try:
        found = compare(values, samples, spread_floor=reference.floor, **labels)
    except BandUndefined:
        return None
    band, difference = found.run_band, found.difference
    spread = max(band.spread, band.spread_floor)
    if spread <= 0.0 or band.degrees_of_freedom <= 0.0:
        return None
    half = float(half_width(spread, n=band.n_effective, n_new=n_new, coverage=COVERAGE, freedom=band.degrees_of_freedom))
    return Against(difference, difference - half, difference + half, found.p_value, spread, n_new, band.n)


def _framework(context: str) -> str:
    return context.partition("-")[0]


def _newest(series: Series) -> dict[int, float]:
    """Return the value of each seed under the newest release, or under the last releases, as many as have five seeds."""
    begins = [int(series.visits[0]), *release_starts(series).tolist()]
    chosen = series.last >= begins[-1]
    for start in begins[-2::-1]:
        before, now = set(series.seeds[series.last >= start].tolist()), set(series.seeds[chosen].tolist())
        # Further values of the same seeds would only thin out what is new.
        if len(now) >= _SEEDS_AGAINST_REFERENCE or before == now:
            break
        chosen = series.last >= start
    seeds = dict.fromkeys(series.seeds[chosen].tolist())
    return {seed: float(series.values[chosen & (series.seeds == seed)].mean()) for seed in seeds}


def _inner(series: Series) -> list[int]:
    """Return the boundaries with two values or more on each side: one value is a step, or an outlier."""
    most = len(series.values) - _ON_EACH_SIDE
    return [int(place) for place in series.boundaries if _ON_EACH_SIDE <= place <= most]


def _searched(series: Series, boundaries: Sequence[int], floor: float) -> StepSearch | None:
    """Return the search over boundaries, or None if none can be judged."""
    steps = [step_at(series.values, series.seeds, place, spread_floor=floor) for place in boundaries]
    p_values = [step.p_value for step in steps if step is not None]
    return StepSearch(min(1.0, len(p_values) * min(p_values)), len(p_values)) if p_values else None


def _scan(series: Series, floor: float) -> Scan | None:
    if len(series.values) < SCAN_FROM or arrangements(series.seeds) < _ARRANGEMENTS:
        return None
    design = make_design(series.seeds, _inner(series))
    return Scan(series.values, design, floor) if len(design.boundaries) else None
