"""Published values beside a verdict: which are judged, and how far off they may be."""

from __future__ import annotations

import math

import pytest

from tests.vigil.judged import TARGET, run_judge


def test_a_target_is_judged_only_under_its_own_profile():
    """Under another profile the published value is shown beside, with no word on whether it is met."""
    (judged,) = run_judge([(100, 80.4)], targets=[TARGET]).targets
    assert (judged.judged, judged.meets, judged.value) == (True, True, 80.5)
    (beside,) = run_judge([(100, 80.4)], targets=[{**TARGET, "profile": "paper"}]).targets
    assert (beside.judged, beside.meets) == (False, None)
    assert "paper" in beside.reason


def test_the_tolerance_of_a_target_allows_for_both_sides_noise():
    """Two own runs 0.8 apart: 63.657 * sd * sqrt(1 + 1/2), from a printed table of t with one degree of freedom."""
    (target,) = run_judge([(100, 80.0), (101, 80.8)], rows=[], n_test=100_000, targets=[TARGET]).targets
    assert target.tolerance == pytest.approx(63.657 * 0.8 / math.sqrt(2.0) * math.sqrt(1.5), rel=1e-4)


def test_the_tolerance_of_a_target_allows_for_its_own_small_test():
    """What a published value was measured on varies, too, and the reason says so; where that is nearly all, t is the normal's."""

    def tolerance_of(error):
        published = {**TARGET, "standard_error": error}
        (target,) = run_judge([(100, 80.0), (101, 80.8)], rows=[], n_test=100_000, targets=[published]).targets
        return target

    assert tolerance_of(1e-6).tolerance == pytest.approx(63.657 * 0.8 / math.sqrt(2.0) * math.sqrt(1.5), rel=1e-4)
    # As large as the seeds': four degrees of freedom, of which a printed table has 4.604.
    of_seeds = 0.8 / math.sqrt(2.0) * math.sqrt(1.5)
    assert tolerance_of(of_seeds).tolerance == pytest.approx(4.604 * math.sqrt(2.0) * of_seeds, rel=1e-4)
    assert tolerance_of(50.0).tolerance == pytest.approx(2.5758 * 50.0, rel=1e-3)
    assert "and 50.00 points of the published test" in tolerance_of(50.0).reason


@pytest.mark.parametrize("change", [{"metric": "top5"}, {"selection": "best"}])
def test_a_target_of_another_metric_or_selection_is_shown_beside(change):
    """A published best epoch is not held against a last epoch."""
    (beside,) = run_judge([(100, 80.4)], targets=[{**TARGET, **change}]).targets
    assert (beside.judged, beside.meets) == (False, None)


@pytest.mark.parametrize("value", [70.0, 90.0])
def test_a_target_far_off_on_either_side_is_not_met(value):
    """Ten points below or above the published value are both incompatible with it."""
    (target,) = run_judge([(100, 80.4)], targets=[{**TARGET, "value": value}]).targets
    assert (target.judged, target.meets) == (True, False)


def test_a_target_without_any_spread_is_not_judged():
    """One run and no reference say nothing of how far two runs may differ."""
    (target,) = run_judge([(100, 80.4)], rows=[], targets=[TARGET]).targets
    assert (target.judged, target.meets) == (False, None)
    assert "no spread is known" in target.reason


def test_a_target_without_a_reference_is_judged_by_the_own_runs():
    """Five own runs that agree to the last digit still get the floor as their spread."""
    values = [(seed, 80.4) for seed in range(5)]
    (near,) = run_judge(values, rows=[], targets=[TARGET]).targets
    (far,) = run_judge(values, rows=[], targets=[{**TARGET, "value": 85.0}]).targets
    assert (near.judged, near.meets, far.meets) == (True, True, False)
    assert near.tolerance > 1.0
