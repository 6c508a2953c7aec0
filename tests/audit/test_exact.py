"""What is right, and how far rounding takes a correct call: derivatives, kinks, floors, planted errors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from vigil.audit.arguments import Argument, integers, normal, spread, uniform
from vigil.audit.definitions import catalog
from vigil.audit.entry import Entry
from vigil.audit.exact import UNITS, exact_of
from vigil.audit.judge import measure
from vigil.audit.plan import EQUAL, GIVEN, SMOOTH, Trial, plan


def entry(definition, *, is_elementwise=False, **arguments) -> Entry:
    """Return an entry that is in no catalog."""
    return Entry(
        name="own", family="own", definition=definition, arguments=arguments, sizes=({"n": 33},), parameters=({},),
        source="https://example.org", is_elementwise=is_elementwise,
    )  # fmt: skip


def asked(definition, *, precision="fp32", n=33, **more):
    """Return a question, what is right, and the arrays of a call that is right but for rounding."""
    trial = Trial(entry(definition, **more), 0, {"n": n}, {}, precision)
    question = trial.question(5)
    return question, exact_of(trial, question, 5)


def soft(x):
    """Return a softmax along the last axis."""
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def soft_gradient(x, cotangent):
    """Return the gradient of it, as papers have it."""
    y = soft(x)
    return y * (cotangent - (y * cotangent).sum(-1, keepdims=True))


def rounded_answers(question):
    """Return what a call in float32 would give."""
    x = question.arguments["x"].astype(np.float64)
    gradient = soft_gradient(x, question.cotangents[0].astype(np.float64))
    return {"outputs/0": soft(x).astype(np.float32), "gradients/x": gradient.astype(np.float32)}


def test_a_correct_call_is_a_few_floors_off():
    """Outputs and gradients that are rounded once lie within a few floors."""
    question, exact = asked(soft, x=normal("n"))
    found = measure(question, exact, rounded_answers(question))
    assert max(each.ratio for each in found.values()) < 4
    assert exact.kinks == 0


@pytest.mark.parametrize("place", [0, 16, 32])
def test_one_wrong_element_of_a_gradient_is_seen(place):
    """Every element moves each direction: an error of a thousandth in any of them shows."""
    question, exact = asked(soft, x=normal("n"))
    arrays = rounded_answers(question)
    arrays["gradients/x"][place] += 1e-3 * np.abs(arrays["gradients/x"]).max()
    assert measure(question, exact, arrays)["gradients/x"].ratio > 100


def test_a_gradient_that_cancels_is_rounded_as_what_cancels():
    """A softmax of one number has a gradient of 0, which a framework makes of two sums: rounded, they differ by little."""
    question, exact = asked(soft, x=normal("n"), n=1)
    ratios = {}
    for name, share in {"alike": 1.0, "rounded": 1.0 + 2.0**-23, "a thousandth off": 1.001}.items():
        cotangent = question.cotangents[0].astype(np.float64)
        arrays = {"outputs/0": np.ones(1, np.float32), "gradients/x": (cotangent - cotangent * share).astype(np.float32)}
        ratios[name] = measure(question, exact, arrays)["gradients/x"].ratio
    assert ratios["alike"] == 0.0
    assert 1.0 < ratios["rounded"] < 32.0
    assert ratios["a thousandth off"] > 1e4


def halved_exponential(x, *, whole):
    """Return the exponential of a matrix by a Pade approximation of order 7: halved a number of times, and squared as often."""
    numbers = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
    times = int(max(0.0, whole(np.log2(np.abs(x).sum(0).max() / 3.925724783138660))))
    powers = [np.linalg.matrix_power(x / 2.0**times, power) for power in range(8)]
    odd, even = (sum(numbers[power] * powers[power] for power in range(first, 8, 2)) for first in (1, 0))
    return np.linalg.matrix_power(np.linalg.solve(even - odd, even + odd), 2**times)


@pytest.mark.parametrize("seed", range(6))
def test_one_halving_too_few_of_a_matrix_shows_with_every_seed(seed):
    """Signs that cancel hid it: with matrices of large norm, but small eigenvalues, both ways of rounding are right."""
    trial = next(each for each in plan(catalog()["expm_of_large_norm"]) if each.precision == "fp32")
    question = trial.question(seed)
    exact = exact_of(trial, question, seed)
    ratios = []
    for whole in (np.ceil, np.floor):
        x = question.arguments["x"].astype(np.float64)
        found = np.stack([halved_exponential(each, whole=whole) for each in x]).astype(np.float32)
        ratios.append(measure(question, exact, {"outputs/0": found})["outputs/0"].ratio)
    assert ratios[0] < 4 < 512 < ratios[1]


def test_an_output_that_cancels_is_rounded_as_its_entry_says():
    """A share of 0 has no floor of its own: 4e-8 is the rounding of 1, and 1e-3 is none."""
    for rounded_as, allowed in ((0.0, 1e-6), (1.0, 32.0)):
        nothing = entry(lambda x: np.asarray(np.sum(x) - np.sum(x)), x=uniform(0.5, 1.0, "n"))
        trial = Trial(dataclasses.replace(nothing, rounded_as=rounded_as), 0, {"n": 33}, {}, "fp32")
        question = trial.question(5)
        exact = exact_of(trial, question, 5)
        ratios = [
            measure(question, exact, {"outputs/0": np.asarray(each), "gradients/x": np.zeros(33)})["outputs/0"].ratio
            for each in (4e-8, 1e-3)
        ]
        assert (ratios[0] < allowed) == (rounded_as > 0.0)
        assert ratios[1] > 1e4


def test_a_gradient_whose_squares_are_infinite_is_wrong():
    """Rounding of 1e200 is 1e184, and not infinity, which would explain whatever comes."""
    question, exact = asked(soft, x=normal("n"))
    arrays = rounded_answers(question)
    arrays["gradients/x"] = np.where(np.arange(33) == 7, 1e200, arrays["gradients/x"].astype(np.float64))
    assert measure(question, exact, arrays)["gradients/x"].ratio > 1e4


def test_one_wrong_element_of_an_output_is_named():
    """The worst element is told with what it is and what it should be."""
    question, exact = asked(soft, x=normal("n"))
    arrays = rounded_answers(question)
    right = float(arrays["outputs/0"][7])
    arrays["outputs/0"][7] *= 1.001
    found = measure(question, exact, arrays)["outputs/0"]
    assert found.place == (7,)
    assert found.expected == pytest.approx(right)
    assert found.ratio > 1000


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda array: array[:-1], "shape"),
        (lambda array: np.where(np.arange(array.size) == 3, np.nan, array), "no number|not finite"),
        (lambda array: None, "nothing"),
    ],
)
@pytest.mark.parametrize("name", ["outputs/0", "gradients/x"])
def test_what_is_no_distance_is_told_as_a_problem(name, change, problem):
    """Another shape, a NaN and a missing array are beyond any limit."""
    question, exact = asked(soft, x=normal("n"))
    arrays = rounded_answers(question)
    arrays[name] = change(arrays[name])
    found = measure(question, exact, {key: each for key, each in arrays.items() if each is not None})[name]
    assert found.ratio == np.inf
    assert any(each in found.problem for each in problem.split("|"))


def test_a_gradient_that_was_never_made_is_caught():
    """Zeros are what a framework gives for an argument that it lost."""
    question, exact = asked(soft, x=normal("n"))
    arrays = rounded_answers(question) | {"gradients/x": np.zeros(33, np.float32)}
    assert measure(question, exact, arrays)["gradients/x"].ratio > 1e4


def test_nothing_is_held_to_a_difference_across_a_kink():
    """Where the derivative jumps within the step of the difference, there is none."""
    near = Argument(("n",), lambda random, shape, sizes: np.full(shape, 5e-4))
    _, exact = asked(lambda x: np.abs(x), is_elementwise=True, x=near)
    assert not exact.gradients["x"].where.any()
    assert exact.kinks == 33
    _, exact = asked(lambda x: np.abs(x), is_elementwise=True, x=uniform(0.5, 1.0, "n"))
    assert exact.gradients["x"].where.all()


def test_a_choice_that_rounding_changes_is_held_to_nothing():
    """Of two numbers that rounding makes equal either may be the largest; of numbers that are apart only one is."""
    near = Argument(("n",), lambda random, shape, sizes: 1.0 + 1e-12 * np.arange(shape[0]), is_differentiated=False)
    _, exact = asked(lambda x: np.asarray(np.argmax(x)), x=near)
    assert not exact.outputs[0].where.any()
    assert exact.kinks == 1
    question, exact = asked(lambda x: np.asarray(np.argmax(x)), x=spread("n").fixed())
    right = exact.outputs[0].values
    assert measure(question, exact, {"outputs/0": right})["outputs/0"].ratio == 0
    assert measure(question, exact, {"outputs/0": right + 1})["outputs/0"].ratio == np.inf


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16", "fp64"])
def test_a_tie_that_is_there_on_purpose_is_held(precision):
    """Of equal numbers the definition says which one is the largest, and whether one is less than another argument's."""
    equal = Argument(("n",), lambda random, shape, sizes: np.full(shape, 1.3), is_differentiated=False)
    question, exact = asked(lambda x: np.asarray(np.argmax(x)), precision=precision, x=equal)
    assert measure(question, exact, {"outputs/0": np.asarray(0)})["outputs/0"].ratio == 0
    assert measure(question, exact, {"outputs/0": np.asarray(32)})["outputs/0"].problem == "another choice"
    question, exact = asked(lambda x, y: x <= y, precision=precision, x=equal, y=equal)
    assert measure(question, exact, {"outputs/0": np.zeros(33, bool)})["outputs/0"].ratio == np.inf


