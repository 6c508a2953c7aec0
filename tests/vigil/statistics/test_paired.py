"""Two sides of runs: paired, pooled or by Welch, against independent implementations, simulation and planted defects."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from vigil.statistics.finite import BandUndefined
from vigil.statistics.paired import compare_releases, found_with, one_side, paired, pooled, prefers_pairs

OLD = {0: 80.1, 1: 79.4, 2: 80.9, 3: 80.3, 4: 79.8, 5: 81.0}
NEW = {0: 79.9, 1: 79.0, 2: 80.8, 3: 79.7, 4: 79.7, 5: 80.5}


def test_a_paired_test_agrees_with_scipy():
    """Statistic, p value and interval are those of an independent implementation."""
    ours = paired(NEW, OLD, coverage=0.95)
    theirs = stats.ttest_rel(list(NEW.values()), list(OLD.values()))
    interval = theirs.confidence_interval(0.95)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high))
    assert (ours.n_pairs, ours.degrees_of_freedom) == (6, 5.0)
    assert ours.correlation == pytest.approx(stats.pearsonr(list(NEW.values()), list(OLD.values())).statistic)


def test_a_pooled_test_agrees_with_scipy():
    """Statistic, p value and interval are Student's."""
    new = {seed: NEW[seed] for seed in (0, 1, 2)}
    ours, theirs = pooled(new, OLD), stats.ttest_ind(list(new.values()), list(OLD.values()))
    interval = theirs.confidence_interval(0.99)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high))


def test_seeds_are_matched_by_seed_and_not_by_place():
    """The order in which seeds come changes nothing; values that change seeds change the result."""
    backwards = dict(reversed(NEW.items()))
    assert paired(backwards, OLD) == paired(NEW, OLD)
    shuffled = dict(zip(NEW, [NEW[seed] for seed in (3, 5, 0, 1, 2, 4)], strict=True))
    assert paired(shuffled, OLD).p_value > 5.0 * paired(NEW, OLD).p_value


def test_pairs_find_what_two_sides_hide():
    """A small shift that every seed shows is found; a test that ignores the seeds does not see it."""
    assert compare_releases(NEW, OLD, coverage=0.95).decision == "lower"
    assert compare_releases(OLD, NEW, coverage=0.95).decision == "higher"
    assert pooled(NEW, OLD, coverage=0.95).p_value > 0.3


def test_seeds_without_a_partner_leave_a_paired_test():
    """A seed that one side alone has changes neither difference nor number of pairs."""
    with_one_more = {**OLD, 77: 20.0}
    assert paired(NEW, with_one_more) == paired(NEW, OLD)


@pytest.mark.parametrize("sides", [(0.05, 0.1, 0.06), (0.05, 0.05, 0.05)])
def test_few_differences_that_agree_by_chance_are_not_certain(sides):
    """The floor keeps three differences of a test image or two from being significant."""
    new = {seed: OLD[seed] - difference for seed, difference in enumerate(sides)}
    old = {seed: OLD[seed] for seed in range(3)}
    assert paired(new, old, spread_floor=0.3).p_value > 0.5


@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("floor", [0.0, 0.5])
def test_identical_values_are_said_to_be_identical(n, floor):
    """Equal at every seed: no difference, p = 1, no division by zero, with a floor and without."""
    old = {seed: 80.0 + seed / 10 for seed in range(n)}
    found = compare_releases(dict(old), old, spread_floor=floor)
    assert (found.decision, found.difference, found.p_value, found.method) == ("identical", 0.0, 1.0, "paired")
    assert found.low <= 0.0 <= found.high
    assert math.isfinite(found.detectable)


def test_one_value_that_differs_is_not_identical():
    """Nine of ten seeds equal is no difference seen, but not the same."""
    old = {seed: 80.0 + seed / 10 for seed in range(10)}
    assert compare_releases({**old, 3: 80.35}, old).decision == "no difference seen"


def test_a_seed_that_one_side_alone_has_is_not_identical():
    """Equal pairs do not speak for a run without a partner."""
    old = {seed: 80.0 + seed / 10 for seed in range(5)}
    assert compare_releases({**old, 9: 60.0}, old).decision != "identical"


