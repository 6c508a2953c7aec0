"""Runs added one at a time until the evidence decides: a test that stays valid when it is looked at after each.

A fixed test that is looked at after each run and stopped at the first p < 1 % alarms far more often than 1 % of the
time. Here the evidence is an e-value: how many times more likely the statistic is if the runs differ than if they do
not. Its mean is 1 while nothing differs, at any look and at any stop, so that it ever reaches 1 / alpha with
probability alpha at most (Ville's inequality); and its inverse likewise while they differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from vigil.statistics.bands import Band
from vigil.statistics.metric import amount
from vigil.statistics.welch import t_test

ALPHA, BETA, DELTA, CAP = 0.01, 0.1, 2.0, 12
OUTSIDE, INSIDE = "outside", "reproduced"
# A tenth of the evidence is for an effect four times as large, 8 standard deviations at least: evidence for a small effect
# alone has a bound that even a run at chance level stays below, and would ask for run after run of it.
REMOTE_WEIGHT, REMOTE_LEAST = 0.1, 2.0
# A run that fails widens the spread of reference and runs together until any mean lies within it. The reference's spread alone
# is not widened: at this share of alpha, divided by the looks, it calls runs outside, on top of the e-value's alpha.
_REFERENCE_SHARE = 0.02
_LARGEST = 700.0  # exp of more is infinite, which JSON cannot hold
_PRECISION = 1e-14
_HUGE = 1e200
_ASYMPTOTIC_FROM = 10_000.0


@dataclass(frozen=True)
class InterimTest:
    """The evidence after `n` runs: statistic, degrees of freedom, log of the e-value, what it decides (None: go on).

    p_reference: of the mean, by the reference's spread alone; times what makes it valid at any of the looks.
    """

    n: int
    statistic: float
    degrees_of_freedom: float
    log_e_value: float
    p_reference: float
    decision: str | None

    @property
    def e_value(self) -> float:
        """The e-value, as far as a float goes."""
        return math.exp(min(self.log_e_value, _LARGEST))


def log_e_value(statistic: Any, *, freedom: Any, n: Any, delta: Any) -> Any:
    """Return log of the mean over +-delta of nct(T; f, +-delta sqrt(n)) / t(T; f), densities of Student's t.

    The sequential t test of S. Rushton (Biometrika 37 (1950) 326, doi:10.1093/biomet/37.3-4.326) and J. Hajnal (Biometrika
    48 (1961) 65, doi:10.1093/biomet/48.1-2.65, two samples); that it is an e-process: M. Perez-Ortiz, T. Lardy, R. de
    Heide and P. Grunwald, arXiv 2208.07610. The odd terms of the two densities cancel, and what is left is
    exp(-m^2 / 2) 1F1((f + 1) / 2; 1 / 2; x) with m = delta sqrt(n) and x = m^2 T^2 / (2 (f + T^2)).

    Args:
        statistic: T of two samples, of `freedom` degrees of freedom. Arrays of one shape, or numbers.
        n: 1 / (1 / k + 1 / n_reference).
        delta: the true difference that is looked for, in standard deviations of a run.
    """
    square = np.asarray(statistic, dtype=float) ** 2
    noncentrality = np.asarray(delta, dtype=float) ** 2 * n
    # T^2 / (f + T^2), also where T is infinite.
    share = np.where(np.isinf(square), 1.0, square / (np.asarray(freedom) + np.where(np.isinf(square), 0.0, square)))
    return _log_kummer((np.asarray(freedom, dtype=float) + 1.0) / 2.0, noncentrality / 2.0 * share) - noncentrality / 2.0


def log_evidence(statistic: Any, *, freedom: Any, n: Any, delta: Any) -> Any:
    """Return log of the e-value that decides: nine tenths for an effect of `delta`, one tenth for one far beyond.

    A mean of e-values is one. It is at least nine tenths of the first, so that 0.9 * beta bounds misses as beta does there.
    """
    far = 4.0 * np.maximum(delta, REMOTE_LEAST)
    near = log_e_value(statistic, freedom=freedom, n=n, delta=delta) + math.log1p(-REMOTE_WEIGHT)
    return np.logaddexp(near, log_e_value(statistic, freedom=freedom, n=n, delta=far) + math.log(REMOTE_WEIGHT))


def lower_bound(beta: float) -> float:
    """Return the e-value at which runs are called reproduced."""
    return (1.0 - REMOTE_WEIGHT) * beta


def decide(log_e: Any, p_mean: Any, *, alpha: float, beta: float, planned: int) -> Any:
    """Return 1 for outside, -1 for reproduced and 0 for go on, of numbers or of arrays of trials.

    Args:
        log_e: log of the e-value.
        p_mean: of the t test of the mean by the reference's spread alone. Below alpha nothing is reproduced, however little the
            e-value leaves of the effect: the mean is where a fixed number of runs would be called outside.
        planned: how many looks there may be.
    """
    is_outside = (log_e >= -math.log(alpha)) | (_at_any_look(p_mean, planned=planned) <= alpha)
    is_inside = (log_e <= math.log(lower_bound(beta))) & (p_mean >= alpha)
    return np.where(is_outside, 1, np.where(is_inside, -1, 0))


def looks(
    values: Sequence[float],
    *,
    mean: float,
    spread: float,
    n_reference: float,
    freedom: float,
    delta: float = DELTA,
    alpha: float = ALPHA,
    beta: float = BETA,
    planned: int = CAP,
    spread_floor: float = 0.0,
) -> list[InterimTest]:
    """Return the look after each value, up to the one that decides.

    T compares the mean of the values with the reference's; the spread is that of both together, each with its degrees of
    freedom, and never below the floor. `outside` once the e-value is 1 / alpha or more, which happens with probability
    alpha at most while runs are as the reference; `reproduced` once it is `lower_bound` or less, which happens with
    probability beta at most while they are delta standard deviations off. What the reference's spread alone says is asked
    beside it (`decide`), with a fiftieth of alpha on top.

    Args:
        mean, spread, n_reference, freedom: what the reference says (`pooling.Pool`).
        planned: how many looks there may be.
    Raises:
        ValueError: no spread is known, or delta, alpha or beta make no sense.
    """
    if not (delta > 0.0 and 0.0 < alpha < 1.0 and 0.0 < beta < 1.0 and max(spread, spread_floor) > 0.0):
        raise ValueError(
            f"delta {delta}, alpha {alpha}, beta {beta}, spread {spread}: allowed are a delta and a spread above 0, and rates "
            "between 0 and 1."
        )
    found: list[InterimTest] = []
    for k in range(1, len(values) + 1):
        seen = np.asarray(values[:k], dtype=float)
        squares = freedom * spread**2 + float(((seen - seen.mean()) ** 2).sum())
        degrees, n = freedom + k - 1.0, 1.0 / (1.0 / k + 1.0 / n_reference)
        together = max(math.sqrt(squares / degrees), spread_floor)
        statistic = (float(seen.mean()) - mean) / together * math.sqrt(n)
        log_e = float(log_evidence(statistic, freedom=degrees, n=n, delta=delta))
        error = max(spread, spread_floor) / math.sqrt(n)
        p_mean = float(t_test(float(seen.mean()) - mean, error=error, freedom=freedom, coverage=1.0 - alpha).p_value)
        decision = {1: OUTSIDE, -1: INSIDE, 0: None}[int(decide(log_e, p_mean, alpha=alpha, beta=beta, planned=planned))]
        found.append(InterimTest(k, statistic, degrees, log_e, float(_at_any_look(p_mean, planned=planned)), decision))
        if decision is not None:
            break
    return found


@dataclass(frozen=True)
class RunEvidence:
    """The evidence after one more run. `difference`: of the mean of all so far from the reference's, in the metric's unit."""

    seed: int
    n: int
    difference: float
    e_value: float


@dataclass(frozen=True)
class Evidence:
    """What runs one at a time have shown, up to the one that decides.

    delta, effect: the difference that is looked for, in standard deviations of the reference and in the metric's unit.
    planned: runs at most. p_value: the inverse of the largest e-value so far, or that of the reference's spread alone. It is
    valid at any stop.
    """

    decision: str | None
    alpha: float
    beta: float
    delta: float
    effect: float
    planned: int
    p_value: float
    looks: tuple[RunEvidence, ...]


def evidence_of(
    values: Sequence[tuple[int, float]],
    *,
    band: Band,
    alpha: float,
    beta: float,
    delta: float,
    effect: float | None,
    planned: int,
) -> Evidence:
    """Return the evidence after each run, up to the one that decides.

    Args:
        values: (seed, value) of each run, in order.
        band: what the reference says of one run.
        effect: the smallest difference worth finding, in the metric's unit; None for `delta` standard deviations.
    """
    spread = max(band.spread, band.spread_floor)
    delta = delta if effect is None else effect / spread
    numbers = [float(value) for _, value in values]
    steps = looks(
        numbers,
        mean=band.mean,
        spread=spread,
        n_reference=band.n_effective,
        freedom=band.degrees_of_freedom,
        delta=delta,
        alpha=alpha,
        beta=beta,
        planned=planned,
        spread_floor=band.spread_floor,
    )
    return Evidence(
        decision=steps[-1].decision,
        alpha=alpha,
        beta=beta,
        delta=delta,
        effect=delta * spread,
        planned=planned,
        p_value=min(1.0, *(min(math.exp(min(0.0, -step.log_e_value)), step.p_reference) for step in steps)),
        looks=tuple(
            RunEvidence(seed, step.n, math.fsum(numbers[: step.n]) / step.n - band.mean, step.e_value)
            for (seed, _), step in zip(values, steps, strict=False)
        ),
    )


def explain_evidence(evidence: Evidence, *, unit: str) -> tuple[str | None, str]:
    """Return on which side the runs are ("inside", "below", "above"; None while undecided), and why."""
    last, alpha, beta = evidence.looks[-1], evidence.alpha, evidence.beta
    side = "above" if last.difference > 0.0 else "below"
    away = f"the mean is {amount(abs(last.difference), unit)} {side} the reference's"
    counted = f"after {last.n} run{'s' * (last.n > 1)}"
    effect = f"a difference of {amount(evidence.effect, unit)}"
    rates = f"false alarms {alpha:.2g}, misses {beta:.2g}, looked at after each run"
    if evidence.decision is None:
        bounds = f"{1.0 / alpha:.3g} to call it outside, {lower_bound(beta):.3g} to call it reproduced"
        text = f"undecided {counted}: {away}, {last.e_value:.3g} to 1 for {effect}; needed are {bounds} ({rates})"
        if last.e_value <= lower_bound(beta):
            text += "; not reproduced, since the mean is outside by the reference's spread alone: runs that scatter more hide it"
        return None, text
    if evidence.decision == INSIDE:
        odds = f"{1.0 / last.e_value:.3g}" if last.e_value > 0.0 else "infinitely many"
        return "inside", f"decided {counted}: {away}, {odds} to 1 against {effect} ({rates})"
    if last.e_value < 1.0 / alpha:
        return side, f"decided {counted}: {away}, p {evidence.p_value:.1g} by the reference's spread alone ({rates})"
    return side, f"decided {counted}: {away}, {last.e_value:.3g} to 1 for {effect} ({rates})"


def _at_any_look(p_mean: Any, *, planned: int) -> Any:
    return np.minimum(1.0, p_mean * planned / _REFERENCE_SHARE)


def _log_kummer(a: Any, x: Any) -> Any:
    """Return log 1F1(a; 1/2; x) for a > 0 and x >= 0, by its series, and far out by the asymptotic one.

    Every term is positive, so that nothing cancels; sums that grow too large are scaled down on the way. scipy.special.hyp1f1
    overflows at x = 700, and scipy.stats.nct.pdf has no digit left in its tails. The series needs about 2 x terms; where x is
    large and beyond a^2, the asymptotic one (`_far_out`) is as exact.
    """
    a, x = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(x, dtype=float))
    is_far = x > np.maximum(_ASYMPTOTIC_FROM, a**2)
    if is_far.any():
        return np.where(is_far, _far_out(a, np.where(is_far, x, 1e300)), _log_kummer(a, np.where(is_far, 0.0, x)))[()]
    total, term, scale = np.ones(a.shape), np.ones(a.shape), np.zeros(a.shape)
    for j in range(100_000):
        ratio = (a + j) * x / ((0.5 + j) * (1.0 + j))
        term = term * ratio
        total = total + term
        shrink = np.where(total > _HUGE, 1.0 / _HUGE, 1.0)
        term, total, scale = term * shrink, total * shrink, scale - np.log(shrink)
        # The ratio of terms falls, and once it is below 1/2 the rest of the series is no more than the last term.
        if np.all((ratio < 0.5) & (term < _PRECISION * total)):
            return (np.log(total) + scale)[()]
    raise ValueError(f"a {a.max():g}, x {x.max():g}: allowed is what 100,000 terms of the series can reach.")


def _far_out(a: Any, x: Any) -> Any:
    """Return the log of Gamma(1/2) / Gamma(a) exp(x) x^(a - 1/2) sum over s of (1 - a)_s (1/2 - a)_s / (s! x^s).

    https://dlmf.nist.gov/13.7.E1.
    """
    total, term = np.ones(a.shape), np.ones(a.shape)
    for s in range(100):
        following = term * (s + 1.0 - a) * (s + 0.5 - a) / ((s + 1.0) * x)
        if np.all(np.abs(following) < _PRECISION * total):
            break
        term = following
        total = total + term
    return scipy.special.gammaln(0.5) - scipy.special.gammaln(a) + x + (a - 0.5) * np.log(x) + np.log(total)
