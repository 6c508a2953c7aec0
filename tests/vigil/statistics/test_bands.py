"""The statistics against exact values, textbook identities and planted degenerate references."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from vigil.statistics.bands import (
    WELCH_DECIDES_FROM,
    binomial_floor,
    compare,
    detectable_drop,
    half_width,
    is_outside,
    prediction_band,
    welch,
)
from vigil.statistics.finite import BandUndefined
from vigil.statistics.pooling import effective_size

REFERENCE = [80.1, 79.4, 80.9, 80.3, 79.8, 81.0, 80.2, 79.6, 80.5, 80.0]


def test_band_for_one_run_is_the_textbook_interval():
    """Mean +- 3.2498 * s * sqrt(1.1) for ten samples at 99 %, from a printed table of t."""
    band = prediction_band(REFERENCE)
    half = 3.2498 * np.std(REFERENCE, ddof=1) * math.sqrt(1.1)
    assert band.low == pytest.approx(80.18 - half, abs=1e-3)
    assert band.high == pytest.approx(80.18 + half, abs=1e-3)
    assert (band.n, band.n_effective, band.coverage) == (10, 10.0, 0.99)


def test_band_for_a_mean_is_narrower_by_the_known_factor():
    """The mean of m runs scatters by sqrt(1/m + 1/n) where one run scatters by sqrt(1 + 1/n)."""
    one, five = prediction_band(REFERENCE), prediction_band(REFERENCE, n_new=5)
    assert (five.high - five.low) / (one.high - one.low) == pytest.approx(math.sqrt((0.2 + 0.1) / 1.1))
    assert five.method != one.method


def test_zero_spread_with_a_floor_gives_a_band_of_non_zero_width():
    """Ten equal samples give the band that the floor makes, not a point."""
    floor = binomial_floor(80.0, n_test=2000)
    band = prediction_band([80.0] * 10, spread_floor=floor)
    assert band.spread == 0.0
    assert band.high - band.low == pytest.approx(2 * half_width(floor, n=10, n_new=1, coverage=0.99))
    assert band.high - band.low > 1.0


def test_a_floor_below_the_spread_changes_nothing():
    """The floor lifts a small spread and never adds to a real one."""
    with_floor = prediction_band(REFERENCE, spread_floor=0.1)
    without = prediction_band(REFERENCE)
    assert (with_floor.low, with_floor.high) == (without.low, without.high)


@pytest.mark.parametrize("samples", [[], [80.0], [80.0, math.nan], [80.0, math.inf, 79.0]])
def test_too_few_or_non_finite_samples_have_no_band(samples):
    """One sample, or a NaN among many, is an error and never a band."""
    with pytest.raises(BandUndefined):
        prediction_band(samples, spread_floor=1.0)


@pytest.mark.parametrize("wrong", [{"coverage": 1.0}, {"coverage": 0.0}, {"n_new": 0}, {"spread_floor": math.nan}])
def test_senseless_settings_are_refused(wrong):
    """A coverage of 1, no new run and a NaN floor are errors."""
    with pytest.raises(ValueError, match="allowed are"):
        prediction_band(REFERENCE, **wrong)


def test_binomial_floor_is_half_the_binomial_deviation():
    """At 94 % of 10,000 images the binomial deviation is 0.2375 points, so the floor is 0.119."""
    assert binomial_floor(94.0, n_test=10_000) == pytest.approx(0.1188, abs=1e-4)


@pytest.mark.parametrize("percent", [0.0, 100.0])
def test_one_example_of_a_saturated_metric_is_no_alarm(percent):
    """Where ten runs had every example alike, one of another kind is inside the band of the next, and two are not."""
    band = prediction_band([percent] * 10, spread_floor=binomial_floor(percent, n_test=200))
    assert [band.contains(abs(percent - 0.5 * wrong)) for wrong in range(3)] == [True, True, False]


def test_binomial_floor_stays_below_published_seed_deviations():
    """The floor is no wider than the 0.13 points of 200 published runs at 94 % of 10,000 images."""
    assert binomial_floor(94.0, n_test=10_000) < 0.13


@pytest.mark.parametrize(("percent", "n_test"), [(101.0, 10), (-1.0, 10), (math.nan, 10), (50.0, 0)])
def test_binomial_floor_refuses_what_is_no_percentage(percent, n_test):
    """A fraction out of range or an empty test set has no floor."""
    with pytest.raises(ValueError, match="allowed"):
        binomial_floor(percent, n_test=n_test)


def test_welch_agrees_with_scipy():
    """Statistic, degrees of freedom, p value and interval are those of an independent implementation."""
    new = [78.9, 79.6, 78.2, 79.3]
    ours = welch(new, REFERENCE, spread_floor=0.0)
    theirs = stats.ttest_ind(new, REFERENCE, equal_var=False)
    interval = theirs.confidence_interval(0.99)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.degrees_of_freedom == pytest.approx(theirs.df)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high))


def test_welch_lifts_the_spread_of_both_sides():
    """Two equal new runs are not evidence of a spread of zero."""
    new = [79.6, 79.6]
    assert welch(new, REFERENCE, spread_floor=0.5).p_value > 0.1
    assert welch(new, REFERENCE, spread_floor=0.0).p_value < 0.01


def test_welch_without_any_spread_is_undefined():
    """Equal samples on both sides and no floor give no test, not an infinite statistic."""
    with pytest.raises(BandUndefined, match="floor"):
        welch([80.0, 80.0], [81.0, 81.0], spread_floor=0.0)


def test_samples_with_their_own_seed_each_count_in_full():
    """Ten seeds in one context are ten samples."""
    assert effective_size(REFERENCE, groups=range(10)) == 10.0


def test_copies_of_a_seed_count_once():
    """Ten samples, each thrice under one seed, are worth ten and not thirty."""
    size = effective_size([value for value in REFERENCE for _ in range(3)], groups=[i for i in range(10) for _ in range(3)])
    assert size == pytest.approx(10.0)


def test_copies_of_a_seed_do_not_narrow_the_band():
    """A reference tripled by copying is not taken for thirty independent runs."""
    tripled, groups = [v for v in REFERENCE for _ in range(3)], [i for i in range(10) for _ in range(3)]
    honest, fooled = prediction_band(tripled, groups=groups), prediction_band(tripled)
    assert honest.n_effective == pytest.approx(10.0)
    assert honest.high - honest.low > 1.15 * (fooled.high - fooled.low)


def test_groups_that_do_not_resemble_count_nearly_in_full():
    """Independent rows that merely share a label keep most of their worth, averaged over draws."""
    samples = np.random.default_rng(0).standard_normal((2000, 30))
    sizes = effective_size(samples, groups=[i // 3 for i in range(30)])
    assert sizes.mean() > 25.0
    assert sizes.max() <= 30.0


def test_unequal_groups_lie_between_groups_and_samples():
    """With seeds run in 1, 2 and 5 contexts the size stays between Kish's lowest value and n."""
    size = effective_size([1.0, 2.0, 2.1, 5.0, 5.1, 5.0, 4.9, 5.05], groups=[0, 1, 1, 2, 2, 2, 2, 2])
    assert 64 / 30 <= size < 3.0


