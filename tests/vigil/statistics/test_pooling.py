"""A reference of several frameworks: centre, spread and degrees of freedom, against closed forms and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from vigil.statistics.bands import compare, decision_p_value, is_outside, prediction_band
from vigil.statistics.finite import BandUndefined
from vigil.statistics.pooling import effective_size, frameworks_differ, pool, spread_within_seeds

SEEDS, FRAMEWORKS = 8, 3
GROUPS = [seed for seed in range(SEEDS) for _ in range(FRAMEWORKS)]
NAMES = [name for _ in range(SEEDS) for name in ("jax", "tensorflow", "torch")]


def table(*, trials=1, likeness=0.4, framework_spread=0.0, seed=0) -> np.ndarray:
    """Return [trial, row] of mu + framework + seed + rest: unit variance within frameworks, of which `likeness` is the seed's."""
    generator = np.random.default_rng(seed)
    of_framework = framework_spread * generator.standard_normal((trials, 1, FRAMEWORKS))
    of_seed = math.sqrt(likeness) * generator.standard_normal((trials, SEEDS, 1))
    rest = math.sqrt(1.0 - likeness) * generator.standard_normal((trials, SEEDS, FRAMEWORKS))
    return (of_framework + of_seed + rest).reshape(trials, -1)


def labels(framework: str | None = "jax") -> dict:
    return {"seeds": GROUPS, "frameworks": NAMES, "framework": framework}


def test_the_centre_is_the_own_frameworks_and_the_spread_is_everybodys():
    """Eight rows give the mean; the pooled variance within three frameworks gives the spread."""
    rows = table()[0]
    by_framework = rows.reshape(SEEDS, FRAMEWORKS)
    found = pool(rows, **labels("torch"))
    assert found.mean == pytest.approx(by_framework[:, 2].mean())
    assert found.n_effective == pytest.approx(8.0)
    assert found.spread == pytest.approx(math.sqrt(by_framework.var(axis=0, ddof=1).mean()))


def test_what_a_framework_has_for_good_changes_no_width():
    """Five points added to one framework's rows move its centre and nothing else."""
    rows = table()[0]
    moved = rows + 5.0 * np.array([name == "torch" for name in NAMES])
    before, after = pool(rows, **labels("torch")), pool(moved, **labels("torch"))
    assert after.mean - before.mean == pytest.approx(5.0)
    assert (after.spread, after.degrees_of_freedom) == pytest.approx((before.spread, before.degrees_of_freedom))
    assert pool(moved, **labels("jax")).mean == pytest.approx(pool(rows, **labels("jax")).mean)


@pytest.mark.parametrize(("likeness", "low", "high"), [(0.0, 15.0, 21.0), (1.0, 6.99, 7.01)])
def test_degrees_of_freedom_fall_from_all_rows_to_seeds(likeness, low, high):
    """Independent rows have nearly 3 x 7 degrees of freedom; copies of a seed 7, however many."""
    freedom = pool(table(trials=500, likeness=likeness), **labels()).degrees_of_freedom
    assert low < freedom.mean() < high
    assert freedom.max() <= 21.0 + 1e-9


def test_the_degrees_of_freedom_are_satterthwaites_of_the_two_way_table():
    """For a balanced table, (MSS + 2 MSE)^2 / (MSS^2 / 7 + 4 MSE^2 / 14) at the likeness that is used."""
    rows = table(likeness=0.6, seed=3)[0]
    freedom = pool(rows, **labels()).degrees_of_freedom
    by_framework = rows.reshape(SEEDS, FRAMEWORKS)
    rest = by_framework - by_framework.mean(axis=0)
    seeds = FRAMEWORKS * (rest.mean(axis=1) ** 2).sum() / 7
    error = ((rest - rest.mean(axis=1, keepdims=True)) ** 2).sum() / 14
    r = (seeds - error) / (seeds + 2 * error)
    r += (1 - r**2) / (2 * math.sqrt(SEEDS))
    s, e = 1 + 2 * r, 1 - r
    assert freedom == pytest.approx((s + 2 * e) ** 2 / (s**2 / 7 + 4 * e**2 / 14))


