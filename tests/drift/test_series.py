"""Series: what is one value, what is a gap, and where one series ends and the next begins."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from vigil.drift.questions import released_boundaries
from vigil.drift.series import collect


def only(samples: pd.DataFrame, **options):
    """Return the one series of samples."""
    (series,) = collect(samples, **options).series
    return series


def test_the_same_bits_again_are_no_new_value(cell_runs):
    """Two seeds in turn that give the same bits for six nights are two values, not six, seen until the last night."""
    series = only(cell_runs([88.0, 89.0] * 3, seeds=[0, 1] * 3, states=["a", "b"] * 3))
    assert series.values.tolist() == [88.0, 89.0]
    assert series.last.tolist() == [4, 5]
    assert series.visits.tolist() == list(range(6))
    as_samples = only(cell_runs([88.0, 89.0] * 3, seeds=[0, 1] * 3))
    assert len(as_samples.values) == 6


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"states": [None, None]}, 1),
        ({"states": [None, None], "releases": ["0.9.2", "0.10.2"]}, 2),
        ({"states": ["a", "a"], "releases": ["0.9.2", "0.10.2"]}, 1),
        ({"states": ["a", "b"]}, 2),
        ({"states": ["a", "a"], "seeds": [3, 4]}, 2),
    ],
)
def test_what_counts_as_the_same_result(cell_runs, changes, count):
    """An equal value is the same result with the same bits, or without any under the same release; never of another seed."""
    assert len(only(cell_runs([88.0, 88.0], **({"seeds": [3, 3]} | changes))).values) == count


def test_no_change_is_placed_where_the_bits_stayed(cell_runs):
    """A seed with the same bits on nights 0 and 2 rules out a change at night 1 and 2; a value only now seen begins none."""
    series = only(cell_runs([88.0, 87.0, 88.0, 80.0], seeds=[0, 1, 0, 0], states=["a", "b", "a", "c"]))
    assert [int(series.first[place]) for place in series.boundaries] == [3]


def test_equal_values_without_bits_prove_nothing(cell_runs):
    """Where no state is known, an equal value is no new sample, and no proof that nothing changed between."""
    series = only(cell_runs([88.0, 87.0, 88.0, 80.0], seeds=[0, 1, 0, 0], states=[None] * 4))
    assert len(series.values) == 3
    assert [int(series.first[place]) for place in series.boundaries] == [1, 3]


def test_a_crash_is_a_gap_and_never_a_value(cell_runs):
    """A crash in between leaves no value; crashes at the end are attempts since the last value."""
    series = only(cell_runs([88.0, None, 88.5, None, None]))
    assert series.values.tolist() == [88.0, 88.5]
    assert series.visits.tolist() == [0, 2]
    assert series.attempts == ((3, "failed:crash: the runner died"), (4, "failed:crash: the runner died"))


def test_a_new_recipe_hash_starts_a_new_series(cell_runs):
    """The values of the old hash are not in the series of the new one, however far away they are."""
    old, new = cell_runs([60.0] * 4), cell_runs([88.0, 88.3], nights=[4, 5], recipe_hash="bb22")
    found = collect(pd.concat([old, new]))
    assert [series.values.tolist() for series in found.series] == [[88.0, 88.3]]
    assert found.ended == 1


@pytest.mark.parametrize(("options", "count"), [({}, 3), ({"include_faults": True}, 4)])
def test_runs_with_a_planted_fault_are_left_out_unless_asked_for(cell_runs, options, count):
    """A planted fault is no drift of a framework."""
    samples = pd.concat([cell_runs([88.0, 88.1, 88.2]), cell_runs([70.0], nights=[3], fault="weight_decay_ignored")])
    assert len(only(samples, **options).values) == count
    assert collect(samples, **options).with_fault == 4 - count


def test_runs_of_no_night_are_counted_or_taken_by_day(cell_runs):
    """A run by hand is left out and counted; with all runs it belongs to the night of its day."""
    by_hand = cell_runs([80.0], nights=[7]).assign(night=None)
    samples = pd.concat([cell_runs([88.0, 88.1]), by_hand])
    assert collect(samples).outside_nights == 1
    assert len(only(samples).values) == 2
    taken = collect(samples, all_runs=True)
    assert taken.nights.names[-1] == "2026-01-08"
    assert taken.series[0].values.tolist() == [88.0, 88.1, 80.0]


def test_nights_are_ordered_by_time_whatever_the_rows(cell_runs):
    """Shuffled rows give the same series."""
    samples = cell_runs([88.0, 87.0, 86.0, 85.0])
    shuffled = only(samples.sample(frac=1.0, random_state=np.random.default_rng(3)))
    assert shuffled.values.tolist() == [88.0, 87.0, 86.0, 85.0]


def test_a_release_that_moves_no_bit_is_no_boundary(cell_runs):
    """When the newest release gives the same bits, the release before it that moved them is asked about."""
    releases = ["0.9.2", "0.9.2", "0.10.1", "0.10.1", "0.10.2", "0.10.2"]
    series = only(cell_runs([88.0, 87.0, 86.0, 85.0, 86.0, 85.0], seeds=[0, 1] * 3, states=list("abcdcd"), releases=releases))
    assert released_boundaries(series) == [2]
    same = only(cell_runs([88.0, 87.0] * 3, seeds=[0, 1] * 3, states=list("ab") * 3, releases=releases))
    assert released_boundaries(same) == []