@pytest.mark.parametrize("seed", range(3))
def test_the_last_of_equal_largest_numbers_is_seen(seed):
    """In every question that the operator is asked, as far as there are two largest numbers."""
    for trial in plan(catalog()["argmax_of_equals"]):
        question = trial.question(seed)
        exact = exact_of(trial, question, seed)
        x, axis = trial.arguments(seed)["x"], trial.parameters["axis"]
        last = x.shape[axis] - 1 - np.argmax(np.flip(x, axis), axis)
        is_seen = measure(question, exact, {"outputs/0": last})["outputs/0"].ratio == np.inf
        assert is_seen == bool((last != exact.outputs[0].values).any()), trial.form


@pytest.mark.parametrize("name", ["outputs/0", "gradients/x"])
@pytest.mark.parametrize("is_elementwise", [False, True])
def test_complex_numbers_where_real_ones_are_right_are_a_problem(name, is_elementwise):
    """Their real part alone would be right."""
    question, exact = asked(lambda x: np.tanh(x), is_elementwise=is_elementwise, x=normal("n"))
    x = question.arguments["x"].astype(np.float64)
    arrays = {"outputs/0": np.tanh(x), "gradients/x": question.cotangents[0] * (1 - np.tanh(x) ** 2)}
    assert measure(question, exact, arrays)[name].ratio < 4
    found = measure(question, exact, arrays | {name: arrays[name] + 5j})[name]
    assert (found.ratio, found.problem) == (np.inf, "gave complex numbers, not real ones")


