"""What two runs that differ in one thing are told as, on numbers alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vigil.determinism.judge import MARGIN, answer_of, cost_of, distance, first_different, is_same, twin_of
from vigil.documents.determinism import DIFFERENT, ROUNDING, SAME, rule_of_three


def test_the_same_bits_are_more_than_equal_numbers() -> None:
    zero = {"x": np.float32([0.0, 1.0])}
    assert is_same(zero, {"x": np.float32([0.0, 1.0])})
    assert not is_same(zero, {"x": np.float32([-0.0, 1.0])})
    assert not is_same(zero, {"x": np.float64([0.0, 1.0])})
    assert not is_same(zero, {"y": np.float32([0.0, 1.0])})
    nan = {"x": np.float32([math.nan])}
    assert is_same(nan, {"x": np.float32([math.nan])})


@pytest.mark.parametrize(
    ("second", "expected"),
    [([3.0, 4.0], 0.0), ([3.0, 4.5], 0.1), ([3.0], math.inf), ([3.0, math.nan], math.inf), ([3.0, math.inf], math.inf)],
)
def test_a_distance_is_relative_to_the_norm(second, expected) -> None:
    assert distance({"x": np.array([3.0, 4.0])}, {"x": np.array(second)}) == pytest.approx(expected)


def test_a_twin_is_moved_by_its_rounding_and_by_no_more() -> None:
    state = {"params/w": np.ones(1000, np.float32), "stats/mean": np.ones(3, np.float32)}
    for precision, unit in (("fp32", 2.0**-24), ("bf16", 2.0**-8)):
        twin = twin_of(state, precision, draw=1)
        moved = np.abs(twin["params/w"].astype(np.float64) - 1.0)
        assert 0.0 < moved.max() <= 2.0 * unit
        assert twin["params/w"].dtype == np.float32
        assert np.array_equal(twin["stats/mean"], state["stats/mean"])
        assert not np.array_equal(twin["params/w"], twin_of(state, precision, draw=2)["params/w"])


@pytest.mark.parametrize(
    ("same", "apart", "answer"),
    [(True, 0.0, SAME), (False, 1e-6, ROUNDING), (False, MARGIN * 1e-6, ROUNDING), (False, 1e-4, DIFFERENT),
     (False, math.inf, DIFFERENT)],
)  # fmt: skip
def test_what_is_further_than_rounding_is_different(same, apart, answer) -> None:
    assert answer_of(same=same, apart=apart, floor=1e-6) == answer


def test_without_a_floor_any_difference_is_one() -> None:
    assert answer_of(same=False, apart=1e-12, floor=0.0) == DIFFERENT


def test_the_first_step_that_differs_is_told() -> None:
    assert first_different([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) is None
    assert first_different([1.0, 2.0, 3.0], [1.0, 2.5, 3.5]) == 2
    assert first_different([1.0, 2.0], [1.0]) == 2


def test_a_cost_is_the_ratio_of_pairs_with_its_interval() -> None:
    """Of pairs that all say 2, exactly 2; noise that weighs on both of a pair cancels."""
    exact = cost_of([100.0, 50.0, 10.0], [50.0, 25.0, 5.0])
    assert (exact.ratio, exact.low, exact.high, exact.pairs) == pytest.approx((2.0, 2.0, 2.0, 3))
    noisy = cost_of([100.0, 100.0, 100.0], [90.0, 100.0, 110.0])
    assert noisy.low < 1.0 < noisy.high
    assert cost_of([1.0], [1.0]) is None


def test_the_rule_of_three() -> None:
    assert (rule_of_three(60), rule_of_three(2)) == (0.05, 1.0)
