"""The statistics of one step in a series of values: its size, and whether it is one. Pure functions on arrays.

Values of one seed resemble each other, so a value is compared with those of its own seed (a fixed effect for each seed that has
two or more; seeds that were run once are compared with each other). With the same seeds on both sides of the step and two
values of each this is the paired t-test, and with no seed twice the t-test of two samples; with several releases before the
step, every one of them helps to estimate the spread, where a paired test of the last two would have as few degrees of freedom
as there are seeds.

The place of a step is searched by the likelihood-ratio statistic of a shift of the mean, its largest value over all places, and
judged by permutation within seeds (A. Sen and M. Srivastava, Ann. Statist. 3 (1975) 98, doi:10.1214/aos/1176343001, for the
statistic): exact for any distribution, as long as values of a seed could as well have come in another order.
docs/drift-tables.md compares it with E-divisive.

Where a step began, given that there is one, is told by the posterior of the place under normal noise of unknown spread
(A. Smith, Biometrika 62 (1975) 407, doi:10.1093/biomet/62.2.407). Unlike the tests, which must be right whatever seeds share, it
takes values of one seed to be correlated by a half: so seeds that were run on one side only help to find the place, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

# Each stage permutes this often; a series goes on to the next while its p-value is not settled.
STAGES = (999, 9_999, 49_999)
_EXCEEDANCES_THAT_SETTLE = 10
_CHUNK = 5_000

_CORRELATION = 0.5
# How many standard deviations a change is before it is looked at (a normal prior): wide, so that it hardly matters.
_PRIOR_STEP = 3.0
# The part of the prior that nights with a new release share alone. More would place a change on a release that did not bring it:
# at a half, the 90 % interval holds the night of a faint drop between releases in 87 % of cases, at this in 89 %.
_RELEASE_SHARE = 0.25


@dataclass(frozen=True)
class Design:
    """Which values are compared with which, at each boundary.

    contrasts [boundary, point]: contrasts @ values is the step times its weight; weights [boundary] is 1 / (its variance in
    units of the variance of a value). boundaries [boundary]: the first point after.
    """

    strata: np.ndarray
    n_strata: int
    boundaries: np.ndarray
    contrasts: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class Step:
    """A step at one boundary, after minus before; `spread` is the standard deviation of a value within its seed, floored."""

    size: float
    error: float
    freedom: float
    p_value: float
    spread: float
    n_before: int
    n_after: int

    def interval(self, coverage: float) -> tuple[float, float]:
        """Return the t interval around the size."""
        half = float(scipy.stats.t.ppf((1.0 + coverage) / 2.0, self.freedom)) * self.error
        return self.size - half, self.size + half


def strata_of(seeds: Sequence[object] | np.ndarray) -> np.ndarray:
    """Return a number for each point: its seed's, or one that all seeds with a single point share."""
    _, place, counts = np.unique(np.asarray(seeds, dtype=str), return_inverse=True, return_counts=True)
    shared = np.where(counts[place] == 1, -1, place)
    return np.unique(shared, return_inverse=True)[1]


def make_design(seeds: Sequence[object] | np.ndarray, boundaries: Sequence[int] | np.ndarray) -> Design:
    """Return the design of a series; boundaries at which no value has another to be compared with are left out."""
    return _design(tuple(strata_of(seeds).tolist()), tuple(int(place) for place in boundaries))


@lru_cache(maxsize=4096)
def _design(strata: tuple[int, ...], boundaries: tuple[int, ...]) -> Design:
    member = np.equal.outer(np.array(strata), np.arange(max(strata) + 1)).astype(float)  # [point, stratum]
    after = np.arange(len(strata)) >= np.array(boundaries, dtype=int)[:, np.newaxis]  # [boundary, point]
    share = after @ member / member.sum(axis=0)  # [boundary, stratum]: the share of a stratum that comes after
    contrasts = after - share @ member.T
    weights = (contrasts**2).sum(axis=1)
    usable = weights > 1e-9
    return Design(np.array(strata), member.shape[1], np.array(boundaries, dtype=int)[usable], contrasts[usable], weights[usable])