def test_a_float32_within_float64_is_seen():
    """Float64 is held to far less than float32 rounds."""
    question, exact = asked(lambda x: np.exp(x), precision="fp64", is_elementwise=True, x=normal("n"))
    right = exact.outputs[0].values
    assert measure(question, exact, {"outputs/0": right})["outputs/0"].ratio < 1
    narrow = right.astype(np.float32).astype(np.float64)
    assert measure(question, exact, {"outputs/0": narrow})["outputs/0"].ratio > 1000


def test_an_accumulator_in_bfloat16_is_seen():
    """A sum of a thousand numbers that was added in bfloat16 is off by far more than its result's rounding."""
    question, exact = asked(lambda x: np.sum(x, -1), precision="bf16", n=1027, x=uniform(0.5, 1.5, "n"))
    exact_sum = float(exact.outputs[0].values)
    total = np.float32(0.0)
    for each in question.arguments["x"]:
        total = np.float32(np.round((total + each) / 2.0 ** (np.floor(np.log2(total + each)) - 7)) * 2.0 ** (
            np.floor(np.log2(total + each)) - 7))  # fmt: skip
    assert measure(question, exact, {"outputs/0": np.asarray(np.float32(exact_sum))})["outputs/0"].ratio < 1
    assert measure(question, exact, {"outputs/0": np.asarray(total)})["outputs/0"].ratio > 32


def test_whole_numbers_are_no_floating_point():
    """They are not moved, and have no floors."""
    _, exact = asked(lambda x: x + 1, x=integers(0, 9, "n"))
    assert exact.outputs[0].floors is None
    assert exact.outputs[0].where.all()
    assert UNITS["fp32"] == 2.0**-24