def test_one_equal_run_is_too_few_to_be_identical():
    """A coarse metric repeats by luck."""
    found = compare_releases({0: 80.0}, {0: 80.0})
    assert (found.decision, found.p_value, found.low, found.detectable) == ("too few", None, None, None)
    assert found.difference == 0.0


@pytest.mark.parametrize(
    ("n_new", "n_old", "decision"),
    [(1, 1, "too few"), (1, 2, "too few"), (1, 3, "no difference seen"), (2, 2, "no difference seen")],
)
def test_too_few_is_fewer_than_two_degrees_of_freedom(n_new, n_old, decision):
    """One run beside three can be judged, one beside two cannot."""
    found = compare_releases({seed: NEW[seed] for seed in range(n_new)}, {seed: OLD[seed] for seed in range(n_old)})
    assert found.decision == decision


@pytest.mark.parametrize("new", [[80.1, 80.1, 80.1], [80.1] * 5, [80.1] * 9])
def test_no_spread_and_no_floor_is_no_certainty(new):
    """Constant sides that differ by a rounded amount are not infinitely far apart: nothing is decided."""
    old = [80.3] * len(new)
    found = compare_releases(dict(enumerate(new)), dict(enumerate(old)))
    assert (found.decision, found.p_value) == ("too few", None)
    assert compare_releases(dict(enumerate(new)), dict(enumerate(old)), spread_floor=0.01).p_value is not None


def test_differences_that_are_equal_but_for_rounding_have_no_spread():
    """80.1 - 80.0 and 81.1 - 81.0 differ in the last bit alone."""
    old = {seed: 80.0 + seed for seed in range(6)}
    with pytest.raises(BandUndefined, match="all 6 differences"):
        paired({seed: value + 0.1 for seed, value in old.items()}, old)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_an_error(wrong):
    """NaN on either side is never a decision."""
    for new, old in (({**NEW, 2: wrong}, OLD), (NEW, {**OLD, 2: wrong})):
        with pytest.raises(BandUndefined, match="finite"):
            compare_releases(new, old)
    with pytest.raises(BandUndefined):
        compare_releases({}, OLD)


def test_the_counts_choose_the_method():
    """Pairs from six on where every seed has one; without partners, Student's test below eight runs and Welch's from there."""
    assert [n for n in range(2, 9) if prefers_pairs(n_new=n, n_old=n, n_pairs=n)] == [6, 7, 8]
    assert not prefers_pairs(n_new=30, n_old=30, n_pairs=6)
    assert not prefers_pairs(n_new=6, n_old=30, n_pairs=6)
    other = {seed + 100: value for seed, value in OLD.items()}
    assert compare_releases(NEW, OLD).method == "paired"
    assert compare_releases(NEW, other).method == "pooled"
    assert compare_releases({s: 80 + s / 9 for s in range(8)}, {s + 50: 80 - s / 9 for s in range(9)}).method == "welch"


def _rejected(n: int, *, correlation: float, shift: float = 0.0, shuffled: bool = False, trials: int = 2000) -> float:
    generator = np.random.default_rng(3)
    shared = generator.standard_normal((trials, n))
    own = generator.standard_normal((2, trials, n))
    new, old = math.sqrt(correlation) * shared + math.sqrt(1.0 - correlation) * own
    if shuffled:
        new = np.roll(new, 1, axis=1)
    found = [
        compare_releases(dict(enumerate(a)), dict(enumerate(b)), coverage=0.95).decision
        for a, b in zip(new + shift, old, strict=True)
    ]
    return float(np.mean([each not in ("no difference seen", "identical") for each in found]))


@pytest.mark.parametrize(("n", "correlation"), [(3, 0.0), (6, 0.0), (6, 0.7), (8, 0.5)])
def test_false_alarms_are_at_most_nominal(n, correlation):
    """At a nominal 5 %: 3.5 to 6.2 % of 2,000 trials, where two sides are judged as pairs or do not correlate."""
    assert 0.035 < _rejected(n, correlation=correlation) < 0.062


