"""Steps: sizes against scipy's tests, and permutations against their rate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from vigil.drift.steps import Scan, arrangements, detectable, make_design, step_at, strata_of


def scan_p(values, seeds, *, floor=0.0, times=999):
    """Return the scan's p-value of a series."""
    scan = Scan(np.asarray(values, dtype=float), make_design(seeds, np.arange(2, len(values) - 1)), floor)
    scan.permute(times)
    return scan.p_value


def test_two_values_a_seed_make_the_paired_test():
    """Five seeds before and after are the paired t-test, number for number."""
    values = np.random.default_rng(0).standard_normal(10)
    step = step_at(values, np.tile(np.arange(5), 2), 5)
    expected = stats.ttest_rel(values[5:], values[:5])
    assert step.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    interval = expected.confidence_interval(0.95)
    assert step.interval(0.95) == pytest.approx((interval.low, interval.high), rel=1e-9)


@pytest.mark.parametrize("after", [1, 4])
def test_seeds_that_are_all_different_make_the_two_sample_test(after):
    """With no seed twice it is the t-test of equal variances, and with one value after the prediction interval."""
    values = np.random.default_rng(1).standard_normal(10)
    step = step_at(values, np.arange(10), 10 - after)
    assert step.p_value == pytest.approx(stats.ttest_ind(values[10 - after :], values[: 10 - after]).pvalue, rel=1e-9)


def test_seeds_on_one_side_only_are_compared_by_their_means():
    """A seed that never crosses the step counts once a side, however often it was run."""
    values, seeds = np.array([1.0, 1.2, 3.0, 3.2, 5.0, 5.2, 7.0, 7.2]), np.repeat(np.arange(4), 2)
    expected = stats.ttest_ind([5.1, 7.1], [1.1, 3.1])
    assert step_at(values, seeds, 4).p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert step_at(values, np.arange(8), 4).p_value < expected.pvalue / 10.0


def test_pairing_removes_what_seeds_share():
    """A step of 0.3 under seeds that differ by 10 is seen in pairs, and not without them."""
    noise = 0.05 * np.random.default_rng(2).standard_normal(8)
    values = np.tile([0.0, 10.0, 20.0, 30.0], 2) + np.repeat([0.0, -0.3], 4) + noise
    assert step_at(values, np.tile(np.arange(4), 2), 4).p_value < 0.01
    assert step_at(values, np.arange(8), 4).p_value > 0.9


def test_a_step_of_too_few_or_equal_values_is_none_unless_there_is_a_floor():
    """Two values judge nothing; equal values have no spread, and a floor gives them one."""
    assert step_at(np.array([1.0, 2.0]), np.arange(2), 1) is None
    assert step_at(np.full(6, 88.1), np.arange(6), 3) is None
    assert step_at(np.full(6, 88.1), np.arange(6), 3, spread_floor=0.2).p_value == pytest.approx(1.0)
    assert step_at(np.repeat([88.1, 88.2], 3), np.arange(6), 3, spread_floor=0.2).p_value > 0.1


def test_the_detectable_step_is_found_nine_times_in_ten():
    """Steps of the size that is told are significant at 1 % in 88 to 92 % of 4,000 trials."""
    generator = np.random.default_rng(3)
    values = generator.standard_normal((4000, 12))
    size = detectable(step_at(values[0], np.arange(12), 8), alpha=0.01) / step_at(values[0], np.arange(12), 8).error
    error = np.sqrt(1 / 8 + 1 / 4)
    values[:, 8:] += size * error
    spread = np.sqrt((7 * values[:, :8].var(axis=1, ddof=1) + 3 * values[:, 8:].var(axis=1, ddof=1)) / 10)
    t = (values[:, 8:].mean(axis=1) - values[:, :8].mean(axis=1)) / (spread * error)
    assert 0.88 < np.mean(2 * stats.t.sf(np.abs(t), 10) < 0.01) < 0.92


@pytest.mark.parametrize("seeds", [np.arange(20), np.arange(20) % 5, np.repeat(np.arange(2), 10)])
def test_permutation_keeps_its_rate_whatever_seeds_share(seeds):
    """With a correlation of 0.5 within a seed, 3 to 7 % of 600 clean series are significant at 5 %, in turn or in blocks."""
    generator = np.random.default_rng(4)
    effects = generator.standard_normal((600, seeds.max() + 1))
    values = np.sqrt(0.5) * effects[:, seeds] + np.sqrt(0.5) * generator.standard_normal((600, 20))
    rate = np.mean([scan_p(row, seeds, times=199) <= 0.05 for row in values])
    assert 0.03 < rate < 0.07


def test_permuting_across_seeds_would_raise_false_alarms():
    """Seeds in blocks, taken for independent values, alarm several times as often: the check above can fail."""
    generator, seeds = np.random.default_rng(4), np.repeat(np.arange(2), 10)
    values = np.sqrt(0.5) * generator.standard_normal((200, 2))[:, seeds] + np.sqrt(0.5) * generator.standard_normal((200, 20))
    assert np.mean([scan_p(row, np.arange(20), times=199) <= 0.05 for row in values]) > 0.2


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_rise_is_a_step_as_a_drop_is(sign):
    """Both sides are watched: a mirrored series has the same p-value."""
    values = np.random.default_rng(5).standard_normal(20)
    values[11:] -= 3.0
    assert scan_p(sign * values, np.arange(20) % 5) == scan_p(values, np.arange(20) % 5) < 0.01


def test_a_step_below_the_floor_is_no_step():
    """Values that jump by less than the measurement can tell are no finding, however regular they are."""
    values = np.repeat([88.50, 88.53], 10) + 1e-4 * np.arange(20)
    assert scan_p(values, np.arange(20)) == 0.001
    assert scan_p(values, np.arange(20), floor=0.25) > 0.5


def test_p_values_are_the_same_every_time():
    """The permutations come from a seed of their own."""
    values = np.random.default_rng(6).standard_normal(16)
    assert scan_p(values, np.arange(16) % 3) == scan_p(values, np.arange(16) % 3)


def test_seeds_run_once_are_compared_with_each_other():
    """Seeds with one value share a stratum; others have one each; few orders of few values are few."""
    assert strata_of([7, 3, 3, 9, 8]).tolist() == [0, 1, 1, 0, 0]
    assert arrangements(np.array([7, 3, 3, 9, 8])) == pytest.approx(np.log(12.0))
