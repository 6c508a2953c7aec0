"""Statistics: what a set of reference samples lets further runs be. Pure functions on lists of numbers.

The formulas that decide (`half_width`, `welch_from_moments`, `is_outside`) also take numpy arrays, so that
benchmarks/band_calibration.py measures the very code that judges. That benchmark holds the measured false-alarm rates
and powers behind the choices explained here. What a reference of several frameworks says is in pooling.py.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from vigil.statistics.finite import beyond_rounding, deviation, finite
from vigil.statistics.pooling import SampleLabels, pool
from vigil.statistics.welch import MeanDifference, t_test, welch, welch_from_moments

# Welch's statistic estimates the new runs' variance from these runs alone, and its degrees-of-freedom approximation is
# poor for few of them: at a nominal 1 % it alarms falsely at 7 % with 2 runs, 3 % with 3, 1.2 % with 8 (30 reference
# samples, measured by the benchmark). Below this number it is reported and does not decide.
WELCH_DECIDES_FROM = 8
POWER = 0.9


@dataclass(frozen=True)
class Band:
    """A two-sided prediction interval; both ends belong to it.

    `spread` is the standard deviation of one run that the samples show, with `degrees_of_freedom`; the interval is made
    from max(spread, spread_floor). `n_effective` is how many samples the mean is worth (see `pooling.pool`).
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
    degrees_of_freedom: float

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class BandComparison:
    """New runs beside the reference: `run_band` is for each run, `mean_band` for their mean, `side` the decision.

    `p_value` is of the rule that decides: below 1 - coverage exactly where the side is not "inside".
    """

    side: str  # "inside", "below" or "above"
    difference: float
    p_value: float
    run_band: Band
    mean_band: Band
    welch: MeanDifference | None


