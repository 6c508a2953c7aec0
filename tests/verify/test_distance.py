"""The comparison cannot be fooled: every way of being wrong that a looser one passes is planted here and seen."""

import math

import numpy as np
import pytest

from runners.contract.data import streams
from runners.contract.steps.measure import regress
from vigil.verify.distance import compare
from vigil.verify.floors import Floor, make_floors
from vigil.verify.oracle.rounding import UNITS, Rounding

RIGHT = np.random.default_rng(3).normal(loc=0.2, size=(12, 12))
FLOOR = {"x": Floor(np.linalg.norm(RIGHT) * 1e-7, 0.0, (0.0, 1e-8), (0.0, 1e-8), 32)}


def one(observed, expected=RIGHT, floors=FLOOR):
    """Return the difference of one tensor."""
    return compare("case", {"x": observed}, {"x": expected}, floors)[0]


def is_out(difference):
    """Is it far above what rounding does?"""
    return difference.ratio > 100


def test_an_equal_tensor_is_at_no_distance():
    """The expected tensor itself has ratio 0, slope 1 and intercept 0."""
    found = one(RIGHT.copy())
    assert (found.ratio, found.slope, found.intercept, found.problem) == (0.0, 1.0, 0.0, None)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros_like(RIGHT), RIGHT.T, -RIGHT, RIGHT[::-1], np.roll(RIGHT, 1), 1.001 * RIGHT, 10 * RIGHT,
        np.random.default_rng(4).normal(size=RIGHT.shape), np.full_like(RIGHT, RIGHT.mean()),
    ],
    ids=["zero", "transposed", "negated", "permuted", "rolled", "scaled", "tenfold", "stale", "mean"],
)  # fmt: skip
def test_wrong_tensors_are_out(wrong):
    """Zero, transposed, negated, permuted, scaled and stale tensors are each far above the floor."""
    assert is_out(one(wrong))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_infinitely_far(value):
    """One NaN or infinity among right values is a difference, and is named."""
    wrong = RIGHT.copy()
    wrong[3, 4] = value
    found = one(wrong)
    assert math.isinf(found.ratio)
    assert found.problem == "1 of 144 values are not finite"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_expected_must_be_finite_too(value):
    """Nothing is near to NaN: the distance to it is no number, which must not count as none."""
    expected = RIGHT.copy()
    expected[3, 4] = value
    found = one(RIGHT, expected)
    assert math.isinf(found.ratio)
    assert found.problem == "the expected values are not finite"


def test_a_missing_tensor_is_infinitely_far():
    """A framework that does not answer is not right."""
    found = compare("case", {}, {"x": RIGHT}, FLOOR)[0]
    assert (found.ratio, found.problem) == (math.inf, "missing")


def test_another_shape_is_infinitely_far():
    """Shapes that numpy would broadcast are not compared."""
    found = one(RIGHT[:1])
    assert math.isinf(found.ratio)
    assert found.problem == "shape [1, 12], expected [12, 12]"


def test_a_floor_of_zero_lets_nothing_pass():
    """Where rounding moves nothing, as in a parameter that is not trained, the last bit counts."""
    exact = {"x": Floor(0.0, 0.0, (0.0, 0.0), (0.0, 0.0), 32)}
    assert one(RIGHT.copy(), floors=exact).ratio == 0.0
    assert math.isinf(one(np.nextafter(RIGHT, 2.0), floors=exact).ratio)


def test_an_expected_zero_tensor_must_be_zero():
    """A gradient that should vanish and does not is out, however small it is; there is no line through it."""
    floors = {"x": Floor(0.0, 0.0, (math.nan, math.nan), (math.nan, math.nan), 32)}
    assert one(np.zeros((3, 3)), np.zeros((3, 3)), floors).ratio == 0.0
    assert math.isinf(one(np.full((3, 3), 1e-12), np.zeros((3, 3)), floors).ratio)


def test_one_percent_shows_in_the_slope_under_five_percent_noise():
    """Under bfloat16's noise a scale of 1.01 hides in the norm and stands out in the slope."""
    generator = np.random.default_rng(5)
    right = generator.normal(size=40000)

    def draw(rounding):
        return {"x": right * (1 + 0.05 * generator.normal(size=right.size))}

    floors = make_floors({"x": right}, draw, precision="bf16", draws=24)
    clean, scaled = (one(factor * draw(None)["x"], right, floors) for factor in (1.0, 1.01))
    assert scaled.ratio < 1.1
    assert clean.slope_z < 5
    assert scaled.slope_z > 20
    assert scaled.slope == pytest.approx(1.01, abs=0.002)


