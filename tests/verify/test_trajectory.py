"""Hundreds of steps in a row, in answers that are made here: what is wrong at one time is seen, and its step is named."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.documents import a_record
from vigil.documents.context import make_context
from vigil.recipes.loading import load_recipe
from vigil.verify import localise, trajectory
from vigil.verify.ask import Answers, Setting
from vigil.verify.examination import differences_in
from vigil.verify.invariants import check_determinism
from vigil.verify.limits import TRAJECTORY as SIZE
from vigil.verify.limits import size_of
from vigil.verify.localise import Search
from vigil.verify.standard_cases import TRAJECTORY, further_cases
from vigil.verify.standards import load_standard

CONTEXT = make_context(framework="torch")


@pytest.fixture(scope="module")
def standard():
    """The tape and limits of the small recipe."""
    return load_standard(load_recipe("digits_mlp"), "quick", data_directory=None)


@pytest.fixture(scope="module")
def case(standard):
    """The trajectory of the small recipe."""
    return further_cases(standard.tape.training, standard.tape.probes, precision="fp32")[-1]


def make_answer(standard, case, *, kept=TRAJECTORY, wrong=lambda step, state: state):
    """Return what a program in float32 would answer whose arithmetic is exact; `wrong` changes the state after a step."""
    tape = standard.tape
    state = {name: np.asarray(array, np.float32) for name, array in tape.probes[case.state].state.items()}
    answer, losses = {f"{kept[0]}/{name}": array for name, array in state.items()}, []
    for step in range(kept[-1]):
        found = trajectory.take(case, tape, state, step, step + 1, precision="fp32").expected
        losses.append(float(found["loss"][0]))
        state = wrong(step + 1, {name: np.asarray(found[name], np.float32) for name in state})
        if step + 1 in kept:
            answer |= {f"{step + 1}/{name}": array for name, array in {**state, "loss": np.array(losses)}.items()}
            losses = []
    return {**answer, "differing": np.zeros(0, np.int64)}


@pytest.fixture(scope="module")
def right(standard, case):
    """The answer of a program that is right."""
    return make_answer(standard, case)


def out_of(standard, case, answer):
    """Return what is out, by the limits."""
    found = differences_in(case, standard.tape, answer, context=CONTEXT)
    return [each for each in found if standard.limits.score(each, "fp32") > 1.0]


def pushed(at, factor=1.001, *, group="params/"):
    """Return what multiplies a group of the state after the step `at`."""
    return lambda step, state: {
        name: array * np.float32(factor) if step == at and name.startswith(group) else array for name, array in state.items()
    }


def test_the_number_of_pieces_is_a_prime_and_none_begins_like_the_one_before(standard, case):
    """What is wrong every 256 calls, or every 10, 50 or 100, falls on another step the second time."""
    n = TRAJECTORY[-1]
    assert n >= 512
    assert all(n % every for every in (3, 5, 7, 10, 16, 50, 100, 128, 256, 500, 512))
    assert len(set(np.diff(TRAJECTORY))) == 1
    assert np.gcd(TRAJECTORY[1], len(case.batches)) == 1
    assert size_of(case.name) == SIZE


def test_only_a_small_model_takes_hundreds_of_steps():
    """The others' steps take too long."""
    tape = load_standard(load_recipe("resnet_cifar"), "quick", data_directory=None).tape
    assert further_cases(tape.training, tape.probes, precision="fp32") == []
    assert [each.kind for each in further_cases(tape.training, tape.probes, precision="fp16")] == ["step", "step"]


def test_right_steps_are_within_a_floor_or_two(standard, case, right):
    """Every tensor of a state and the loss are judged, and nothing is out."""
    found = differences_in(case, standard.tape, right, context=CONTEXT)
    names = {"loss", *standard.tape.probes["init"].state}
    assert {each.tensor.partition("/")[2] for each in found} == names
    assert max(each.ratio for each in found) < 2.0
    assert out_of(standard, case, right) == []