def test_one_framework_alone_is_the_textbook_case():
    """Rows of one framework, a seed each: mean, deviation, n and n - 1."""
    rows = table()[0][:8]
    found = pool(rows, seeds=range(8), frameworks=["jax"] * 8, framework="jax")
    assert (found.mean, found.spread) == pytest.approx((rows.mean(), rows.std(ddof=1)))
    assert (found.n_effective, found.degrees_of_freedom) == pytest.approx((8.0, 7.0))


def test_a_framework_without_rows_is_judged_around_all_of_them():
    """Then the effective size is that of all rows, as where no framework is named."""
    rows = table()[0]
    for found in (pool(rows, **labels("mxnet")), pool(rows, seeds=GROUPS)):
        assert found.mean == pytest.approx(rows.mean())
        assert found.n_effective == pytest.approx(effective_size(rows, groups=GROUPS))


def test_repeats_of_a_seed_in_the_own_framework_are_no_new_rows():
    """Two releases that give the same values double the rows, and neither n nor the degrees of freedom."""
    rows = table()[0]
    twice, seeds, names = np.concatenate([rows, rows]), [*GROUPS, *GROUPS], [*NAMES, *NAMES]
    once, doubled = pool(rows, **labels()), pool(twice, seeds=seeds, frameworks=names, framework="jax")
    assert doubled.n_effective < 1.35 * once.n_effective
    assert doubled.degrees_of_freedom < 1.2 * once.degrees_of_freedom


def test_rows_that_tell_no_spread_are_undefined():
    """One seed only, or each framework once, has no band."""
    with pytest.raises(BandUndefined, match="one group"):
        pool([1.0, 2.0, 3.0], seeds=[7, 7, 7], frameworks=["a", "b", "a"], framework="a")
    with pytest.raises(BandUndefined, match="cannot be seen"):
        pool([1.0, 2.0, 3.0], seeds=[1, 2, 3], frameworks=["a", "b", "c"], framework="a")
    with pytest.raises(ValueError, match="frameworks: found 2 labels"):
        pool([1.0, 2.0, 3.0], seeds=[1, 2, 3], frameworks=["a", "b"], framework="a")


def flagged(rows, *, n_new, framework_spread, seed=9, wrong=None) -> float:
    """Return the share of trials in which clean runs of the first framework are outside."""
    trials = len(rows)
    of_framework = np.random.default_rng(0).standard_normal((trials, 1, FRAMEWORKS))[:, 0, 0] * framework_spread
    new = np.random.default_rng(seed).standard_normal((trials, n_new))
    found = pool(rows, **labels()) if wrong != "all frameworks' mean" else pool(rows, seeds=GROUPS)
    freedom = found.degrees_of_freedom * (8.0 if wrong == "freedom" else 1.0)
    return float(
        np.mean(
            is_outside(
                new.mean(axis=1) + of_framework - found.mean,
                spread_new=new.std(axis=1, ddof=1) if n_new > 1 else 0.0,
                n_new=n_new,
                spread_reference=found.spread,
                n_reference=found.n_effective,
                freedom=freedom,
                coverage=0.99,
            )
        )
    )


@pytest.mark.parametrize("framework_spread", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("n_new", "likeness"), [(1, 0.0), (3, 0.4), (3, 0.9)])
def test_false_alarms_are_nominal_whatever_frameworks_differ_by(framework_spread, n_new, likeness):
    """Clean runs are outside in 0.7 to 1.3 % of 20,000 trials, whether frameworks are the same or two deviations apart."""
    rows = table(trials=20_000, likeness=likeness, framework_spread=framework_spread)
    assert 0.007 < flagged(rows, n_new=n_new, framework_spread=framework_spread) < 0.013


def test_the_mean_of_all_frameworks_would_alarm_ten_times_too_often():
    """With frameworks one deviation apart, ten runs around the common mean are outside in over 8 %: so it can fail."""
    rows = table(trials=20_000, framework_spread=1.0)
    assert flagged(rows, n_new=10, framework_spread=1.0, wrong="all frameworks' mean") > 0.08
    assert flagged(rows, n_new=10, framework_spread=1.0) < 0.014