def of_two(function, **more):
    """Return an elementwise entry of two numbers."""
    return entry(lambda x, y: function(x, y), is_elementwise=True, x=normal("n"), y=normal("n"), **more)


def asked_equal(function):
    """Return what is asked of a function of two numbers where they are equal or zero, what is right, and the numbers."""
    trial = Trial(of_two(function), 0, {"n": 99}, {}, "fp64", values=EQUAL)
    question = trial.question(5)
    return question, exact_of(trial, question, 5), question.arguments["x"], question.arguments["y"]


def test_elementwise_functions_are_asked_for_equal_numbers_in_float64():
    """Last of all, so that what was drawn for the others stays; not in the quick form, nor where the entry says no."""
    several = of_two(np.logaddexp)
    assert [(each.values, each.precision, each.derives) for each in plan(several)[-2:]] == [
        (EQUAL, "fp64", False), (SMOOTH, "fp64", True),
    ]  # fmt: skip
    assert {each.values for each in plan(several)[:-2]} == {GIVEN}
    for without in (
        plan(several, is_quick=True), plan(several, precisions=["fp32"]), plan(entry(soft, x=normal("n"))),
        plan(dataclasses.replace(several, takes_equal=False)),
    ):  # fmt: skip
        assert {each.values for each in without} == {GIVEN}


def test_equal_numbers_stay_where_a_function_is_defined():
    """Of positive numbers none is negative, and where the definition gives no number, the numbers are as they were drawn."""
    reciprocal = entry(lambda x: 1.0 / x, is_elementwise=True, x=uniform(0.5, 3.0, "n"))
    trial = Trial(reciprocal, 0, {"n": 999}, {}, "fp64", values=EQUAL)
    x = trial.arguments(5)["x"]
    assert x.min() > 0.0
    assert 0.1 < np.mean(x == 1.0) < 0.5


@pytest.mark.parametrize(
    ("function", "jumps"),
    [
        (np.logaddexp, lambda x, y: np.zeros(x.shape, bool)),
        (np.maximum, lambda x, y: x == y),
        (lambda x, y: x * np.abs(y), lambda x, y: (y == 0.0) & (x != 0.0)),
    ],
)
def test_second_derivatives_are_asked_at_equal_numbers_where_they_are(function, jumps):
    """So a sum over all elements is held, which one that jumps would leave unheld; the others are as they were."""
    trial = Trial(of_two(function), 0, {"n": 99}, {}, "fp64", values=SMOOTH, derives=True)
    exact, found = exact_of(trial, trial.question(5), 5), trial.arguments(5)
    equal = trial._replace(values=EQUAL).arguments(5)
    stays = (found["x"] == equal["x"]) & (found["y"] == equal["y"])
    jump = jumps(equal["x"], equal["y"])
    assert not stays[jump].any()
    assert stays[~jump].mean() > 0.75  # those beside the axes, within some steps of a jump, need not stay
    assert ((found["x"] == 0.0) | (found["y"] == 0.0) | (found["x"] == 1.0)).any()
    assert np.isfinite(exact.derivatives.pulled[1])
    assert np.isfinite(exact.derivatives.second[0][1]).all()


@pytest.mark.parametrize("seed", range(20))
def test_each_combination_of_two_numbers_is_there_with_any_seed(seed):
    """A known finding that shows at one of them alone shows in every audit."""
    arguments = Trial(of_two(np.logaddexp), 0, {"n": 33}, {}, "fp64", values=EQUAL).arguments(seed)
    x, y = arguments["x"], arguments["y"]
    drawn = [~np.isin(np.abs(each), (0.0, 1.0)) for each in (x, y)]
    pairs = ((a, b) for a in (0.0, 1.0, -1.0) for b in (0.0, 1.0, -1.0))
    assert all(((x == a) & (y == b)).any() for a, b in pairs)
    assert all(some.any() for some in ((x == y) & drawn[0], (x == -y) & drawn[0], drawn[0] & (y == 0.0), drawn[1] & (x == 0.0)))


