"""Two sides of runs, seed by seed: did the number move from one release to the other?

Runs of one seed share initial weights and batches under both releases, and part of their luck with them. Taking the
difference within each seed removes that part; it costs half the degrees of freedom. benchmarks/band_calibration.py
measures when that is worth it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy

from vigil.statistics.bands import POWER, WELCH_DECIDES_FROM
from vigil.statistics.finite import BandUndefined, deviation, finite
from vigil.statistics.welch import MeanDifference, plain, t_test, welch

# What runs of one seed are expected to have in common, before any is made: the reference runs of one seed in different
# frameworks correlate by 0.1 to 0.6 in the two classifiers and by 0.7 to 0.9 in the detector. It chooses the method
# from the counts alone: chosen by the correlation that the same runs show, the method would raise the false alarms.
EXPECTED_CORRELATION = 0.5
# From such a quantile on the spread that the test estimates decides alone whether an effect is found, to 1e-3 of it; scipy's
# inverse of the noncentral t distribution does not return for much larger ones.
_LARGE = 500.0
# A run that fails makes the spread so large that any mean lies within it: with one of six seeds at chance level t is 1, with four
# 3.2. What either side alone knows of the spread is therefore asked too, at a fiftieth of the false alarms, on top of them.
_ONE_SIDE_SHARE = 0.02
PAIRED, POOLED, WELCH, ONE_SIDE = "paired", "pooled", "welch", "one side's spread"
NO_DIFFERENCE, LOWER, HIGHER, IDENTICAL, TOO_FEW = "no difference seen", "lower", "higher", "identical", "too few"


@dataclass(frozen=True)
class PairedResult(MeanDifference):
    """The paired t test of new - old. `correlation` is None for fewer than three pairs, and where a side has no spread."""

    correlation: float | None
    n_pairs: int


@dataclass(frozen=True)
class ReleaseComparison:
    """What two sides of runs say of the difference new - old.

    method: "paired"; "pooled", Student's test with the spread of both sides together; "welch"; or "one side's spread", where
        that finds a difference and the test that the counts chose does not (`one_side`).
    low, high: the two-sided interval of the difference at the coverage asked for.
    correlation: of the pairs, whichever method decided; None for fewer than three pairs or a side without spread.
    detectable: the true difference that is found nine times in ten.
    decision: "no difference seen", "lower", "higher"; "identical", where every value of every seed is the same on both
        sides; "too few", where the runs have fewer than two degrees of freedom, or no spread at all to judge by.
        The numbers of "too few" are None but for the difference.
    """

    method: str
    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    n_new: int
    n_old: int
    n_pairs: int
    correlation: float | None
    detectable: float | None
    decision: str


def paired(
    new: Mapping[int, float], old: Mapping[int, float], *, coverage: float = 0.99, spread_floor: float = 0.0
) -> PairedResult:
    """Return the paired t test over the seeds that both sides have; other seeds are left out.

    t = mean(d) / (s(d) / sqrt(n)) with n - 1 degrees of freedom, d the difference within a seed. Student, Biometrika 6
    (1908) 1, doi:10.1093/biomet/6.1.1.

    Args:
        new, old: seed to value.
        spread_floor: the least spread to believe of one side's runs. s(d) is lifted to the same floor, which is what the
            differences of runs at the floor have when those of one seed correlate by `EXPECTED_CORRELATION`. Three
            differences of exactly one test image are not evidence of a spread of zero.
    Raises:
        BandUndefined: fewer than two seeds on both sides, a value that is not finite, or differences that are not zero,
            all equal, with a floor of 0. Differences that are all zero have p = 1.
    """
    seeds = sorted(set(new) & set(old))
    left = finite([new[seed] for seed in seeds], name="new", needed=2)
    right = finite([old[seed] for seed in seeds], name="old", needed=2)
    differences = left - right
    n_pairs, difference = len(seeds), float(differences.mean())
    own = deviation(differences, scale=float(np.abs([left, right]).max()))
    spread = max(own, spread_floor * math.sqrt(2.0 * (1.0 - EXPECTED_CORRELATION)))
    if spread == 0.0 and differences.any():
        raise BandUndefined(f"all {n_pairs} differences are {difference}, and the floor under their spread is 0.")
    found = t_test(difference, error=spread / math.sqrt(n_pairs), freedom=n_pairs - 1.0, coverage=coverage)
    return PairedResult(**asdict(plain(found)), correlation=_correlation(left, right), n_pairs=n_pairs)


def pooled(
    new: Mapping[int, float], old: Mapping[int, float], *, coverage: float = 0.99, spread_floor: float = 0.0
) -> MeanDifference:
    """Return Student's test of two independent sides with one spread, as if no seed were shared.

    The pooled variance ((n - 1) s1^2 + (m - 1) s2^2) / (n + m - 2), never below the floor's. Exact for normal runs at
    any n where releases do not change the spread, which is the hypothesis that is tested; Welch's is not below 8
    runs. Shared seeds that correlate make it alarm more rarely, never more often. One run on a side is enough.

    Raises:
        BandUndefined: fewer than one run on a side or three in all, a value that is not finite, or no spread.
    """
    left, right = finite(list(new.values()), name="new", needed=1), finite(list(old.values()), name="old", needed=1)
    freedom = len(left) + len(right) - 2.0
    if freedom < 1.0:
        raise BandUndefined("one run on each side: nothing tells how much runs scatter; three are needed in all.")
    largest = float(np.abs(np.concatenate([left, right])).max())
    squares = sum((len(side) - 1.0) * deviation(side, scale=largest) ** 2 for side in (left, right) if len(side) > 1)
    spread = max(math.sqrt(squares / freedom), spread_floor)
    difference = float(left.mean() - right.mean())
    if spread == 0.0:
        raise BandUndefined("neither side has any spread, and the floor under it is 0.")
    error = spread * math.sqrt(1.0 / len(left) + 1.0 / len(right))
    return plain(t_test(difference, error=error, freedom=freedom, coverage=coverage))


def one_side(
    difference: Any, *, spread_new: Any, n_new: int, spread_old: Any, n_old: int, coverage: float = 0.99
) -> list[MeanDifference]:
    """Return Student's test of a difference by the spread of either side alone, each at its share of the false alarms.

    t = difference / (s sqrt(1 / n + 1 / m)) with the degrees of freedom of that side: exact, as the pooled test is, for normal
    runs where releases change neither mean nor spread. A side of one run has none. The p values are times 100, so that one
    below 1 - coverage is among these two tests' fiftieth of the false alarms; the intervals are those of the same tests.

    Args:
        difference, spread_new, spread_old: numbers, or arrays of trials.
    """
    each, size = (1.0 - coverage) * _ONE_SIDE_SHARE / 2.0, math.sqrt(1.0 / n_new + 1.0 / n_old)
    tests = [
        t_test(difference, error=spread * size, freedom=n - 1.0, coverage=1.0 - each)
        for spread, n in ((spread_new, n_new), (spread_old, n_old))
        if n > 1
    ]
    return [replace(test, p_value=np.minimum(1.0, test.p_value * 2.0 / _ONE_SIDE_SHARE)) for test in tests]


def compare_releases(
    new: Mapping[int, float], old: Mapping[int, float], *, coverage: float = 0.99, spread_floor: float = 0.0
) -> ReleaseComparison:
    """Return what the runs of two releases, seed to value, say of the difference between them; two-sided.

    Paired by seed where `prefers_pairs` says so of the counts; otherwise Welch's test from 8 runs on either side on, and
    Student's with the pooled spread below. Seeds without a partner are left out of a paired test. What that does not find is
    looked for by the spread of either side alone (`one_side`), so that runs that fail do not hide the difference they make.

    Raises:
        BandUndefined: a side without a run, or a value that is not finite.
    """
    left, right = finite(list(new.values()), name="new", needed=1), finite(list(old.values()), name="old", needed=1)
    seeds = sorted(set(new) & set(old))
    counts = {"n_new": len(left), "n_old": len(right), "n_pairs": len(seeds)}
    correlation = _correlation(*(np.array([side[seed] for seed in seeds], dtype=float) for side in (new, old)))
    is_identical = len(seeds) >= 2 and len(seeds) == len(left) == len(right) and all(new[seed] == old[seed] for seed in seeds)
    is_paired = prefers_pairs(**counts, coverage=coverage)
    both_many = min(len(left), len(right)) >= WELCH_DECIDES_FROM
    method = PAIRED if is_paired or is_identical else WELCH if both_many else POOLED
    try:
        if len(left) + len(right) < 4 and not is_identical:
            raise BandUndefined("fewer than two degrees of freedom")
        if method == PAIRED:
            found: MeanDifference = paired(new, old, coverage=coverage, spread_floor=spread_floor)
        elif method == POOLED:
            found = pooled(new, old, coverage=coverage, spread_floor=spread_floor)
        else:
            found = welch(left, right, coverage=coverage, spread_floor=spread_floor)
    except BandUndefined:
        difference = float(left.mean() - right.mean())
        return ReleaseComparison(
            method, difference, None, None, None, **counts, correlation=correlation, detectable=None, decision=TOO_FEW
        )
    quantiles = scipy.special.stdtrit(found.degrees_of_freedom, [(1.0 + coverage) / 2.0, POWER])
    detectable = float(quantiles.sum()) * found.standard_error
    if not is_identical and found.p_value >= 1.0 - coverage:
        pairs = [{seed: side[seed] for seed in seeds} for side in (new, old)] if method == PAIRED else [new, old]
        by_one = _by_one_side(pairs[0], pairs[1], coverage=coverage, spread_floor=spread_floor)
        if by_one is not None and by_one.p_value < 1.0 - coverage:
            method, found = ONE_SIDE, by_one
    is_significant = found.p_value < 1.0 - coverage
    seen = (HIGHER if found.difference > 0.0 else LOWER) if is_significant else NO_DIFFERENCE
    return ReleaseComparison(
        method,
        found.difference,
        found.low,
        found.high,
        found.p_value,
        **counts,
        correlation=correlation,
        detectable=detectable,
        decision=IDENTICAL if is_identical else seen,
    )


def prefers_pairs(*, n_new: int, n_old: int, n_pairs: int, coverage: float = 0.99) -> bool:
    """Return whether a paired test promises to find a smaller difference than one that ignores the seeds.

    Each finds, nine times in ten, what `found_with` says, for runs of unit spread that correlate by
    `EXPECTED_CORRELATION` within a seed. Counts decide, never values. At 99 %, with every seed on both sides, pairs win
    from six on; the more seeds have no partner, the later.
    """
    if n_pairs < 2:
        return False
    error = math.sqrt(2.0 * (1.0 - EXPECTED_CORRELATION) / n_pairs)
    taken = 1.0 / n_new + 1.0 / n_old
    true = math.sqrt(taken - 2.0 * EXPECTED_CORRELATION * n_pairs / (n_new * n_old))
    with_pairs = found_with(error, freedom=n_pairs - 1, coverage=coverage)
    return with_pairs < found_with(true, freedom=n_new + n_old - 2, coverage=coverage, taken=math.sqrt(taken))


def fewest_pairs(*, coverage: float = 0.99) -> int:
    """Return from how many seeds on a paired test is preferred, where both sides have all of them.

    >>> fewest_pairs()
    6
    """
    return next(n for n in itertools.count(2) if prefers_pairs(n_new=n, n_old=n, n_pairs=n, coverage=coverage))


def found_with(error: float, *, freedom: float, coverage: float, taken: float | None = None) -> float:
    """Return the true difference that a two-sided t test finds with probability POWER, by the noncentral t distribution.

    Args:
        error: the standard error of the difference.
        taken: what the test takes for it on average, where that is something else.
    """
    quantile = float(scipy.special.stdtrit(freedom, (1.0 + coverage) / 2.0)) * (taken or error) / error
    if quantile > _LARGE:
        return quantile * math.sqrt(float(scipy.special.chdtri(freedom, 1.0 - POWER)) / freedom) * error
    return float(scipy.special.nctdtrinc(freedom, 1.0 - POWER, quantile)) * error


def _by_one_side(
    new: Mapping[int, float], old: Mapping[int, float], *, coverage: float, spread_floor: float
) -> MeanDifference | None:
    """Return the smaller p value of `one_side`; None where neither side has a spread."""
    left, right = np.array(list(new.values()), dtype=float), np.array(list(old.values()), dtype=float)
    largest = float(np.abs(np.concatenate([left, right])).max())
    spreads = [max(deviation(side, scale=largest) if len(side) > 1 else 0.0, spread_floor) for side in (left, right)]
    tests = one_side(
        float(left.mean() - right.mean()),
        spread_new=spreads[0],
        n_new=len(left),
        spread_old=spreads[1],
        n_old=len(right),
        coverage=coverage,
    )
    # Equal values and no floor are no spread of zero: any difference would be certain.
    known = [plain(test) for test in tests if test.standard_error > 0.0]
    return min(known, key=lambda test: test.p_value, default=None)


def _correlation(left: np.ndarray, right: np.ndarray) -> float | None:
    """Return Pearson's correlation; two pairs always lie on a line, so that fewer than three have none."""
    if len(left) < 3 or deviation(left) == 0.0 or deviation(right) == 0.0:
        return None
    return float(np.clip(np.corrcoef(left, right)[0, 1], -1.0, 1.0))