def test_one_group_only_is_undefined():
    """One seed in many contexts tells nothing of how seeds differ."""
    with pytest.raises(BandUndefined, match="one group"):
        prediction_band(REFERENCE, groups=[7] * 10)


@pytest.mark.parametrize(("value", "side"), [(80.2, "inside"), (77.0, "below"), (83.5, "above")])
def test_both_sides_of_the_band_are_watched(value, side):
    """A value far above is outside as one far below is: a one-sided check would pass it."""
    assert compare([value], REFERENCE).side == side


def test_three_runs_show_what_one_cannot():
    """A drop of 1.2 points is inside for one run and outside for the mean of three."""
    assert compare([79.0], REFERENCE).side == "inside"
    assert compare([79.0, 78.9, 79.1], REFERENCE).side == "below"


def test_welch_does_not_decide_for_few_runs():
    """Two runs that agree by chance are inside although Welch's p is below 1 %: it alarms falsely there."""
    found = compare([79.60, 79.61], REFERENCE)
    assert found.welch.p_value < 0.01
    assert found.side == "inside"


def test_welch_decides_for_many_runs():
    """Eight runs that scatter little show a shift that the reference's spread alone would hide."""
    new = [79.50, 79.51, 79.49, 79.50, 79.52, 79.48, 79.50, 79.50]
    found = compare(new, REFERENCE)
    assert len(new) == WELCH_DECIDES_FROM
    assert found.mean_band.contains(79.50)
    assert found.welch.p_value < 0.005
    assert found.side == "below"