def test_too_many_degrees_of_freedom_would_be_noticed():
    """Eight times as many, as if rows were never alike, alarm at over 2 % where seeds decide all."""
    rows = table(trials=20_000, likeness=1.0)
    assert flagged(rows, n_new=1, framework_spread=0.0, wrong="freedom") > 0.02


def test_the_p_value_is_of_the_rule_that_decides():
    """It is below 1 % exactly where the side is not inside, for few runs and for many."""
    generator = np.random.default_rng(2)
    seen = set()
    for trial in range(300):
        rows = table(seed=trial)[0]
        for n_new in (1, 3, 9):
            new = list(generator.standard_normal(n_new) - 3.0 / math.sqrt(n_new))
            found = compare(new, list(rows), groups=GROUPS, frameworks=NAMES, framework="jax")
            assert (found.p_value < 0.01) == (found.side != "inside")
            if n_new < 8:
                assert (found.side == "inside") == found.mean_band.contains(float(np.mean(new)))
            seen.add((n_new, found.side))
    assert len(seen) >= 6


def test_the_p_value_of_one_run_is_two_sided_students():
    """Not half of it: a one-sided test would be wrong twice as often."""
    band = prediction_band([80.0, 81.0, 79.5, 80.4, 80.1], spread_floor=0.0)
    statistic = 1.5 / (band.spread * math.sqrt(1.2))
    p_value = decision_p_value(-1.5, spread_new=0.0, n_new=1, spread_reference=band.spread, n_reference=5)
    assert p_value == pytest.approx(2.0 * stats.t.sf(statistic, 4))


@pytest.mark.parametrize(("difference", "p_value"), [(0.0, 1.0), (0.1, 0.0)])
def test_without_any_spread_only_no_difference_is_none(difference, p_value):
    """Nothing is divided by zero."""
    assert decision_p_value(difference, spread_new=0.0, n_new=1, spread_reference=0.0, n_reference=5) == p_value


def test_frameworks_that_differ_are_found_and_others_are_not():
    """The F test of the two-way table, and 5 % of clean tables below 5 %."""
    rows = table(trials=400)
    p_values = [frameworks_differ(each, seeds=GROUPS, frameworks=NAMES) for each in rows]
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.085
    moved = rows[0] + 2.0 * np.array([name == "torch" for name in NAMES])
    assert frameworks_differ(moved, seeds=GROUPS, frameworks=NAMES) < 0.001


def test_the_framework_test_is_the_two_way_analysis_of_variance():
    """Balanced, it is (8 sum (mean - mean)^2 / 2) / MSE with 2 and 14 degrees of freedom."""
    rows = table(seed=5)[0]
    cells = rows.reshape(SEEDS, FRAMEWORKS)
    error = (cells - cells.mean(axis=0) - cells.mean(axis=1, keepdims=True) + cells.mean()).ravel()
    statistic = 8 * cells.mean(axis=0).var(ddof=1) / ((error**2).sum() / 14)
    assert frameworks_differ(rows, seeds=GROUPS, frameworks=NAMES) == pytest.approx(special.fdtrc(2, 14, statistic))
    assert spread_within_seeds(rows, seeds=GROUPS, frameworks=NAMES) == pytest.approx(math.sqrt((error**2).sum() / 14))


def test_what_cannot_be_told_of_frameworks_is_none():
    """One framework, rows without residual, and seeds that no two frameworks share."""
    assert frameworks_differ([1.0, 2.0, 3.0], seeds=[1, 2, 3], frameworks=["a"] * 3) is None
    assert frameworks_differ([0.1, 0.1, 0.2, 0.2], seeds=[1, 1, 2, 2], frameworks=["a", "b"] * 2) is None
    assert spread_within_seeds([1.0, 2.0, 3.0], seeds=[1, 2, 3], frameworks=["a"] * 3) is None
