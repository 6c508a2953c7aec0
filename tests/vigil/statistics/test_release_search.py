"""The search for the release that brought a failure: its posterior by hand, what it asks next, and how often it is wrong."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from benchmarks import release_search as benchmark
from benchmarks.release_search import CULPRIT, RIGHT, WRONG, Bench, Case, History, bisect, mean_cost, search
from vigil.statistics import release_search
from vigil.statistics.release_search import Probe, Runs, answer, belief, next_probes

ENDS = {0: Runs(0, 10), 39: Runs(10, 0)}


def by_hand(n, runs):
    """Return the posterior of the first wrong release, release by release and rate by rate."""
    prior = [release_search.NEVER_RIGHT, *[0.55 / (n - 1)] * (n - 1), release_search.NEVER_WRONG]
    weights = []
    for first in range(n + 1):
        total = 0.0
        for rate, weight in zip(release_search._RATES, release_search._WEIGHTS, strict=True):
            likelihood = 1.0
            for release, (wrong, right) in runs.items():
                likelihood *= rate**wrong * (1.0 - rate) ** right if release >= first else float(wrong == 0)
            total += prior[first] * weight * likelihood
        weights.append(total)
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize(
    "runs", [{}, {3: Runs(1, 0)}, {0: Runs(0, 4), 2: Runs(0, 1), 4: Runs(2, 3)}, {1: Runs(0, 9), 4: Runs(5, 0)}]
)
def test_the_posterior_is_that_of_bayes(runs):
    """Against loops over releases and rates."""
    assert belief(5, runs).first == pytest.approx(by_hand(5, runs))


def test_a_posterior_that_takes_a_right_for_a_proof_is_caught(monkeypatch):
    """Planted: every failure is one of each run."""
    runs = {0: Runs(0, 4), 2: Runs(0, 1), 4: Runs(2, 0)}
    expected = by_hand(5, runs)
    monkeypatch.setattr(release_search, "_WEIGHTS", np.append(np.full(38, 1e-12), 1.0))
    assert belief(5, runs).first != pytest.approx(expected)


def test_a_wrong_proves_and_a_right_does_not():
    """No release after one that said WRONG is the first; every release before one that said RIGHT still may be."""
    first = belief(8, {3: Runs(1, 0), 6: Runs(0, 5), 1: Runs(0, 5)}).first
    assert (first[4:] == 0.0).all()
    assert (first[:4] > 0.0).all()


def test_the_rate_is_learnt_from_wrong_releases():
    """Ten of ten, one of ten, and half and half."""
    rates = [belief(40, {39: runs}).rate for runs in (Runs(20, 0), Runs(50, 50), Runs(2, 18))]
    assert rates == pytest.approx([1.0, 0.5, 0.1], abs=0.03)


def test_both_ends_are_looked_at_first_and_an_alarm_counts():
    """As many runs as cost what an environment does; an end that was run already is not run again."""
    assert next_probes(40, {}, side_by_side=2) == [Probe(39, 10), Probe(0, 10)]
    assert next_probes(40, {}) == [Probe(39, 10)]
    assert next_probes(40, {39: Runs(5, 0)}, side_by_side=2) == [Probe(0, 10)]
    assert next_probes(40, {}, side_by_side=2, unusable=[0, 38, 39]) == [Probe(37, 10), Probe(1, 10)]
    assert next_probes(40, {}, environment_cost=30.0, run_cost=60.0) == [Probe(39, 1)]


@pytest.mark.parametrize("side_by_side", [1, 2, 3])
def test_a_failure_that_is_no_race_is_cut_with_one_run_each(side_by_side):
    """Releases in equal parts, log(40) to the base k + 1 rounds after the ends, and one or two more that confirm."""
    first, runs, rounds = 23, dict(ENDS), 0
    while probes := next_probes(40, runs, side_by_side=side_by_side):
        rounds += 1
        assert all(probe.runs == 1 for probe in probes) or rounds > np.log(40) / np.log(side_by_side + 1)
        for release, many in probes:
            before = runs.get(release, Runs(0, 0))
            runs[release] = Runs(before.wrong + many * (release >= first), before.right + many * (release < first))
    assert answer(40, runs)[:2] == (first, first)
    assert rounds <= np.ceil(np.log(40) / np.log(side_by_side + 1)) + 2


def test_a_race_gets_more_runs_for_its_environment():
    """The rarer it is, the more runs a release that is new gets."""
    many = [next_probes(40, {0: Runs(0, 30), 39: runs})[0].runs for runs in (Runs(30, 0), Runs(15, 15), Runs(3, 27))]
    assert many[0] == 1
    assert many[0] < many[1] < many[2]


def test_dear_environments_get_more_runs():
    """Where runs cost next to nothing, they are many."""
    runs = {0: Runs(0, 30), 39: Runs(10, 10)}
    assert next_probes(40, runs, run_cost=0.1)[0].runs > next_probes(40, runs, run_cost=30.0)[0].runs


def test_what_was_wrong_once_and_what_cannot_be_used_is_not_asked():
    """Nor is a release asked twice in a round."""
    runs = {**ENDS, 20: Runs(1, 1)}
    probes = next_probes(40, runs, unusable=range(5, 15), side_by_side=8)
    asked = [probe.release for probe in probes]
    assert len(set(asked)) == 8
    assert not {20, 39, *range(5, 15)} & set(asked)
    assert max(asked) < 20


def test_unusable_releases_widen_the_answer():
    """Between the last that is right and the first that is wrong, no run can tell; their runs do not count."""
    runs = {**ENDS, 20: Runs(0, 3), 24: Runs(1, 0), 22: Runs(0, 1)}
    found = answer(40, runs, unusable=[21, 22, 23])
    assert (found.low, found.high, found.is_decided) == (21, 24, True)
    assert next_probes(40, runs, unusable=[21, 22, 23]) == []
    assert answer(40, runs, unusable=[21, 23])[:2] == (23, 24)


def test_a_failure_without_a_culprit_has_none():
    """Wrong in the first release: 0. Right in all, often enough: n. Right a few times only: it may be luck."""
    assert answer(40, {0: Runs(1, 0)})[:2] == (0, 0)
    assert next_probes(40, {0: Runs(1, 0)}) == []
    assert answer(40, {39: Runs(0, 200), 0: Runs(0, 10)})[:2] == (40, 40)
    assert not answer(40, {39: Runs(0, 10), 0: Runs(0, 10)}).is_decided


@pytest.mark.parametrize("n", [1, 2])
def test_few_releases(n):
    """One release: wrong or right. Two: the second may be the culprit."""
    assert answer(n, {0: Runs(1, 0)})[:2] == (0, 0)
    last = {n - 1: Runs(0, 500)}
    assert answer(n, {0: Runs(0, 10), **last})[:2] == (n, n)
    if n == 2:
        assert answer(n, {0: Runs(0, 10), 1: Runs(10, 0)})[:2] == (1, 1)


def test_where_nothing_can_be_used_nothing_is_asked_or_said():
    """The range is all there is, and that is no decision."""
    found = answer(3, {}, unusable=range(3))
    assert (found.low, found.high, found.is_decided, found.runs_to_know) == (0, 3, False, None)
    assert next_probes(3, {}, unusable=range(3)) == []


def test_runs_that_contradict_each_other_make_a_failure_rare():
    """WRONG in an early release, RIGHT in all later ones: the WRONG stands, the rate is small, more runs are asked for."""
    runs = {0: Runs(0, 10), 3: Runs(2, 0), 20: Runs(0, 60), 39: Runs(0, 60)}
    known = belief(40, runs)
    assert known.first[:4].sum() == pytest.approx(1.0)
    assert known.rate < 0.05
    found = answer(40, runs)
    assert not found.is_decided
    assert found.runs_to_know > 20
    assert next_probes(40, runs)[0].release < 3


def test_the_runs_to_know_decide():
    """So many RIGHT of the release before decide, and half as many do not."""
    runs = {0: Runs(0, 10), 19: Runs(0, 10), 20: Runs(3, 7), 39: Runs(3, 7)}
    found = answer(40, runs)
    assert (found.low, found.high, found.is_decided) == (20, 20, False)
    assert answer(40, {**runs, 19: Runs(0, 10 + found.runs_to_know)}).is_decided
    assert not answer(40, {**runs, 19: Runs(0, 10 + found.runs_to_know // 2)}).is_decided


def test_a_stricter_error_asks_for_more():
    """What is decided at 5 % is not at 1 in 100,000."""
    runs = {0: Runs(0, 10), 19: Runs(0, 12), 20: Runs(15, 15), 39: Runs(5, 5)}
    assert answer(40, runs, error=0.05).is_decided
    assert not answer(40, runs, error=1e-5).is_decided
    assert next_probes(40, runs, error=0.05) == []
    assert next_probes(40, runs, error=1e-5)[0].release == 19


@pytest.mark.parametrize(("n", "runs"), [(0, {}), (3, {3: Runs(0, 1)}), (3, {-1: Runs(0, 1)}), (3, {0: Runs(0, -1)})])
def test_what_is_no_release_and_no_count_is_refused(n, runs):
    """An error that says what was found."""
    with pytest.raises(ValueError, match="found"):
        belief(n, runs)


@pytest.mark.parametrize("case", [Case(CULPRIT, 1.0, 0.1), Case(CULPRIT, 0.2, 0.1), Case(WRONG, 0.1, 0.0), Case(RIGHT, 1.0, 0.3)])
def test_at_most_one_in_a_hundred_is_false(case):
    """150 histories of each kind: the true rate is below 1 %, so that 5 and more would be seen once in a thousand times."""
    found = mean_cost(np.random.default_rng(11), case, 150, search)
    assert found[0] * 150 < 5
    assert found[1] == 0.0


def test_a_search_that_believes_every_right_is_caught(monkeypatch):
    """Planted: nearly all failures are taken to be no race. The simulation shows it as it shows bisection."""
    weights = np.append(np.full(38, 1e-9), 1.0)
    monkeypatch.setattr(release_search, "_WEIGHTS", weights / weights.sum())
    case = Case(CULPRIT, 0.2, 0.1)
    assert mean_cost(np.random.default_rng(11), case, 60, search)[0] > 0.03
    assert mean_cost(np.random.default_rng(11), case, 60, lambda bench: bisect(bench, many=10))[0] > 0.1


def test_bisection_finds_what_is_no_race():
    """Every culprit, also between releases that cannot be used, and both kinds that have none."""
    generator = np.random.default_rng(0)
    for first in range(benchmark.N + 1):
        history = History(first, 1.0, frozenset({0, 7, 8, 20}))
        assert not bisect(Bench(generator, history), many=1).is_false


def test_the_examples_hold():
    """Those of the docstrings."""
    assert doctest.testmod(release_search) == (0, 5)