def test_pairs_that_are_shuffled_lose_their_power():
    """With the seeds mixed up a shift that is found eight times in ten is found half as often."""
    right = _rejected(8, correlation=0.8, shift=0.8, trials=400)
    wrong = _rejected(8, correlation=0.8, shift=0.8, trials=400, shuffled=True)
    assert right > 0.8
    assert wrong < 0.6 * right


def test_the_detectable_difference_is_found_nine_times_in_ten():
    """Computed from each trial's own spread: found in 88 to 92 % of 1,000 trials."""
    generator = np.random.default_rng(4)
    new, old = generator.standard_normal((2, 1000, 7)) + generator.standard_normal((1, 1000, 7))
    hits = []
    for a, b in zip(new, old, strict=True):
        reach = compare_releases(dict(enumerate(a)), dict(enumerate(b))).detectable
        hits.append(compare_releases(dict(enumerate(a + reach)), dict(enumerate(b))).decision == "higher")
    assert 0.88 < np.mean(hits) < 0.92


@pytest.mark.parametrize("freedom", [1, 2])
def test_what_is_found_at_an_extreme_coverage_is_known_at_once(freedom):
    """Where scipy's inverse would search for ever, the limit stands in its place, and meets it where it takes over."""
    near = 1.0 - 2.0 * stats.t.sf(499.0, freedom), 1.0 - 2.0 * stats.t.sf(501.0, freedom)
    below, above = (found_with(1.0, freedom=freedom, coverage=coverage) for coverage in near)
    assert above / below == pytest.approx(501.0 / 499.0, rel=1e-4)
    assert math.isfinite(found_with(1.0, freedom=freedom, coverage=1.0 - 1e-12))


@pytest.mark.parametrize(("n", "n_failed"), [(3, 1), (6, 1), (6, 2), (6, 4), (8, 3), (12, 5)])
@pytest.mark.parametrize("side", ["new", "old"])
def test_runs_that_fail_do_not_hide_in_the_spread_they_make(n, n_failed, side):
    """One of six seeds at chance level has t = 1, four have 3.2: the release that is steady says that they do not belong."""
    steady = {seed: 90.0 + (seed * 7 % n) / 10 for seed in range(n)}
    failing = {seed: 10.0 if seed < n_failed else value + 0.1 for seed, value in steady.items()}
    new, old = (failing, steady) if side == "new" else (steady, failing)
    found = compare_releases(new, old, spread_floor=0.15)
    assert (found.decision, found.method) == ("lower" if side == "new" else "higher", "one side's spread")
    assert found.p_value < 0.01
    assert found.low < found.difference < found.high
    assert found.low * found.high > 0.0
    chosen = (paired if n >= 6 else pooled)(new, old, spread_floor=0.15)
    assert chosen.p_value > 0.01
    assert found.detectable > 40.0


def test_runs_that_fail_under_both_releases_are_no_difference():
    """A seed that ends at chance level whatever the release says nothing of either."""
    old = {**OLD, 3: 10.0}
    assert compare_releases({**NEW, 3: 10.0}, old, spread_floor=0.15).decision == "no difference seen"


def test_equal_values_of_one_side_are_no_spread_of_zero():
    """Without a floor, a coarse metric that repeats on one side alone does not make any difference certain."""
    found = compare_releases({0: 3.0, 1: 4.0, 2: 5.0, 3: 3.5}, {10: 4.0, 11: 4.0, 12: 4.0})
    assert (found.decision, found.method) == ("no difference seen", "pooled")


def test_one_sides_spread_adds_a_fiftieth_of_the_false_alarms():
    """At a nominal 50 %, where it can be counted: two tests at 0.5 % each, which mostly do not alarm together."""
    new, old = np.random.default_rng(6).standard_normal((2, 40_000, 5))
    sides = {"spread_new": new.std(axis=1, ddof=1), "n_new": 5, "spread_old": old.std(axis=1, ddof=1), "n_old": 5}
    tests = one_side(new.mean(axis=1) - old.mean(axis=1), **sides, coverage=0.5)
    assert 0.0075 < np.mean(np.min([test.p_value for test in tests], axis=0) < 0.5) < 0.0105
    for test in tests:
        assert np.array_equal(test.p_value < 0.5, test.low * test.high > 0.0)
