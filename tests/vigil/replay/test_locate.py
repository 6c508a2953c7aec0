"""Which tensor is the first that is not finite, what it is made from, and whose it is: on the oracle's own step, spoilt."""

from __future__ import annotations

import math

import numpy as np
import pytest

from runners.contract.kinds import weights
from runners.contract.kinds.table import kind_of
from vigil.recipes.loading import load_recipe
from vigil.replay.locate import HOLDS, beside_float64, dtype_of, first_not_finite, in_float64, tensors_of
from vigil.verify.oracle import step as oracle


@pytest.fixture(scope="module")
def step():
    """Return the state, the batch and the tensors of digits_mlp's first step, and its outline."""
    training = load_recipe("digits_mlp").resolve("smoke")
    kind = kind_of(training)
    batches = kind.make_batches(kind.load(training["data"], None), training, seed=0)
    state, batch = weights.initial_state(training, seed=0), batches.train(0)
    expected = oracle.train_step(training, state, [batch], 0.2)
    return state, batch, expected, oracle.outline(training, state, batch)


def spoilt(step, **tensors):
    """Return the first tensor that is not finite, where some have such an element: name -> (index, value)."""
    state, batch, expected, outline = step
    found = {name: np.array(array) for name, array in expected.items()}
    for name, (index, value) in tensors.items():
        found[name][index] = value
    after = {name: array for name, array in found.items() if name.startswith(("params/", "momentum/", "stats/"))}
    ordered = tensors_of(found, float(found["loss"]), after, outline)
    return first_not_finite(ordered, state, batch[0], outline)


def test_a_finite_step_has_none(step):
    """Nothing is named where nothing is wrong."""
    assert spoilt(step) is None


@pytest.mark.parametrize(
    ("first", "later", "phase", "inputs"),
    [
        ("output/hidden", "output/relu", "forward", ["images", "params/hidden.kernel", "params/hidden.bias"]),
        ("output/relu", "output/logits", "forward", ["output/hidden"]),
        ("output/logits", "leaf_gradient/logits", "forward", ["output/relu", "params/output.kernel", "params/output.bias"]),
        ("leaf_gradient/logits", "leaf_gradient/relu", "backward", ["loss", "output/logits"]),
        ("leaf_gradient/relu", "parameter_gradient/hidden.bias", "backward", ["leaf_gradient/logits", "output/relu"]),
        ("parameter_gradient/hidden.kernel", "params/hidden.kernel", "backward", ["leaf_gradient/hidden", "images"]),
        ("params/hidden.kernel", None, "update", ["params/hidden.kernel before", "parameter_gradient/hidden.kernel"]),
    ],
)
def test_the_first_in_order_of_computation_is_named(step, first, later, phase, inputs):
    """Forward, loss, backward, update: what only inherits is not it, and its inputs are finite."""
    ranks = {"params/hidden.kernel": 2, "parameter_gradient/hidden.kernel": 2, "parameter_gradient/hidden.bias": 1}

    def at(name):
        return (3,) * ranks.get(name, 2)

    spoiling = {first: (at(first), math.inf)} | ({later: (at(later), math.nan)} if later else {})
    found = spoilt(step, **spoiling)
    assert (found.tensor, found.phase, found.index, found.value, found.not_finite) == (first, phase, at(first), math.inf, 1)
    assert found.then_nan == later
    names = [each.tensor for each in found.inputs]
    assert names[: len(inputs)] == inputs
    assert all(each.not_finite == 0 for each in found.inputs)


def test_an_input_that_is_not_finite_is_told(step):
    """Where the state itself has the number, the layer that reads it is not to blame, and its input says so."""
    state, batch, expected, outline = step
    state = {**state, "params/hidden.bias": np.full(100, np.nan)}
    found = {name: np.array(array) for name, array in expected.items()}
    found["output/hidden"][:] = np.nan
    first = first_not_finite(tensors_of(found, math.nan, {}, outline), state, batch[0], outline)
    assert {each.tensor: each.not_finite for each in first.inputs}["params/hidden.bias"] == 100


@pytest.mark.parametrize(
    ("value", "dtype", "scale", "cause"),
    [
        (3.1e4, "float16", 1.0, "framework"),
        (7.2e4, "float16", 1.0, "range"),
        (1e38, "float32", 1.0, "framework"),
        (1e39, "float32", 1.0, "range"),
        (1e39, "bfloat16", 1.0, "range"),
        (1e39, "float64", 1.0, "framework"),
        (math.inf, "float32", 1.0, "model"),
        (math.nan, "float32", 1.0, "model"),
    ],
)
def test_whose_it_is_follows_from_what_float64_has(step, value, dtype, scale, cause):
    """Not finite in float64 too: the model's; beyond what the type holds: its range; within: the framework's."""
    origin = spoilt(step, **{"output/hidden": ((7, 17), math.inf)})
    expected = np.ones((200, 100))
    expected[7, 17] = value
    found = in_float64(origin, {"output/hidden": expected}, dtype, scale=scale)
    assert found.cause == cause
    assert found.there == value or math.isnan(value)


def test_a_gradient_is_held_to_the_scaled_loss(step):
    """Under a loss scale of 65536 a gradient of two leaves float16, an output of two does not."""
    gradient = spoilt(step, **{"leaf_gradient/hidden": ((7, 17), math.inf)})
    expected = {"leaf_gradient/hidden": np.full((200, 100), 2.0), "output/hidden": np.full((200, 100), 2.0)}
    assert in_float64(gradient, expected, "float16", scale=65536.0).cause == "range"
    assert in_float64(gradient, expected, "float16", scale=1.0).cause == "framework"
    output = spoilt(step, **{"output/hidden": ((7, 17), math.inf)})
    assert in_float64(output, expected, "float16", scale=65536.0).cause == "framework"


def test_without_an_oracle_nothing_is_claimed(step):
    """The reason is told in its place."""
    origin = spoilt(step, **{"output/hidden": ((7, 17), math.inf)})
    found = in_float64(origin, None, "float32", scale=1.0, why_not="no oracle for this")
    assert (found.cause, found.largest) == ("unknown", None)
    assert "no oracle for this" in found.reason


def test_the_type_of_a_tensor(step):
    """A tap's is the framework's own; gradients of parameters and the update are in the parameters' type."""
    looked = {"dtype/hidden": np.array("float16")}
    assert dtype_of("output/hidden", looked, precision="fp16") == "float16"
    assert dtype_of("leaf_gradient/hidden", looked, precision="fp16") == "float16"
    assert dtype_of("parameter_gradient/hidden.kernel", looked, precision="fp16") == "float32"
    assert dtype_of("params/hidden.kernel", looked, precision="fp64") == "float64"
    assert HOLDS["bfloat16"] == 3.3895313892515355e38


def test_every_tensor_stands_beside_float64(step):
    """The distance is relative to the norm; where the oracle has none, or another shape, there is none."""
    _, _, expected, _ = step
    found = beside_float64({"output/hidden": expected["output/hidden"] * 1.5, "loss": np.zeros(3)}, expected)
    assert found[0].distance == pytest.approx(0.5)
    assert (found[1].distance, found[1].largest) == (None, 0.0)