def test_the_rule_for_arrays_is_the_rule_for_lists():
    """What the benchmark measures on arrays is what judges real runs."""
    generator = np.random.default_rng(1)
    for n_new in (1, 3, 9):
        reference, new = generator.standard_normal((200, 12)), generator.standard_normal((200, n_new)) - 1.2
        spread = np.maximum(new.std(axis=1, ddof=1), 0.5) if n_new > 1 else 0.5
        on_arrays = is_outside(
            new.mean(axis=1) - reference.mean(axis=1),
            spread_new=spread,
            n_new=n_new,
            spread_reference=np.maximum(reference.std(axis=1, ddof=1), 0.5),
            n_reference=12,
            coverage=0.99,
        )
        one_by_one = [compare(list(new[i]), list(reference[i]), spread_floor=0.5).side != "inside" for i in range(len(new))]
        assert list(on_arrays) == one_by_one
        assert 0 < sum(one_by_one) < 200


@pytest.mark.parametrize(("n_reference", "n_new"), [(10, 1), (10, 3), (30, 5), (30, 10)])
def test_false_alarms_are_near_one_percent(n_reference, n_new):
    """Normal samples are flagged in 0.6 to 1.3 % of 20,000 trials."""
    share = _flagged(n_reference, n_new, drop=0.0)
    assert 0.006 < share < 0.013


def test_a_wrong_number_of_reference_runs_would_be_noticed():
    """Taking 10 reference runs for 1000 flags over 2 %, so that the check above can fail."""
    assert _flagged(10, 1, drop=0.0, claimed=1000) > 0.02


@pytest.mark.parametrize(("n_reference", "n_new"), [(10, 1), (30, 3)])
def test_detectable_drop_is_flagged_nine_times_in_ten(n_reference, n_new):
    """A true drop of the reported size, computed from each reference, is flagged in 89 to 91 % of trials."""
    unit = np.arange(n_reference) / np.std(np.arange(n_reference), ddof=1)
    factor = detectable_drop(list(unit), n_new=n_new)
    assert 0.89 < _flagged(n_reference, n_new, drop=factor) < 0.91


def test_detectable_drop_shrinks_with_runs_and_grows_with_the_floor():
    """More new runs see smaller drops; a floor above the spread makes the drop larger."""
    drops = [detectable_drop(REFERENCE, n_new=n_new) for n_new in (1, 2, 3, 5)]
    assert drops == sorted(drops, reverse=True)
    assert detectable_drop(REFERENCE, n_new=3, spread_floor=2.0) > 2 * drops[2]


def _flagged(n_reference: int, n_new: int, *, drop: float, claimed: int | None = None) -> float:
    generator = np.random.default_rng(5)
    reference, new = generator.standard_normal((20_000, n_reference)), generator.standard_normal((20_000, n_new))
    spread = reference.std(axis=1, ddof=1)
    return float(
        np.mean(
            is_outside(
                new.mean(axis=1) - drop * spread - reference.mean(axis=1),
                spread_new=new.std(axis=1, ddof=1) if n_new > 1 else 0.0,
                n_new=n_new,
                spread_reference=spread,
                n_reference=claimed or n_reference,
                coverage=0.99,
            )
        )
    )
