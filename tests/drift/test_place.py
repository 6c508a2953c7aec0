"""Places: planted steps are found on their night, with an interval that says how sure that is."""

from __future__ import annotations

import numpy as np
import pytest

from vigil.drift.steps import locate

EVERY, NEVER = np.arange(1, 20), np.zeros(19, dtype=bool)


@pytest.mark.parametrize("first", [3, 11, 17])
def test_a_clear_step_is_placed_on_its_night(first):
    """A step of ten standard deviations begins where it was planted, and the interval is that one place."""
    values = np.random.default_rng(7).standard_normal(20)
    values[first:] += 10.0
    place = locate(values, np.arange(20) % 5, EVERY, begins_release=NEVER)
    assert (place.boundary, place.low, place.high) == (first, first, first)


def test_a_faint_step_has_a_wide_interval_that_a_release_narrows():
    """Where the values cannot tell the night, the interval says so, and a release that began there is the likelier cause."""
    values = np.random.default_rng(8).standard_normal(20)
    values[11:] -= 1.5
    alone = locate(values, np.arange(20), EVERY, begins_release=NEVER)
    released = locate(values, np.arange(20), EVERY, begins_release=EVERY == 11)
    assert alone.high - alone.low > 0
    assert alone.low <= 11 <= alone.high
    assert released.boundary == 11
    assert released.high - released.low <= alone.high - alone.low


def test_seeds_of_one_side_help_to_find_the_place():
    """Where the nights about the step ran seeds that no other night ran, the place is still told."""
    values = np.random.default_rng(9).standard_normal(20)
    values[11:] -= 8.0
    seeds = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 30, 31, 32, 33, 0, 1, 2, 3, 4, 5, 6])
    assert locate(values, seeds, EVERY, begins_release=NEVER).boundary == 11


def test_few_or_equal_values_have_no_place():
    """Two values, no boundary, and values without any spread tell nothing."""
    assert locate(np.array([1.0, 5.0]), np.arange(2), [1], begins_release=NEVER[:1]) is None
    assert locate(np.arange(5.0), np.arange(5), [], begins_release=NEVER[:0]) is None
    assert locate(np.full(20, 88.1), np.arange(20), EVERY, begins_release=NEVER) is None


def test_the_interval_holds_the_night_as_often_as_it_says():
    """Of 400 drops of two standard deviations on any night 4 to 17, 90 % intervals hold 87 to 99 %; 50 % ones fewer."""
    generator = np.random.default_rng(10)
    first = generator.integers(3, 17, size=400)
    effects = np.sqrt(0.5) * generator.standard_normal((400, 5))
    values = effects[:, np.arange(20) % 5] + np.sqrt(0.5) * generator.standard_normal((400, 20))
    values[np.arange(20) >= first[:, np.newaxis]] -= 2.0
    shares = []
    for coverage in (0.9, 0.5):
        places = [locate(row, np.arange(20) % 5, EVERY, begins_release=NEVER, coverage=coverage) for row in values]
        shares.append(np.mean([place.low <= begin <= place.high for place, begin in zip(places, first, strict=True)]))
    assert 0.87 < shares[0] < 0.99
    assert shares[1] < 0.9