def residual_square(values: np.ndarray, design: Design) -> float:
    """Return the sum of squares around the means of the strata."""
    sums = np.bincount(design.strata, weights=values, minlength=design.n_strata)
    counts = np.bincount(design.strata, minlength=design.n_strata)
    return float(((values - (sums / counts)[design.strata]) ** 2).sum())


def step_at(values: np.ndarray, seeds: np.ndarray, boundary: int, *, spread_floor: float = 0.0) -> Step | None:
    """Return the step at a boundary, or None where there are too few values, or no spread and no floor, to judge it.

    Where no seed has values on both sides, the means of seeds are compared, one value a seed and side.
    """
    design = make_design(seeds, [boundary])
    if not len(design.boundaries):
        side = np.arange(len(values)) >= boundary
        _, place = np.unique(np.array([f"{late:d} {seed}" for late, seed in zip(side, seeds, strict=True)]), return_inverse=True)
        means = np.bincount(place, weights=values) / np.bincount(place)
        boundary = len(set(place[:boundary].tolist()))
        if boundary in (0, len(means)) or len(means) == len(values):
            return None
        return step_at(means, np.arange(len(means)), boundary, spread_floor=spread_floor)
    numerator, weight = float(design.contrasts[0] @ values), float(design.weights[0])
    freedom = len(values) - design.n_strata - 1
    if freedom < 1:
        return None
    left = max(residual_square(values, design) - numerator**2 / weight, 0.0)
    spread = max(np.sqrt(left / freedom), spread_floor)
    # Equal numbers have a spread of rounding only.
    if spread <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return None
    size, error = numerator / weight, spread / np.sqrt(weight)
    p_value = float(2.0 * scipy.stats.t.sf(abs(size) / error, freedom))
    return Step(size, error, freedom, p_value, spread, boundary, len(values) - boundary)


def plain_step(values: np.ndarray, seeds: np.ndarray, boundary: int) -> float:
    """Return the step at a boundary without any word on its error: between values of a seed where there are such, else of all."""
    design = make_design(seeds, [boundary])
    if len(design.boundaries):
        return float(design.contrasts[0] @ values / design.weights[0])
    return float(values[boundary:].mean() - values[:boundary].mean())


def detectable(step: Step, *, alpha: float, power: float = 0.9) -> float:
    """Return the smallest true step that this test would call significant at alpha with the power."""
    return float(scipy.stats.t.ppf(1.0 - alpha / 2.0, step.freedom) + scipy.stats.t.ppf(power, step.freedom)) * step.error


@dataclass
class Scan:
    """The search for a step anywhere in a series, permuted as often as it needs to be."""

    values: np.ndarray
    design: Design
    spread_floor: float
    exceeding: int = 0
    permuted: int = 0

    def __post_init__(self) -> None:
        self._rows = (self.design.contrasts / np.sqrt(self.design.weights)[:, np.newaxis]).astype(np.float32)
        centred = (self.values - self.values.mean()).astype(np.float32)
        scale = float(np.abs(centred).max()) or 1.0
        self._centred, self._scale = centred / scale, scale
        self._observed = float(np.abs(self._rows @ self._centred).max())

    @property
    def p_value(self) -> float:
        """The share of permutations with as large a step, the real order included; larger where the floor explains the step."""
        if not self.permuted:
            return 1.0
        by_chance = (self.exceeding + 1) / (self.permuted + 1)
        if self.spread_floor <= 0.0:
            return by_chance
        return max(by_chance, float(2.0 * scipy.stats.norm.sf(self._observed * self._scale / self.spread_floor)))

    @property
    def settled(self) -> bool:
        """Whether more permutations tell nothing: enough were as extreme (J. Besag, P. Clifford, Biometrika 78 (1991) 301)."""
        return self.exceeding >= _EXCEEDANCES_THAT_SETTLE or self.permuted >= STAGES[-1]

    def permute(self, times: int) -> None:
        """Permute until `times` in all."""
        while self.permuted < times:
            count = min(_CHUNK, times - self.permuted)
            order = _orders(tuple(self.design.strata.tolist()), count, self.permuted)
            found = np.abs(self._centred[order] @ self._rows.T).max(axis=1)
            # Sums in another order differ by rounding: an equal arrangement must count as equal.
            self.exceeding += int((found >= self._observed * (1.0 - 1e-5)).sum())
            self.permuted += count


