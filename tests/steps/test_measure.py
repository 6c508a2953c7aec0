"""What is kept of two tensors: how far apart they are, or why nobody can say."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.steps.derivative import derivatives, differs
from runners.contract.steps.measure import lines_of


def test_a_line_has_distance_slope_and_intercept():
    """Of a tensor that is scaled, the slope says by how much."""
    expected = np.linspace(-1.0, 2.0, 50)
    distance, slope, intercept = lines_of({"x": 1.01 * expected}, {"x": expected})["x"]
    assert distance == pytest.approx(0.01 * np.linalg.norm(expected))
    assert slope == pytest.approx(0.01)
    assert intercept == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("observed", "said"),
    [
        ({}, "missing"),
        ({"x": np.ones(3)}, "shape [3], expected [2]"),
        ({"x": np.array([1.0, np.nan])}, "1 of 2 values are not finite"),
        ({"x": np.array([-np.inf, 1.0])}, "1 of 2 values are not finite"),
    ],
)
def test_what_cannot_be_compared_is_told(observed, said):
    """Missing, another shape, not finite: each has its words, and none passes."""
    assert lines_of(observed, {"x": np.ones(2)})["x"] == said


def test_a_tensor_that_nobody_expects_is_told():
    """A gradient where there is none in float64 is no match."""
    assert lines_of({"x": np.ones(2), "y": np.ones(1)}, {"x": np.ones(2)})["y"] == "unexpected"


def test_infinities_of_a_mask_are_equal_or_wrong():
    """Both may be infinite in the same places, and there alone."""
    expected = np.array([0.0, -np.inf, 2.0])
    assert lines_of({"x": expected + np.array([0.0, 0.0, 1e-3])}, {"x": expected})["x"][0] == pytest.approx(1e-3)
    assert isinstance(lines_of({"x": np.array([-np.inf, 0.0, 2.0])}, {"x": expected})["x"], str)
    assert isinstance(lines_of({"x": np.array([0.0, np.inf, 2.0])}, {"x": expected})["x"], str)


class Cubic:
    """loss = sum(a^3) + sum(b^2), with gradients that may be wrong in b."""

    def __init__(self, scale: float = 1.0) -> None:
        self._a, self._b, self._scale = np.linspace(0.5, 1.5, 6), np.linspace(-1.0, 1.0, 7), scale

    def step(self):
        return {"loss": np.float64(0.0), "gradients/a": 3 * self._a**2, "gradients/b": self._scale * 2 * self._b}

    def parameters(self):
        return {"a": self._a, "b": self._b}

    def loss_at(self, batch, moved):
        return float(np.sum((self._a + moved.get("a", 0.0)) ** 3) + np.sum((self._b + moved.get("b", 0.0)) ** 2))


def test_gradients_that_are_the_derivative_agree_with_central_differences():
    """One direction through all parameters is enough where nothing is wrong."""
    right = Cubic()
    found = derivatives(right, None, right.step())
    assert list(found) == [""]
    assert not differs(found[""])


@pytest.mark.parametrize("scale", [1.001, 0.0, -1.0])
def test_a_wrong_gradient_is_found_and_its_parameter_named(scale):
    """A factor of 1.001, nothing at all, and the other sign."""
    wrong = Cubic(scale)
    found = derivatives(wrong, None, wrong.step())
    assert differs(found[""])
    assert [name for name, each in found.items() if name and differs(each)] == ["b"]


class Gated:
    """loss = sum(x * relu(w)) + sum(b^3), with gates at zero at first, as biases of zeros have; gradients may be wrong."""

    _x = np.array([1.0, -2.0, 0.5, 3.0])

    def __init__(self, *, of_gates: float = 1.0, of_cubes: float = 1.0) -> None:
        self._w, self._b, self._of_gates, self._of_cubes = np.zeros(4), np.linspace(0.5, 1.5, 3), of_gates, of_cubes

    def parameters(self):
        return {"w": self._w, "b": self._b}

    def loss_at(self, batch, moved):
        w, b = (each + moved.get(name, 0.0) for name, each in self.parameters().items())
        return float(np.sum(self._x * np.maximum(w, 0.0)) + np.sum(b**3))

    def gradients_at(self, batch, moved):
        w, b = (each + moved.get(name, 0.0) for name, each in self.parameters().items())
        return {"w": self._of_gates * self._x * (w > 0.0), "b": self._of_cubes * 3 * b**2}

    def step(self):
        return {f"gradients/{name}": each for name, each in self.gradients_at(None, {}).items()}


def test_gates_that_stand_at_zero_are_asked_beside_it():
    """There a loss has no derivative, and central differences are half of one side's: as good as every first step has such."""
    right = Gated()
    found = derivatives(right, None, right.step())
    assert list(found) == [""]
    assert not differs(found[""])


@pytest.mark.parametrize(("wrong", "name"), [({"of_gates": 1.001}, "w"), ({"of_cubes": 1.001}, "b")])
def test_a_wrong_gradient_beside_gates_at_zero_is_found(wrong, name):
    """A kink excuses nothing: whose gradients are wrong beside it, too, is named."""
    oracle = Gated(**wrong)
    found = derivatives(oracle, None, oracle.step())
    assert [each for each, result in found.items() if each and differs(result)] == [name]


@pytest.mark.parametrize(("precision", "of_constant", "is_wrong"), [
    ("fp32", 1.003, True), ("bf16", 1.003, False), ("fp16", 1.03, True), ("fp16", 1.0004, False), ("bf16", 1.1, True),
])  # fmt: skip
def test_a_constant_of_a_derivative_is_rounded_in_halves(precision, of_constant, is_wrong):
    """That of erf by 0.3 % in bfloat16 and by 0.04 % in float16; what is farther off is wrong in each."""
    rounded = Cubic(of_constant)
    assert differs(derivatives(rounded, None, rounded.step(), precision=precision)[""]) is is_wrong


def test_a_wrong_gradient_at_a_smooth_place_is_found_though_it_is_right_beside_it():
    """A curve is no kink: its slopes on both sides come nearer."""
    cubic = Cubic()
    cubic.gradients_at = lambda batch, moved: {"a": 3 * (cubic._a + moved["a"]) ** 2, "b": 2 * (cubic._b + moved["b"])}
    found = derivatives(cubic, None, Cubic(1.001).step())
    assert [name for name, each in found.items() if name and differs(each)] == ["b"]


def test_a_number_where_infinity_is_expected_is_wrong():
    """A mask that is left out gives numbers: they are told, however many others are right."""
    expected = np.array([1.0, -np.inf, np.nan, 4.0])
    assert lines_of({"x": np.array([1.0, 7.0, np.nan, 4.0])}, {"x": expected})["x"] == "1 of 4 values are numbers, expected -inf"
    assert lines_of({"x": np.array([1.0, -np.inf, 5.0, 4.0])}, {"x": expected})["x"] == "1 of 4 values are numbers, expected nan"


def test_imaginary_parts_are_compared():
    """Of complex numbers both parts count, and a real one in the place of one lacks its other part."""
    expected = np.array([1 + 2j, 2 + 3j])
    assert lines_of({"x": np.array([1 + 2j, 2 + 4j])}, {"x": expected})["x"][0] == pytest.approx(1.0)
    assert lines_of({"x": np.array([1.0, 2.0])}, {"x": expected})["x"][0] == pytest.approx(13.0**0.5)
