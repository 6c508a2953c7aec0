"""The optimizers' rules in numpy: the textbook's first step, what the state tells of a gradient, and rules that look alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

from runners.contract.optimizers import COUNTER, OPTIMIZERS, clipped, optimizer_of

RULES = {
    "sgd": {"name": "sgd", "momentum": 0.9, "nesterov": False, "weight_decay": 0.01, "weight_decay_on": "all"},
    "adamw": {
        "name": "adamw", "beta_1": 0.9, "beta_2": 0.99, "epsilon": 0.1, "epsilon_beside": "corrected", "weight_decay": 0.01,
        "weight_decay_on": "all",
    },
}


def steps_of(name: str, count: int, **changes):
    """Return the states before and after each of some steps on random gradients, and the gradients."""
    rule, generator = RULES[name] | changes, np.random.default_rng(0)
    parameters = {"a.kernel": generator.normal(size=(3, 2)), "a.bias": generator.normal(size=2)}
    state = {f"params/{name}": array for name, array in parameters.items()}
    state |= OPTIMIZERS[name].initial(parameters)
    states, gradients = [state], []
    for step in range(count):
        gradients.append({name: generator.normal(size=array.shape) for name, array in parameters.items()})
        states.append(OPTIMIZERS[name].update(rule, states[-1], gradients[-1], 0.1 / (1 + step)))
    return states, gradients


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_state_has_every_name(name):
    """Each slot has an array for each parameter, zero at first; the number of steps is there where the rule asks for it."""
    states, _ = steps_of(name, 1)
    expected = OPTIMIZERS[name].names(["a.kernel", "a.bias"]) | {"params/a.kernel", "params/a.bias"}
    assert [set(state) for state in states] == [expected] * 2
    assert not any(states[0][f"{slot}/a.kernel"].any() for slot in OPTIMIZERS[name].slots)
    assert optimizer_of({"optimizer": RULES[name]}) is OPTIMIZERS[name]
    assert (COUNTER in expected) == (name == "adamw")


def test_sgd_with_momentum_is_the_sum_of_what_came_before():
    """After two steps the buffer is momentum times the first decayed gradient, plus the second."""
    (start, first, second), gradients = steps_of("sgd", 2)
    decayed = [gradients[i]["a.bias"] + 0.01 * state["params/a.bias"] for i, state in enumerate((start, first))]
    np.testing.assert_allclose(second["momentum/a.bias"], 0.9 * decayed[0] + decayed[1], rtol=1e-14)
    np.testing.assert_allclose(second["params/a.bias"], first["params/a.bias"] - 0.05 * second["momentum/a.bias"], rtol=1e-14)


@pytest.mark.parametrize(("beside", "epsilon"), [("corrected", 0.1), ("uncorrected", 0.1 / math.sqrt(1 - 0.99))])
def test_the_first_step_of_adamw_is_the_gradients_sign(beside, epsilon):
    """Both corrected moments are then the gradient's: it moves by rate * g / (|g| + epsilon), and by its decay."""
    (start, first), (gradients,) = steps_of("adamw", 1, epsilon_beside=beside)
    for name, gradient in gradients.items():
        value = start[f"params/{name}"]
        expected = value - 0.1 * (gradient / (np.abs(gradient) + epsilon) + 0.01 * value)
        np.testing.assert_allclose(first[f"params/{name}"], expected, rtol=1e-13)
    assert int(first[COUNTER]) == 1


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_tells_of_its_gradient(name):
    """What a slot was and is gives the gradient back; with another rule's numbers it does not."""
    states, gradients = steps_of(name, 4)
    optimizer = OPTIMIZERS[name]

    def told(rule, before, after):
        slot = f"{optimizer.witness}/a.kernel"
        return optimizer.gradient(rule, before["params/a.kernel"], before[slot], after[slot])

    for before, after, gradient in zip(states, states[1:], gradients, strict=False):
        np.testing.assert_allclose(told(RULES[name], before, after), gradient["a.kernel"], rtol=1e-12, atol=1e-13)
    other = RULES[name] | {"momentum": 0.8, "beta_1": 0.8}
    assert np.abs(told(other, states[2], states[3]) - gradients[2]["a.kernel"]).max() > 1e-2


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_rule_that_looks_alike_goes_elsewhere(name):
    """Each of the rules that verify knows by name has another direction than the recipe's."""
    (*_, before, after), _ = steps_of(name, 3)
    optimizer = OPTIMIZERS[name]
    slots = [{slot: state[f"{slot}/a.kernel"] for slot in optimizer.slots} for state in (before, after)]
    arguments = RULES[name], before["params/a.kernel"], *slots, 3
    apart = [np.abs(other.direction(*arguments) - optimizer.direction(*arguments)).max() for other in optimizer.others]
    assert max(apart) > 1e-2
    assert name == "sgd" or min(apart) > 1e-2  # of SGD, one of two is the recipe's own


