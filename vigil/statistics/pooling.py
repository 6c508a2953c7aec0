"""A reference of several seeds in several frameworks: its centre, its spread, and how much it knows of either.

A row is mu + framework + seed + rest. Two kinds of likeness are in it, and they are different things. Frameworks may
differ for good: a run is then judged around the rows of its own framework, and all frameworks tell the spread. Runs of
one seed share weights and batches: rows are then worth fewer than they are. benchmarks/band_calibration.py holds this
against the alternatives; docs/statistics.md says what it found.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import scipy

from vigil.statistics.finite import BandUndefined


class SampleLabels(TypedDict):
    """What is known of samples beside their values: the seed and the framework of each, and the framework that is judged."""

    groups: Sequence[Hashable] | None
    frameworks: Sequence[str] | None
    framework: str | None


@dataclass(frozen=True)
class Pool:
    """What reference rows say: the centre, the spread of one run, and how well both are known. Numbers, or arrays of trials.

    n_effective: the centre's variance is spread^2 / n_effective.
    degrees_of_freedom: of the spread.
    """

    mean: Any
    spread: Any
    n_effective: Any
    degrees_of_freedom: Any


def pool(
    samples: Any,
    *,
    seeds: Sequence[Hashable] | None = None,
    frameworks: Sequence[Hashable] | None = None,
    framework: Hashable | None = None,
) -> Pool:
    """Return what the reference says of runs in `framework`.

    - With rows of that framework: around their mean, with the spread that rows have within frameworks (`within`).
    - Without such rows, or where no framework is named: around the mean of all, as many as `effective_size` says.
    - Without seeds: independent samples.

    Args:
        samples: [..., n].
        seeds, frameworks: n labels each.
    Raises:
        BandUndefined: all samples are of one seed; or each is alone in its framework, so that no spread is known.
    """
    values = np.asarray(samples, dtype=float)
    n = values.shape[-1]
    for name, labels in (("seeds", seeds), ("frameworks", frameworks)):
        if labels is not None and len(labels) != n:
            raise ValueError(f"{name}: found {len(labels)} labels for {n} samples.")
    if seeds is not None and frameworks is not None and framework in frameworks:
        return _around_own(values, seeds=seeds, frameworks=frameworks, framework=framework)
    size = float(n) if seeds is None else effective_size(values, groups=seeds)
    return Pool(values.mean(axis=-1), values.std(axis=-1, ddof=1), size, size - 1.0)


def _around_own(values: np.ndarray, *, seeds: Sequence[Hashable], frameworks: Sequence[Hashable], framework: Hashable) -> Pool:
    """Return the pool around the rows of `framework`, with the spread within all frameworks.

    For rows of equal variance that correlate by r within a seed, R = I + r (G - I), G_ij = 1 for the same seed. With P
    the projection that takes off each framework's mean, y'Py / tr(PR) estimates the variance without bias, and is
    matched in its first two moments by a chi square of tr(PR)^2 / tr(PRPR) degrees of freedom: F. Satterthwaite,
    Biometrics Bulletin 2 (1946) 110, doi:10.2307/3002019, for quadratic forms G. Box, Ann. Math. Statist. 25 (1954)
    290, doi:10.1214/aoms/1177728786. Ten seeds in three frameworks have 27 at r = 0 and 9 at r = 1.
    """
    same_seed, same_framework = _same(seeds), _same(frameworks)
    n, n_seeds = len(seeds), _several(seeds)
    projection = np.eye(n) - same_framework / same_framework.sum(axis=1)
    n_free = round(float(np.trace(projection)))
    if n_free < 1:
        raise BandUndefined(f"{n} samples of {n} frameworks: how runs of one framework scatter cannot be seen.")
    rest, shared = values @ projection, same_seed - np.eye(n)
    likeness = _likeness(rest, same_seed=same_seed, n_lost=n - n_free)
    if shared.any():
        # It is known poorly, and what is known poorly does not count as freedom: half its standard error is added. With the
        # estimate alone false alarms are up to 1.3 times the nominal, with the whole error 0.7 times (8 seeds; measured).
        likeness = likeness + (1.0 - likeness**2) / (2.0 * np.sqrt(n_seeds))
    once, twice = np.trace(projection @ shared), np.trace(projection @ shared @ projection @ shared)
    trace = n_free + likeness * once
    own = np.array([label == framework for label in frameworks])
    rows_of_seed = same_seed[np.ix_(own, own)].sum() / own.sum()
    return Pool(
        mean=values[..., own].mean(axis=-1),
        spread=np.sqrt((rest**2).sum(axis=-1) / trace),
        n_effective=own.sum() / (1.0 + (rows_of_seed - 1.0) * likeness),
        degrees_of_freedom=trace**2 / (n_free + 2.0 * likeness * once + likeness**2 * twice),
    )


def effective_size(samples: Any, *, groups: Sequence[Hashable]) -> Any:
    """Return how many independent samples the given ones are worth, when those of one group resemble each other.

    Runs of one seed share initial weights and batches in every framework, so 30 rows of 10 seeds are not 30
    independent samples if that decides part of the result. With r the likeness (`_likeness`) the size is
    n / (1 + (k - 1) r), the design effect of Kish (Survey Sampling, 1965), with k the mean size of the group of a
    sample. Without it the false-alarm rate of ten seeds in three frameworks rises from 1 % to 3 % at r = 0.9. With no
    two samples in a group the answer is n.

    Args:
        samples: [..., n].
        groups: n labels.
    Raises:
        BandUndefined: all samples are of one group, so that nothing tells how groups differ.
    """
    values = np.asarray(samples, dtype=float)
    n = len(groups)
    if values.shape[-1] != n:
        raise ValueError(f"groups: found {n} labels for {values.shape[-1]} samples.")
    if _several(groups) == n:
        return np.full(values.shape[:-1], float(n))[()]
    same = _same(groups)
    likeness = _likeness(values - values.mean(axis=-1, keepdims=True), same_seed=same, n_lost=1)
    return n / (1.0 + (same.sum() / n - 1.0) * likeness)


def frameworks_differ(samples: Sequence[float], *, seeds: Sequence[Hashable], frameworks: Sequence[Hashable]) -> float | None:
    """Return the p value of the F test that no framework differs, seeds taken out; None where it cannot be told.

    The two-way analysis of variance without interaction: what frameworks explain beyond seeds, over what neither does.
    """
    values = np.asarray(samples, dtype=float)
    by_seed, by_framework = _indicators(seeds), _indicators(frameworks)
    (without, rank), (left, full_rank) = _residual(values, by_seed), _residual(values, np.hstack([by_seed, by_framework]))
    explained, n_explained, n_left = without - left, full_rank - rank, len(values) - full_rank
    rounding = len(values) * (8.0 * np.finfo(float).eps * np.abs(values).max()) ** 2
    if n_explained < 1 or n_left < 1 or left <= rounding:
        return None
    return float(scipy.special.fdtrc(n_explained, n_left, (explained / n_explained) / (left / n_left)))


def spread_within_seeds(samples: Sequence[float], *, seeds: Sequence[Hashable], frameworks: Sequence[Hashable]) -> float | None:
    """Return the standard deviation of what neither seed nor framework explains; None where no seed has several rows.

    What is left of a run's spread when runs of one seed are subtracted from each other, over sqrt(2).
    """
    values = np.asarray(samples, dtype=float)
    left, rank = _residual(values, np.hstack([_indicators(seeds), _indicators(frameworks)]))
    return float(np.sqrt(left / (len(values) - rank))) if len(values) > rank else None


def _likeness(rest: np.ndarray, *, same_seed: np.ndarray, n_lost: int) -> Any:
    """Return the intraclass correlation (B - W) / (B + (k0 - 1) W), cut to 0..1, of values whose means are taken off.

    B and W are the mean squares between and within seeds, k0 the typical number of rows of a seed. Where means of
    `n_lost` frameworks were taken off, one degree of freedom is lost between seeds and the others within.

    Args:
        rest: [..., n].
        same_seed: [n, n], 1 where two rows are of one seed.
    """
    n = rest.shape[-1]
    sizes = same_seed.sum(axis=1)
    n_seeds = round(float((1.0 / sizes).sum()))
    n_within = n - n_seeds - (n_lost - 1)
    if n_seeds == n:
        return np.zeros(rest.shape[:-1])[()]
    if n_within < 1:
        return np.ones(rest.shape[:-1])[()]  # too few rows tell: the cautious end
    means = rest @ same_seed / sizes
    between = (means**2).sum(axis=-1) / (n_seeds - 1)
    within = ((rest - means) ** 2).sum(axis=-1) / n_within
    typical = (n - sizes.sum() / n) / (n_seeds - 1)
    total = between + (typical - 1.0) * within
    return np.clip(np.divide(between - within, total, out=np.zeros_like(total), where=total > 0.0), 0.0, 1.0)


def _several(groups: Sequence[Hashable]) -> int:
    """Return how many groups there are. Raises BandUndefined for one."""
    n_groups = len(set(groups))
    if n_groups < 2:
        raise BandUndefined(f"{len(groups)} samples of one group: how groups differ cannot be seen; two groups are needed.")
    return n_groups


def _same(labels: Sequence[Hashable]) -> np.ndarray:
    return np.array([[one == other for other in labels] for one in labels], dtype=float)


def _indicators(labels: Sequence[Hashable]) -> np.ndarray:
    return np.array([[label == each for each in dict.fromkeys(labels)] for label in labels], dtype=float)


def _residual(values: np.ndarray, design: np.ndarray) -> tuple[float, int]:
    """Return the sum of squares that a least-squares fit leaves, and its rank."""
    coefficients, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    return float(((values - design @ coefficients) ** 2).sum()), int(rank)
