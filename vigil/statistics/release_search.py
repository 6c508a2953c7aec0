"""Which release brought a failure, from runs that can be right by luck: what to run next, and what may be said.

Releases 0 to n - 1 in order; the first wrong one is c. A run of the script on a release before c says RIGHT. On c and later ones
it says WRONG at an unknown rate, the same in all of them, and RIGHT otherwise. So a WRONG proves, and a RIGHT does not. c = 0
means wrong in every release that is looked at: there is none to blame. c = n means right in every one.

Noisy binary search by the posterior of c: M. Horstein, IEEE Trans. Inf. Theory 9 (1963) 136; R. Waeber, P. Frazier and
S. Henderson, SIAM J. Control Optim. 51 (2013) 2261. For changes of code and flaky tests: T. Henderson, B. Dorward, E. Nickell,
C. Johnston and A. Kondareddy, Flake Aware Culprit Finding, ICST 2023. `python -m benchmarks.release_search` measures it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy

ERROR = 0.01
# At Google 40 % of the ranges that were searched had no culprit. That nothing is wrong is rarer: an alarm was there before.
NEVER_RIGHT, NEVER_WRONG = 0.4, 0.05
# Half of all failures are taken to be no race, so that a few WRONG without a RIGHT make single runs enough. The other rates are
# alike in each octave: equal weights from 0.05 to 1 hold rare ones for so unlikely that 5 % of the culprits at 0.05 are false.
# They begin below 0.05, the rarest that is promised: a rate at the very end is taken for a larger one, and 2 % are false.
_ALWAYS = 0.5
_RATES = np.geomspace(0.03, 1.0, 39)
_WEIGHTS = np.append(np.full(len(_RATES) - 1, (1.0 - _ALWAYS) / (len(_RATES) - 1)), _ALWAYS)
_MOST_RUNS, _FAR = 128, 1024
# [rate, m]: how likely so many runs of a wrong release all say RIGHT.
_SILENCE = (1.0 - _RATES)[:, None] ** np.arange(_FAR + 1)


class Runs(NamedTuple):
    """How many runs of one release said WRONG, and how many RIGHT."""

    wrong: int
    right: int


class Probe(NamedTuple):
    """So many runs of one release, one after the other."""

    release: int
    runs: int


@dataclass(frozen=True)
class Belief:
    """first: [n + 1] the probability of each first wrong release. rate: the mean of how often a wrong release says WRONG."""

    first: np.ndarray
    rate: float


class Answer(NamedTuple):
    """The first wrong release is one of low to high, both included; n: none is wrong.

    They differ where releases between cannot be used. probability: of just these. is_decided: it is 1 - error or more.
    runs_to_know: about how many runs more decide, if it is so; None where it is decided, or no run can decide.
    """

    low: int
    high: int
    probability: float
    is_decided: bool
    runs_to_know: int | None


def belief(n: int, runs: Mapping[int, Runs]) -> Belief:
    """Return what runs say of n releases. Raises ValueError for a release that is not one of them, or a count below 0.

    >>> looked = belief(8, {0: Runs(0, 10), 3: Runs(0, 1), 7: Runs(10, 0)})
    >>> int(looked.first.argmax()), bool(looked.first[:4].sum() < 0.01), round(looked.rate, 1)
    (4, True, 1.0)
    """
    joint = _joint(n, runs)
    return Belief(first=joint.sum(axis=1), rate=float(joint.sum(axis=0) @ _RATES))


def answer(n: int, runs: Mapping[int, Runs], *, unusable: Collection[int] = (), error: float = ERROR) -> Answer:
    """Return which release is most likely the first wrong one, and whether that may be said.

    Args:
        runs: of each release that was looked at; those of unusable ones do not count.
        unusable: releases that give no evidence, ever. Those before one that is wrong may be wrong as well.
        error: how often what is decided may be false.
    Raises:
        ValueError: as `belief`.

    >>> answer(8, {0: Runs(0, 10), 3: Runs(0, 2), 5: Runs(10, 0), 7: Runs(10, 0)}, unusable=[4])[:2]
    (4, 5)
    """
    return _answer(_joint(n, _counted(runs, unusable)), runs, unusable=unusable, error=error)


def next_probes(
    n: int,
    runs: Mapping[int, Runs],
    *,
    unusable: Collection[int] = (),
    side_by_side: int = 1,
    environment_cost: float = 30.0,
    run_cost: float = 3.0,
    error: float = ERROR,
) -> list[Probe]:
    """Return what to run next, side by side; nothing once it is decided, or when no release can be used.

    First both ends, whose runs say how often a wrong release is WRONG. Then the releases that cut the posterior of c into
    equal parts, each with the number of runs that tells most for its cost.

    Args:
        runs, unusable, error: as in `answer`.
        side_by_side: probes at most.
        environment_cost, run_cost: seconds, of a release that was not looked at yet, and of each run.
    Raises:
        ValueError: as `belief`.

    >>> next_probes(40, {}, side_by_side=2)
    [Probe(release=39, runs=10), Probe(release=0, runs=10)]
    >>> next_probes(40, {39: Runs(10, 0), 0: Runs(0, 10)}, side_by_side=2)
    [Probe(release=13, runs=1), Probe(release=26, runs=1)]
    """
    joint = _joint(n, _counted(runs, unusable))
    usable = [release for release in range(n) if release not in unusable]
    found = _answer(joint, runs, unusable=unusable, error=error)
    if not usable or found.is_decided:
        return []
    ends = [release for release in dict.fromkeys((usable[-1], usable[0])) if release not in runs]
    if ends:
        # As many as cost what the environment did.
        many = min(max(1, round(environment_cost / run_cost)), _MOST_RUNS)
        return [Probe(release, many) for release in ends[:side_by_side]]
    is_wrong = np.cumsum(joint.sum(axis=1))
    # What all but certainly is right or wrong decides nothing; where it is not decided, there is always one that is neither.
    open_ones = [release for release in usable if error / 2.0 <= is_wrong[release] <= 1.0 - error / 2.0]
    probes: list[Probe] = []
    for part in range(1, min(side_by_side, len(open_ones)) + 1):
        release = min(open_ones, key=lambda one: abs(is_wrong[one] - part / (side_by_side + 1)))
        open_ones.remove(release)
        costs = environment_cost * (release not in runs) + run_cost * np.arange(1, _MOST_RUNS + 1)
        many = 1 + int(np.argmax(_information(joint, release) / costs))
        # As many again as were in vain so far, or rare failures take 92 rounds of one run or two. No more than decide, with a
        # margin: what stops as soon as it may is false as often as it may be, and more often at the rarest rates.
        many = max(many, min(sum(runs.get(release, ())), _MOST_RUNS))
        if release == found.low - 1:
            many = min(many, _runs_to_know(joint, found.low, found.high, error=error / 2.0))
        probes.append(Probe(release, many))
    return probes


def _counted(runs: Mapping[int, Runs], unusable: Collection[int]) -> dict[int, Runs]:
    return {release: said for release, said in runs.items() if release not in unusable}


def _joint(n: int, runs: Mapping[int, Runs]) -> np.ndarray:
    """Return the joint posterior, [n + 1, rate], of the first wrong release and of how often a wrong one says WRONG."""
    if n < 1:
        raise ValueError(f"n: found {n}, allowed is 1 or more.")
    counts = np.zeros((n + 1, 2))
    for release, said in runs.items():
        if not 0 <= release < n or min(said) < 0:
            raise ValueError(f"runs[{release}]: found {tuple(said)}, allowed are counts from 0 on, of releases 0 to {n - 1}.")
        counts[release] = said
    prior = np.full(n + 1, (1.0 - NEVER_RIGHT - NEVER_WRONG) / max(n - 1, 1))
    prior[0], prior[n] = NEVER_RIGHT, NEVER_WRONG
    # [n + 1]: the runs of all releases that are wrong if this is the first.
    wrong, right = np.cumsum(counts[::-1], axis=0)[::-1].T
    logs = np.log(prior)[:, None] + np.log(_WEIGHTS) + xlogy(wrong[:, None], _RATES) + xlog1py(right[:, None], -_RATES)
    logs[wrong < wrong[0]] = -np.inf  # a release before it has said WRONG
    joint = np.exp(logs - logs.max())
    return joint / joint.sum()


def _answer(joint: np.ndarray, runs: Mapping[int, Runs], *, unusable: Collection[int], error: float) -> Answer:
    n = len(joint) - 1
    usable = [release for release in range(n) if release not in unusable]
    # No run can tell the releases after one that is usable from each other, up to the next that is.
    ranges = list(zip([0, *(release + 1 for release in usable)], [*usable, n], strict=True))
    likely = [float(joint[low : high + 1].sum()) for low, high in ranges]
    best = int(np.argmax(likely))
    (low, high), probability = ranges[best], likely[best]
    is_decided = bool(usable) and probability >= 1.0 - error
    more = None if is_decided or not usable else _runs_to_know(joint, low, high, error=error)
    return Answer(low, high, probability, is_decided, more)


def _runs_to_know(joint: np.ndarray, low: int, high: int, *, error: float) -> int:
    """Return how many runs more decide for low to high: RIGHT of the release before, and a WRONG of the last if there is none."""
    rate = float(joint.sum(axis=0) @ _RATES)
    until_wrong = math.ceil(1.0 / rate) if joint[high + 1 :].sum() > error / 2.0 else 0
    rest = joint[:low].sum(axis=0) @ _SILENCE
    allowed = error / (1.0 - error) * joint[low : high + 1].sum()
    return max(1, until_wrong + int(np.argmax(rest <= allowed)))


def _information(joint: np.ndarray, release: int) -> np.ndarray:
    """Return what 1 to _MOST_RUNS runs of a release tell of c, in nats: any WRONG, or none."""
    total = joint.sum(axis=1)[:, None]
    is_wrong = np.arange(len(joint))[:, None] <= release
    none = np.where(is_wrong, joint @ _SILENCE[:, 1 : _MOST_RUNS + 1], total)
    some = np.maximum(total - none, 0.0)
    return _uncertainty(total) - _uncertainty(none) - _uncertainty(some)


def _uncertainty(weights: np.ndarray) -> np.ndarray:
    """Return the entropy of each column of weights, times their sum."""
    sums = weights.sum(axis=0)
    return xlogy(sums, sums) - xlogy(weights, weights).sum(axis=0)