def binomial_floor(percent: float, *, n_test: int) -> float:
    """Return the smallest spread, in percent points, to believe of an accuracy measured on n_test examples.

    Half the binomial standard deviation, 0.5 * sqrt(p (100 - p) / n_test), with p by the rule of succession: one example more
    is right, and one wrong. So where all are right an example may still be wrong: with the quantum's rounding error alone,
    (100 / n_test) / sqrt(12), one wrong image of 200 or of 1,000 is outside ten references that have none.

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
    share = (percent * n_test + 100.0) / (n_test + 2.0)
    return 0.5 * math.sqrt(share * (100.0 - share) / n_test)


def half_width(spread: Any, *, n: Any, n_new: int, coverage: float, freedom: Any = None) -> Any:
    """Return t(f; (1 + coverage) / 2) * spread * sqrt(1 / n_new + 1 / n), the prediction interval's half width.

    G. Hahn and W. Meeker, Statistical Intervals, chapter 4: the interval that holds the mean of n_new further normal
    samples of the same mean and variance. n may be an effective size, and is then not whole; f is n - 1 unless given.
    """
    degrees = n - 1.0 if freedom is None else freedom
    return scipy.special.stdtrit(degrees, (1.0 + coverage) / 2.0) * spread * np.sqrt(1.0 / n_new + 1.0 / n)


def prediction_band(
    samples: Sequence[float],
    *,
    coverage: float = 0.99,
    spread_floor: float = 0.0,
    n_new: int = 1,
    groups: Sequence[Hashable] | None = None,
    frameworks: Sequence[str] | None = None,
    framework: str | None = None,
) -> Band:
    """Return the two-sided prediction interval for the mean of n_new further runs: mean +- `half_width`.

    Args:
        groups: the seed of each sample.
        frameworks: the framework of each sample; `framework`: that of the further runs (see `pooling.pool`).
    Raises:
        BandUndefined: fewer than two samples, any that is not finite, or samples of one group only. Samples without spread
            give a band of the floor's width; with a floor of 0 the band is a point.
    """
    values = finite(samples, name="samples", needed=2)
    if n_new < 1 or not 0.0 < coverage < 1.0 or not (math.isfinite(spread_floor) and spread_floor >= 0.0):
        raise ValueError(
            f"n_new {n_new}, coverage {coverage}, spread_floor {spread_floor}: allowed are n_new from 1, "
            "coverage between 0 and 1, a finite floor from 0."
        )
    found = pool(values, seeds=groups, frameworks=frameworks, framework=framework)
    mean, size, freedom = float(found.mean), float(found.n_effective), float(found.degrees_of_freedom)
    spread = beyond_rounding(float(found.spread), scale=float(np.abs(values).max()))
    half = float(half_width(max(spread, spread_floor), n=size, n_new=n_new, coverage=coverage, freedom=freedom))
    what = "one further run" if n_new == 1 else f"the mean of {n_new} further runs"
    n_own = 0 if frameworks is None else sum(name == framework for name in frameworks)
    own = f" around the {n_own} of {framework}" if n_own and n_own < len(values) else ""
    return Band(
        low=mean - half,
        high=mean + half,
        method=f"two-sided t prediction interval for {what}{own}",
        coverage=coverage,
        n=len(values),
        mean=mean,
        spread=spread,
        spread_floor=spread_floor,
        n_effective=size,
        degrees_of_freedom=freedom,
    )


def decision_coverage(coverage: float, *, n_new: int) -> float:
    """Return the coverage of each test that decides: two tests share the false alarms equally (Bonferroni)."""
    return coverage if n_new < WELCH_DECIDES_FROM else (1.0 + coverage) / 2.0


def is_outside(
    difference: Any,
    *,
    spread_new: Any,
    n_new: int,
    spread_reference: Any,
    n_reference: Any,
    coverage: float,
    freedom: Any = None,
) -> Any:
    """Return whether the mean of n_new runs, `difference` away from the reference's mean, is outside.

    Up to 7 runs: outside the prediction interval for their mean, exact for equal variances. From 8 runs: outside that
    interval or significant by Welch's test, each at half the false alarms; Welch adds power where the new runs scatter
    less than the reference does.
    """
    p_value = decision_p_value(
        difference,
        spread_new=spread_new,
        n_new=n_new,
        spread_reference=spread_reference,
        n_reference=n_reference,
        freedom=freedom,
    )
    return p_value < 1.0 - coverage


def decision_p_value(
    difference: Any, *, spread_new: Any, n_new: int, spread_reference: Any, n_reference: Any, freedom: Any = None
) -> Any:
    """Return the p value of the rule that decides: of the prediction interval, or, from 8 runs on, of the better of two.

    Of two tests it is twice the smaller p value (Bonferroni), at most 1. It is below 1 - coverage exactly where a test
    of `decision_coverage` says so. Without any spread a difference has p = 0, and none has p = 1.
    """
    degrees = n_reference - 1.0 if freedom is None else freedom
    error = spread_reference * np.sqrt(1.0 / n_new + 1.0 / n_reference)
    p_value = t_test(difference, error=error, freedom=degrees, coverage=0.99).p_value
    if n_new < WELCH_DECIDES_FROM:
        return p_value
    test = welch_from_moments(
        difference,
        spread_new=spread_new,
        n_new=n_new,
        spread_reference=spread_reference,
        n_reference=n_reference,
        freedom_reference=freedom,
    )
    return np.minimum(1.0, 2.0 * np.minimum(p_value, test.p_value))


def compare(
    new: Sequence[float],
    reference: Sequence[float],
    *,
    coverage: float = 0.99,
    spread_floor: float = 0.0,
    groups: Sequence[Hashable] | None = None,
    frameworks: Sequence[str] | None = None,
    framework: str | None = None,
) -> BandComparison:
    """Compare one or more new runs with the reference by the rule of `is_outside`; labels as in `prediction_band`.

    Raises BandUndefined where `prediction_band` does, and for no new run or a non-finite one.
    """
    values = finite(new, name="new", needed=1)
    labels: SampleLabels = {"groups": groups, "frameworks": frameworks, "framework": framework}
    run_band = prediction_band(reference, coverage=coverage, spread_floor=spread_floor, **labels)
    each = decision_coverage(coverage, n_new=len(values))
    mean_band = prediction_band(reference, coverage=each, spread_floor=spread_floor, n_new=len(values), **labels)
    several = len(values) > 1
    difference = float(values.mean()) - run_band.mean
    p_value = decision_p_value(
        difference,
        spread_new=max(deviation(values), spread_floor) if several else spread_floor,
        n_new=len(values),
        spread_reference=max(run_band.spread, spread_floor),
        n_reference=run_band.n_effective,
        freedom=run_band.degrees_of_freedom,
    )
    is_far = bool(p_value < 1.0 - coverage)
    return BandComparison(
        side=("above" if difference > 0.0 else "below") if is_far else "inside",
        difference=difference,
        p_value=float(p_value),
        run_band=run_band,
        mean_band=mean_band,
        welch=welch(values, reference, spread_floor=spread_floor, coverage=each, **labels) if several else None,
    )


def detectable_drop(
    reference: Sequence[float],
    *,
    n_new: int,
    coverage: float = 0.99,
    power: float = POWER,
    spread_floor: float = 0.0,
    groups: Sequence[Hashable] | None = None,
    frameworks: Sequence[str] | None = None,
    framework: str | None = None,
) -> float:
    """Return the smallest true drop that n_new runs would be flagged for with probability `power`.

    (t(f; (1 + coverage) / 2) + t(f; power)) * spread * sqrt(1 / n_new + 1 / n): with the spread estimated
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
        frameworks=frameworks,
        framework=framework,
    )
    error = max(band.spread, spread_floor) * math.sqrt(1.0 / n_new + 1.0 / band.n_effective)
    return (band.high - band.low) / 2.0 + float(scipy.special.stdtrit(band.degrees_of_freedom, power)) * error