@lru_cache(maxsize=64)
def _orders(strata: tuple[int, ...], count: int, start: int) -> np.ndarray:
    """Return permutations [count, point] within strata, the same for the same arguments: series of one design share them."""
    labels = np.array(strata)
    generator = np.random.default_rng([20140312, len(strata), start])
    places = np.argsort(labels, kind="stable")
    shuffled = np.argsort(labels + generator.random((count, len(labels))), axis=1)
    orders = np.empty_like(shuffled)
    orders[:, places] = shuffled
    return orders.astype(np.int16)


def arrangements(seeds: np.ndarray) -> float:
    """Return the natural logarithm of how many orders there are within seeds: with few, no permutation can be rare."""
    from_strata = np.bincount(strata_of(seeds))
    return float(sum(np.log(np.arange(1, size + 1)).sum() for size in from_strata))


@dataclass(frozen=True)
class ChangePoint:
    """Where a step began: the likeliest boundary, and where the likeliest with together the coverage begin and end."""

    boundary: int
    low: int
    high: int


def locate(
    values: np.ndarray,
    seeds: np.ndarray,
    boundaries: Sequence[int] | np.ndarray,
    *,
    begins_release: np.ndarray,
    spread_floor: float = 0.0,
    coverage: float = 0.9,
) -> ChangePoint | None:
    """Return where a step began, given that there is one; None for no boundary, fewer than three values, or equal ones.

    Args:
        values, seeds: [point].
        boundaries: [boundary], the first point after.
        begins_release: [boundary], whether a release began there.
    """
    number = len(values)
    if not len(boundaries) or number < 3:
        return None
    same = np.equal.outer(np.asarray(seeds, dtype=str), np.asarray(seeds, dtype=str))
    weigh = np.linalg.inv((1.0 - _CORRELATION) * np.eye(number) + _CORRELATION * same)
    # The mean that generalised least squares finds is taken out of everything.
    rows = weigh.sum(axis=1)
    weigh -= np.outer(rows, rows) / rows.sum()
    after = (np.arange(number) >= np.asarray(boundaries)[:, np.newaxis]).astype(float)
    centred = values - values.mean()
    weighed = weigh @ centred
    total = float(centred @ weighed) + spread_floor**2
    if total <= 1e-24 * max(1.0, float(np.abs(values).max())) ** 2:
        return None
    weights = ((after @ weigh) * after).sum(axis=1)
    left = np.maximum(total - (after @ weighed) ** 2 / (weights + _PRIOR_STEP**-2), 1e-12 * total)
    prior = np.full(len(after), 1.0 / len(after))
    if begins_release.any():
        prior = (1.0 - _RELEASE_SHARE) * prior + _RELEASE_SHARE * begins_release / begins_release.sum()
    logarithm = np.log(prior) - 0.5 * np.log1p(_PRIOR_STEP**2 * weights) - 0.5 * (number - 1.0) * np.log(left)
    posterior = np.exp(logarithm - logarithm.max())
    posterior /= posterior.sum()
    order = np.argsort(-posterior, kind="stable")
    held = order[: int(np.searchsorted(np.cumsum(posterior[order]), coverage - 1e-12)) + 1]
    best, low, high = order[0], held.min(), held.max()
    return ChangePoint(int(boundaries[best]), int(boundaries[low]), int(boundaries[high]))