def test_no_rounding_at_all_is_right():
    """Draws whose slopes are off on average, and hardly differ, let an exact tensor pass, and none that is off."""
    floors = {"x": Floor(1e-9, 1e-11, (-4e-10, 1e-12), (3e-10, 1e-12), 32)}
    assert one(RIGHT.copy(), floors=floors).statistics() == {"distance": 0.0, "slope": 0.0, "intercept": 0.0}
    assert one(RIGHT * (1 - 2e-10), floors=floors).slope_z == 0.0
    assert one(RIGHT * (1 - 5e-10), floors=floors).slope_z == pytest.approx(100, rel=0.01)
    assert one(RIGHT * (1 + 1e-10), floors=floors).slope_z == pytest.approx(100, rel=0.01)


def test_an_offset_shows_in_the_intercept():
    """A constant added to every element is told from a scale."""
    found = one(RIGHT + 1e-4)
    assert found.intercept_z > 100
    assert found.slope == pytest.approx(1.0, abs=1e-9)


def test_regression_keeps_the_digits_of_small_differences():
    """A scale of 1 + 1e-15 is measured, not lost beside the tensor."""
    excess, intercept = regress(1e-15 * RIGHT, RIGHT)
    assert excess == pytest.approx(1e-15, rel=1e-9)
    assert intercept == pytest.approx(0.0, abs=1e-24)


def test_floor_is_the_size_of_the_rounding():
    """Relative rounding by u, uniform, moves a tensor by u / sqrt(3) of its norm, and the floor knows its own error."""
    draw = {"x": RIGHT}
    floors = make_floors(draw, lambda rounding: {"x": rounding.activation(RIGHT)}, precision="fp32", draws=32)
    expected = UNITS["fp32"].activation / np.sqrt(3) * np.linalg.norm(RIGHT)
    assert floors["x"].distance == pytest.approx(expected, rel=0.1)
    assert 0 < floors["x"].distance_error < 0.1 * floors["x"].distance


def test_rounding_is_the_same_every_time():
    """A draw is named by its number: the floors of two machines are equal."""
    first, again, other = (Rounding(UNITS["bf16"], seed=1, draw=draw).activation(RIGHT) for draw in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_what_rounding_reaches_depends_on_how_many_numbers_there_are():
    """A single number is off by nearly five floors once in a million times, a large tensor hardly more than by one."""

    def draw(rounding):
        return {"one": rounding.activation(np.array(1.0)), "many": rounding.activation(np.ones(5000))}

    floors = make_floors({"one": np.array(1.0), "many": np.ones(5000)}, draw, precision="fp32", draws=32)
    assert 2 < floors["one"].reach(1e-6)["distance"] < 5
    assert 1 < floors["many"].reach(1e-6)["distance"] < 1.2
    assert floors["many"].reach(1e-6)["slope"] == pytest.approx(6.06, abs=0.1)
    assert floors["one"].reach(1e-3)["distance"] < floors["one"].reach(1e-6)["distance"]


@pytest.mark.parametrize("terms", [1, 144])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_rounding_in_pieces_is_what_its_formula_says(precision, terms):
    """An array of more than one piece: each element by its own number of the stream, the sum's size that of all of them.

    To a ten-thousandth of the error: its size is computed in float32.
    """
    units, x = UNITS[precision], np.random.default_rng(1).normal(size=(3, 7001))
    u = np.concatenate(list(streams.odd_pieces(5, "verify/rounding/2/1", count=x.size, size=4))).reshape(x.shape) / 2.0**15
    error = units.activation * np.abs(x)
    if terms > 1:
        size = np.maximum(np.abs(x), np.sqrt(np.mean(np.square(x))))
        error = np.hypot(error, units.master * np.sqrt(terms / 3.0) * size)
    expected = x + u * error if terms > 1 else x * (1.0 + units.activation * u)
    found = Rounding(units, seed=5, draw=2).activation(x, terms)
    assert (np.abs(found - expected) <= 1e-4 * error).all()