def test_nesterov_takes_the_gradient_and_the_buffer():
    """Its first step is 1 + momentum times the decayed gradient (Sutskever et al. 2013); SGD's own is that once."""
    (start, first), (gradients,) = steps_of("sgd", 1, nesterov=True)
    for name, gradient in gradients.items():
        decayed = gradient + 0.01 * start[f"params/{name}"]
        np.testing.assert_allclose(first[f"params/{name}"], start[f"params/{name}"] - 0.1 * 1.9 * decayed, rtol=1e-14)


def test_without_momentum_nothing_is_kept():
    """The rule has no slot and no witness; the step is the decayed gradient's."""
    rule = RULES["sgd"] | {"momentum": 0.0}
    plain = optimizer_of({"optimizer": rule})
    state = {"params/w": np.array([1.0, 2.0])}
    assert (plain.names(["w"]), plain.initial({"w": np.zeros(2)}), plain.witness) == (set(), {}, None)
    found = plain.update(rule, state, {"w": np.array([3.0, -1.0])}, 0.1)
    assert set(found) == {"params/w"}
    np.testing.assert_allclose(found["params/w"], [1.0 - 0.301, 2.0 + 0.098], rtol=1e-14)


def test_matrices_alone_decay():
    """A bias moves by its gradient, a kernel by its decay besides."""
    (start, first), (gradients,) = steps_of("adamw", 1, weight_decay_on="matrices")
    for name, decay in (("a.kernel", 0.01), ("a.bias", 0.0)):
        value, gradient = start[f"params/{name}"], gradients[name]
        expected = value - 0.1 * (gradient / (np.abs(gradient) + 0.1) + decay * value)
        np.testing.assert_allclose(first[f"params/{name}"], expected, rtol=1e-13)


CLIPPING = {"norm": "global", "threshold": 1.0, "epsilon": 1e-6}


def test_gradients_are_clipped_together():
    """A vector of length 5 keeps its direction and has length 1; one number says how much each array shrinks."""
    found = clipped({"clipping": CLIPPING}, {"a": np.array([3.0]), "b": np.array([[0.0, 4.0]])})
    assert found["a"][0] == pytest.approx(3.0 / (5.0 + 1e-6), rel=1e-15)
    assert found["b"][0, 1] == pytest.approx(4.0 / (5.0 + 1e-6), rel=1e-15)


@pytest.mark.parametrize("length", [0.0, 0.5, 1.0 - 1e-6])
def test_what_is_short_enough_is_not_clipped(length):
    """Up to the threshold, the norm's epsilon counted, gradients stay as they are, to the bit."""
    assert clipped({"clipping": CLIPPING}, {"a": np.array([length])})["a"][0] == length


def test_without_the_key_nothing_is_clipped():
    """A rule that says nothing of clipping takes gradients of any length."""
    assert clipped({}, {"a": np.array([1e9])})["a"][0] == 1e9


def test_what_is_kept_is_rounded():
    """Every array that a step leaves has passed the given rounding."""
    state = {"params/w": np.ones(2), "momentum/w": np.ones(2)}
    found = OPTIMIZERS["sgd"].update(RULES["sgd"], state, {"w": np.ones(2)}, 0.1, rounded=lambda array: np.round(array, 1))
    assert found["momentum/w"].tolist() == [1.9, 1.9]
    assert found["params/w"].tolist() == [0.8, 0.8]