@pytest.mark.parametrize("at", [101, 536])
def test_one_wrong_step_of_hundreds_is_out(standard, case, at):
    """Its piece is, and the next begins from it and is right."""
    out = out_of(standard, case, make_answer(standard, case, wrong=pushed(at)))
    assert {trajectory.step_of(each.tensor) for each in out} == {8 * -(-at // 8)}


@pytest.mark.parametrize("kind", ["missing", "shape", "not finite"])
def test_what_is_missing_or_odd_is_out(standard, case, right, kind):
    """A state that is not there has nothing to go on from, and is told once."""
    answer, tensor = dict(right), "256/params/hidden.kernel"
    value = answer.pop(tensor)
    if kind != "missing":
        answer[tensor] = np.full_like(value, np.nan) if kind == "not finite" else value[:-1]
    out = out_of(standard, case, answer)
    assert [each.tensor for each in out] == [tensor]
    assert kind in out[0].problem


def test_nothing_answered_is_missing(standard, case):
    """A case that a runner passed over is not a pass."""
    assert {each.problem for each in out_of(standard, case, {})} == {"missing"}


@pytest.mark.parametrize(("factor", "count"), [(1.0 + 1e-7, 0), (1.001, 1)])
def test_pieces_that_end_otherwise_are_measured_in_floors(standard, case, right, factor, count):
    """As where calls are repeated: programs may add in another order each time; one that goes elsewhere is out."""
    again = {f"again/{name}": array for name, array in right.items() if name.startswith("256/")}
    again["again/256/params/hidden.kernel"] = again["again/256/params/hidden.kernel"] * np.float32(factor)
    out = out_of(standard, case, {**right, **again, "differing": np.array([256])})
    assert [each.tensor for each in out] == ["again/256/params/hidden.kernel"][:count]


def test_bits_count_where_they_are_promised(case, right):
    """In a context with determinism one bit is enough."""
    assert check_determinism(case, right) == []
    (broken,) = check_determinism(case, {**right, "differing": np.array([24, 256])})
    assert (broken.tensor, broken.case) == ("again/24", "init/trajectory")
    assert "2 pieces ended in other bits" in broken.what


def rate_doubled(standard, case):
    """Return what takes step 256 at twice its rate."""
    before = {}

    def wrong(step, state):
        if step == 256:
            parameters = (name for name in state if name.startswith("params/"))
            state = state | {name: 2 * state[name] - before[name] for name in parameters}
        before.update(state)
        return state

    return wrong


@pytest.fixture
def located(standard, case, monkeypatch):
    """Return a function that localises a wrong state; the layers' outputs alone change at the calls that are given."""

    def find(make_wrong, *, changed=()):
        answer = make_answer(standard, case, wrong=make_wrong())

        def ask(setting, tape, lines, *, more=None, on_event=None):
            if setting.directory.name == "piece":
                assert lines[0]["name"] == "init/margin"  # all cases, so that calls have their numbers again
                kept = lines[-1]["kept"]
                return Answers(a_record(), {case.name: make_answer(standard, case, kept=kept, wrong=make_wrong())}, {})
            (line,) = lines
            taps = {f"changed/{tap}": np.array(changed if tap == "hidden" else (), np.int64) for tap in line["taps"]}
            return Answers(a_record(), {line["name"]: taps}, {})

        monkeypatch.setattr(localise, "ask", ask)
        setting = Setting(CONTEXT, Path("nowhere/answers"), 0, None)
        cases = [*standard.tape.cases, case]
        answers = Answers(a_record(), {case.name: answer}, {})
        out = out_of(standard, case, answer)
        found = localise.localise(Search(setting, standard.tape, standard.limits, answers, out, lambda event: None, cases))
        (origin,) = found.origins
        return origin, found

    return find


def test_a_rate_that_is_wrong_once_is_named_with_its_step(standard, case, located):
    """Parameters alone are off in step 256, by the whole of the step."""
    origin, _ = located(lambda: rate_doubled(standard, case))
    assert (origin.layer, origin.phase, origin.quantity) == ("optimizer", "repetition", "learning rate")
    assert origin.slope == pytest.approx(2.0, abs=1e-3)
    assert origin.remark.startswith("first seen in step 256 of 536; the step is 2")


def test_a_layer_that_changes_after_many_calls_is_named(located):
    """The state tells the step, the layer's own output whose fault it is."""
    origin, _ = located(lambda: pushed(103, group="momentum/"), changed=(100, 101))
    assert (origin.layer, origin.phase, origin.quantity) == ("hidden", "repetition", "output")
    assert "first seen in step 103 of 536; alone, call 101 of 592" in origin.remark


@pytest.mark.slow
def test_what_no_layer_shows_alone_is_told_by_the_state(located):
    """Backward, what the last layer keeps of its gradient comes first."""
    origin, found = located(lambda: pushed(103, group="momentum/"))
    assert (origin.layer, origin.phase, origin.quantity) == ("output", "repetition", "momentum of bias")
    assert origin.remark.endswith("every layer's output alone repeats itself")
    assert found.passengers


def test_floors_of_pieces_are_alike(standard, case):
    """One floor stands for all pieces: those of the first and the last are within a factor of three of it."""
    tape = standard.tape
    state = {name: np.asarray(array, np.float64) for name, array in tape.probes["init"].state.items()}
    pieces = []
    for first, last in itertools.pairwise(TRAJECTORY):
        piece = trajectory.take(case, tape, state, first, last, precision="fp32")
        if first in (0, TRAJECTORY[-2]):
            pieces.append((state, piece))
        state = {name: piece.expected[name] for name in state}
    trajectory.keep_floors(case, tape, precision="fp32")
    for piece in pieces:
        for name, floor in trajectory.make_floors(case, tape, [piece], precision="fp32").items():
            assert 1 / 3 < floor.distance / tape.floors["fp32"][case.name][name].distance < 3