@pytest.mark.parametrize(
    ("function", "gradient"),
    [
        (np.logaddexp, lambda x, y: 1.0 / (1.0 + np.exp(y - x))),
        (np.hypot, lambda x, y: np.divide(x, np.hypot(x, y), where=np.hypot(x, y) > 0.0, out=np.zeros_like(x))),
        (np.maximum, lambda x, y: (x > y) + 0.5 * (x == y)),
        (np.maximum, lambda x, y: 1.0 * (x >= y)),
        (lambda x, y: x * np.abs(x) + y, lambda x, y: 2.0 * np.abs(x)),
        (lambda x, y: np.abs(x) * y, lambda x, y: np.sign(x) * y),
    ],
)
def test_a_right_gradient_at_equal_numbers_is_right(function, gradient):
    """Where the derivative jumps nothing is held to it, whichever of its sides a framework takes, or the middle."""
    question, exact, x, y = asked_equal(function)
    found = {"outputs/0": function(x, y), "gradients/x": gradient(x, y) * question.cotangents[0]}
    measured = measure(question, exact, {**found, "gradients/y": exact.gradients["y"].values})
    assert measured["gradients/x"].ratio < 4
    assert measured["outputs/0"].ratio < 4


def test_a_jump_widens_no_floor_of_the_others():
    """A difference across a step is as large as one over its own: beside it a gradient that is off by 1e-6 is seen."""
    question, exact, x, y = asked_equal(lambda x, y: np.sign(x) + x * y)
    right = y * question.cotangents[0]
    arrays = {"outputs/0": np.sign(x) + x * y, "gradients/x": right, "gradients/y": x * question.cotangents[0]}
    assert not exact.gradients["x"].where[x == 0.0].any()
    assert measure(question, exact, arrays)["gradients/x"].ratio < 4
    assert measure(question, exact, {**arrays, "gradients/x": right * (1.0 + 1e-6)})["gradients/x"].ratio > 1e4


def test_a_jump_that_a_small_number_pulls_is_a_jump():
    """A gradient of 5e-4 and one of 0 meet where it is pulled by 5e-4, among others of 1: nothing is held there, either."""
    trial = Trial(of_two(np.maximum), 0, {"n": 99}, {}, "fp64", values=EQUAL)
    question = trial.question(5)
    apart = np.abs(question.arguments["x"] - question.arguments["y"])
    equal = apart == 0.0
    question = question._replace(cotangents=(np.where(equal, 5e-4, question.cotangents[0]),))
    held = exact_of(trial, question, 5).gradients["x"].where
    assert equal.any()
    assert not held[equal].any()
    assert held[apart > 0.01].all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda gradient, x, y: np.where(x == y, 2.0 * gradient, gradient),
        lambda gradient, x, y: np.where(x == 0.0, 0.0, gradient),
        lambda gradient, x, y: np.where(x == -y, np.nan, gradient),
    ],
)
def test_a_gradient_that_is_wrong_at_equal_numbers_alone_is_seen(wrong):
    """It is doubled, lost or not a number there; at numbers that are all different nothing shows it."""
    question, exact, x, y = asked_equal(np.logaddexp)
    right = question.cotangents[0] / (1.0 + np.exp(y - x))
    rest = {"outputs/0": np.logaddexp(x, y), "gradients/y": exact.gradients["y"].values}
    assert measure(question, exact, {**rest, "gradients/x": wrong(right, x, y)})["gradients/x"].ratio > 1e6
    trial = Trial(of_two(np.logaddexp), 0, {"n": 99}, {}, "fp64")
    question, exact = trial.question(5), exact_of(trial, trial.question(5), 5)
    x, y = question.arguments["x"], question.arguments["y"]
    right = question.cotangents[0] / (1.0 + np.exp(y - x))
    rest = {"outputs/0": np.logaddexp(x, y), "gradients/y": exact.gradients["y"].values}
    assert measure(question, exact, {**rest, "gradients/x": wrong(right, x, y)})["gradients/x"].ratio < 4


@pytest.mark.parametrize("family", ["optimizers", "own"])
def test_weights_that_have_become_small_keep_the_rounding_of_large_ones(family):
    """A weight of 1,000 that steps take to a thousandth is off by what was rounded at 1,000."""
    walk = dataclasses.replace(entry(lambda x: (x, x * 1e-6), x=normal("n")), family=family)
    trial = Trial(walk, 0, {"n": 1}, {}, "fp32")
    first, last = exact_of(trial, trial.question(1), 1).outputs
    assert (last.floors > 0.05 * first.floors).all() == (family == "optimizers")
