"""Statistics: what a set of reference samples lets further runs be. Pure functions on lists of numbers.

The formulas that decide (`half_width`, `welch_from_moments`, `is_outside`, `effective_size`) also take numpy arrays, so
that benchmarks/band_calibration.py measures the very code that judges. That benchmark holds the measured false-alarm
rates and powers behind the choices explained here.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

# Welch's statistic estimates the new runs' variance from these runs alone, and its degrees-of-freedom approximation is
# poor for few of them: at a nominal 1 % it alarms falsely at 7 % with 2 runs, 3 % with 3, 1.2 % with 8 (30 reference
# samples, measured by the benchmark). Below this number it is reported and does not decide.
WELCH_DECIDES_FROM = 8
POWER = 0.9


class BandUndefined(ValueError):
    """The samples at hand do not determine a band."""


@dataclass(frozen=True)
class Band:
    """A two-sided prediction interval; both ends belong to it.

    `spread` is the samples' own standard deviation; the interval is made from max(spread, spread_floor).
    `n_effective` is below n where samples of one group resemble each other (see `effective_size`).
    """

    low: float
    high: float
    method: str
    coverage: float
    n: int
    mean: float
    spread: float
    spread_floor: float
    n_effective: float

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class MeanDifference:
    """A two-sided test of a difference of means, new - reference, and the interval of the same test around it."""

    difference: float
    standard_error: float
    degrees_of_freedom: float
    p_value: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """New runs beside the reference: `run_band` is for each run, `mean_band` for their mean, `side` the decision."""

    side: str  # "inside", "below" or "above"
    difference: float
    run_band: Band
    mean_band: Band
    welch: MeanDifference | None


def binomial_floor(percent: float, *, n_test: int) -> float:
    """Return the smallest spread, in percent points, to believe of an accuracy measured on n_test examples.

    The larger of the metric's quantum as a rounding error, (100 / n_test) / sqrt(12), and half the binomial standard
    deviation, 0.5 * sqrt(p (100 - p) / n_test).

    The whole binomial deviation would be too much: it takes every example for a coin of the same bias, while most
    examples are always or never right, so it is an upper bound. The measured deviation over seeds is about half of it
    (K. Jordan, arXiv 2304.01910: 0.15 points at 94 % of 10,000 images, where the binomial one is 0.24; other published
    sets of 50 to 200 runs have 0.13 to 0.14). A floor of half therefore lies just below what a healthy reference shows:
    it lifts a spread that is small by luck or by construction, and hides nothing that the reference itself resolves.
    """
    if n_test < 1:
        raise ValueError(f"n_test: found {n_test}, allowed are 1 and more.")
    if not 0.0 <= percent <= 100.0:
        raise ValueError(f"percent: found {percent}, allowed is 0 to 100.")
    quantum = (100.0 / n_test) / math.sqrt(12.0)
    return max(quantum, 0.5 * math.sqrt(percent * (100.0 - percent) / n_test))


def effective_size(samples: Any, *, groups: Sequence[Hashable]) -> Any:
    """Return how many independent samples the given ones are worth, when those of one group resemble each other.

    Runs of one seed share initial weights and batches in every framework, so 30 rows of 10 seeds are not 30
    independent samples if that decides part of the result. The likeness r is the intraclass correlation of a one-way
    analysis of variance, (B - W) / (B + (k0 - 1) W) with B and W the mean squares between and within groups, cut to
    0..1; the size is n / (1 + (k - 1) r), the design effect of Kish (Survey Sampling, 1965), with k the mean size of
    the group of a sample. Without it the false-alarm rate of ten seeds in three frameworks rises from 1 % to 3 % at
    r = 0.9. With no two samples in a group the answer is n.

    Args:
        samples: [..., n].
        groups: n labels.
    Raises:
        BandUndefined: all samples are of one group, so that nothing tells how groups differ.
    """
    values = np.asarray(samples, dtype=float)
    labels = list(dict.fromkeys(groups))
    n, n_groups = len(groups), len(labels)
    if values.shape[-1] != n:
        raise ValueError(f"groups: found {n} labels for {values.shape[-1]} samples.")
    if n_groups < 2:
        raise BandUndefined(f"{n} samples of one group: how groups differ cannot be seen; two groups are needed.")
    member = np.array([[group == label for label in labels] for group in groups], dtype=float)  # [n, group]
    sizes = member.sum(axis=0)
    if n_groups == n:
        return np.full(values.shape[:-1], float(n))[()]
    means = values @ member / sizes
    between = (sizes * (means - values.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1) / (n_groups - 1)
    within = ((values - means @ member.T) ** 2).sum(axis=-1) / (n - n_groups)
    typical = (n - (sizes**2).sum() / n) / (n_groups - 1)
    total = between + (typical - 1.0) * within
    likeness = np.clip(np.divide(between - within, total, out=np.zeros_like(total), where=total > 0.0), 0.0, 1.0)
    return n / (1.0 + ((sizes**2).sum() / n - 1.0) * likeness)


def half_width(spread: Any, *, n: Any, n_new: int, coverage: float) -> Any:
    """Return t(n - 1; (1 + coverage) / 2) * spread * sqrt(1 / n_new + 1 / n), the prediction interval's half width.

    G. Hahn and W. Meeker, Statistical Intervals, chapter 4: the interval that holds the mean of n_new further normal
    samples of the same mean and variance. n may be an effective size, and is then not whole.
    """
    return stats.t.ppf((1.0 + coverage) / 2.0, n - 1.0) * spread * np.sqrt(1.0 / n_new + 1.0 / n)


def prediction_band(
    samples: Sequence[float],
    *,
    coverage: float = 0.99,
    spread_floor: float = 0.0,
    n_new: int = 1,
    groups: Sequence[Hashable] | None = None,
) -> Band:
    """Return the two-sided prediction interval for the mean of n_new further runs: mean +- `half_width`.

    Raises BandUndefined for fewer than two samples, any non-finite sample, or samples of one group only. Samples
    without spread give a band of the floor's width; with a floor of 0 the band is a point.
    """
    values = finite(samples, name="samples", needed=2)
    if n_new < 1 or not 0.0 < coverage < 1.0 or not (math.isfinite(spread_floor) and spread_floor >= 0.0):
        raise ValueError(
            f"n_new {n_new}, coverage {coverage}, spread_floor {spread_floor}: allowed are n_new from 1, "
            "coverage between 0 and 1, a finite floor from 0."
        )
    mean, spread = float(values.mean()), deviation(values)
    n_effective = float(len(values)) if groups is None else float(effective_size(values, groups=groups))
    half = float(half_width(max(spread, spread_floor), n=n_effective, n_new=n_new, coverage=coverage))
    what = "one further run" if n_new == 1 else f"the mean of {n_new} further runs"
    return Band(
        low=mean - half,
        high=mean + half,
        method=f"two-sided t prediction interval for {what}",
        coverage=coverage,
        n=len(values),
        mean=mean,
        spread=spread,
        spread_floor=spread_floor,
        n_effective=n_effective,
    )


def welch_from_moments(
    difference: Any,
    *,
    spread_new: Any,
    n_new: int,
    spread_reference: Any,
    n_reference: Any,
    coverage: float = 0.99,
) -> MeanDifference:
    """Return Welch's test from means and spreads: t = difference / sqrt(s1^2 / n1 + s2^2 / n2).

    Degrees of freedom by Welch and Satterthwaite: (v1 + v2)^2 / (v1^2 / (n1 - 1) + v2^2 / (n2 - 1)), v = s^2 / n.
    B. L. Welch, Biometrika 34 (1947) 28, doi:10.1093/biomet/34.1-2.28.
    """
    new, reference = spread_new**2 / n_new, spread_reference**2 / n_reference
    error = np.sqrt(new + reference)
    freedom = (new + reference) ** 2 / (new**2 / (n_new - 1.0) + reference**2 / (n_reference - 1.0))
    half = stats.t.ppf((1.0 + coverage) / 2.0, freedom) * error
    p_value = 2.0 * stats.t.sf(np.abs(difference) / error, freedom)
    return MeanDifference(difference, error, freedom, p_value, difference - half, difference + half)


def welch(
    new: Sequence[float],
    reference: Sequence[float],
    *,
    spread_floor: float,
    coverage: float = 0.99,
    groups: Sequence[Hashable] | None = None,
) -> MeanDifference:
    """Return Welch's test of new - reference, the spread of either side lifted to the floor.

    Raises BandUndefined for fewer than two samples or a non-finite one on either side, and where neither side has any
    spread and the floor is 0.
    """
    left, right = finite(new, name="new", needed=2), finite(reference, name="reference", needed=2)
    spread_new = max(deviation(left), spread_floor)
    spread_reference = max(deviation(right), spread_floor)
    if spread_new == 0.0 and spread_reference == 0.0:
        raise BandUndefined("neither the new runs nor the reference have any spread, and the floor under it is 0.")
    result = welch_from_moments(
        float(left.mean() - right.mean()),
        spread_new=spread_new,
        n_new=len(left),
        spread_reference=spread_reference,
        n_reference=float(len(right)) if groups is None else float(effective_size(right, groups=groups)),
        coverage=coverage,
    )
    return MeanDifference(*(float(getattr(result, name)) for name in MeanDifference.__dataclass_fields__))


def decision_coverage(coverage: float, *, n_new: int) -> float:
    """Return the coverage of each test that decides: two tests share the false alarms equally (Bonferroni)."""
    return coverage if n_new < WELCH_DECIDES_FROM else (1.0 + coverage) / 2.0


def is_outside(difference: Any, *, spread_new: Any, n_new: int, spread_reference: Any, n_reference: Any, coverage: float) -> Any:
    """Return whether the mean of n_new runs, `difference` away from the reference's mean, is outside.

    Up to 7 runs: outside the prediction interval for their mean, exact for equal variances. From 8 runs: outside that
    interval or significant by Welch's test, each at half the false alarms; Welch adds power where the new runs scatter
    less than the reference does.
    """
    each = decision_coverage(coverage, n_new=n_new)
    outside = np.abs(difference) > half_width(spread_reference, n=n_reference, n_new=n_new, coverage=each)
    if n_new < WELCH_DECIDES_FROM:
        return outside
    test = welch_from_moments(
        difference, spread_new=spread_new, n_new=n_new, spread_reference=spread_reference, n_reference=n_reference
    )
    return outside | (test.p_value < 1.0 - each)


def compare(
    new: Sequence[float],
    reference: Sequence[float],
    *,
    coverage: float = 0.99,
    spread_floor: float = 0.0,
    groups: Sequence[Hashable] | None = None,
) -> Comparison:
    """Compare one or more new runs with the reference by the rule of `is_outside`.

    Raises BandUndefined where `prediction_band` does, and for no new run or a non-finite one.
    """
    values = finite(new, name="new", needed=1)
    run_band = prediction_band(reference, coverage=coverage, spread_floor=spread_floor, groups=groups)
    each = decision_coverage(coverage, n_new=len(values))
    mean_band = prediction_band(reference, coverage=each, spread_floor=spread_floor, n_new=len(values), groups=groups)
    several = len(values) > 1
    difference = float(values.mean()) - run_band.mean
    outside = is_outside(
        difference,
        spread_new=max(float(values.std(ddof=1)), spread_floor) if several else spread_floor,
        n_new=len(values),
        spread_reference=max(run_band.spread, spread_floor),
        n_reference=run_band.n_effective,
        coverage=coverage,
    )
    return Comparison(
        side=("above" if difference > 0.0 else "below") if outside else "inside",
        difference=difference,
        run_band=run_band,
        mean_band=mean_band,
        welch=welch(values, reference, spread_floor=spread_floor, coverage=each, groups=groups) if several else None,
    )


def detectable_drop(
    reference: Sequence[float],
    *,
    n_new: int,
    coverage: float = 0.99,
    power: float = POWER,
    spread_floor: float = 0.0,
    groups: Sequence[Hashable] | None = None,
) -> float:
    """Return the smallest true drop that n_new runs would be flagged for with probability `power`.

    (t(n - 1; (1 + coverage) / 2) + t(n - 1; power)) * spread * sqrt(1 / n_new + 1 / n): with the spread estimated
    from the same reference this is exact for normal samples of equal variance, on average over references, but for the
    chance of a flag on the wrong side. From 8 runs on the flags that only Welch's test raises are not counted, so the
    real power is then a little higher; so it is where the floor lifts the spread.
    """
    band = prediction_band(
        reference,
        coverage=decision_coverage(coverage, n_new=n_new),
        spread_floor=spread_floor,
        n_new=n_new,
        groups=groups,
    )
    error = max(band.spread, spread_floor) * math.sqrt(1.0 / n_new + 1.0 / band.n_effective)
    return (band.high - band.low) / 2.0 + float(stats.t.ppf(power, band.n_effective - 1.0)) * error


def deviation(values: np.ndarray, *, scale: float | None = None) -> float:
    """Return the standard deviation, and 0 where it is no more than rounding of numbers as large as `scale`.

    Equal numbers can have a mean that is none of them: three times 0.1 has a deviation of 1e-17, and any difference
    would be infinitely many of those. `scale` is the largest of the values unless given.
    """
    largest = float(np.abs(values).max()) if scale is None else scale
    found = float(values.std(ddof=1))
    return found if found > 8.0 * np.finfo(float).eps * largest else 0.0


def finite(samples: Sequence[float], *, name: str, needed: int) -> np.ndarray:
    """Return samples as an array. Raises BandUndefined for fewer than `needed`, or one that is not finite."""
    values = np.asarray(samples, dtype=float)
    if values.ndim != 1 or len(values) < needed:
        raise BandUndefined(f"{name}: found {values.size} samples, needed are {needed} or more.")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise BandUndefined(f"{name}[{bad[0]}]: found {values[bad[0]]}, allowed are finite numbers.")
    return values
