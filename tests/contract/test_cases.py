"""Cases are read and answered as asked: the framework-free part of a verify task, driven with a model of one number."""

from __future__ import annotations

import json

import numpy as np
import pytest

from runners.contract.errors import Unsupported
from runners.contract.protocol.answers import Choices, Segments, answer_cases, require_oracle, same_bits, sum_of_parts
from runners.contract.protocol.cases import Case, by_trainer, read_answers, read_cases
from runners.contract.protocol.events import EventWriter, read_events
from runners.contract.protocol.session import Session

COMMON = {"state": "start", "shards": [4], "evaluation_rows": 2, "evaluation_shards": [2]}
STEP = {**COMMON, "name": "step", "kind": "step", "batch": "a", "learning_rate": 0.5}
REPEAT = {**COMMON, "name": "repeat", "kind": "repeat", "batches": ["a", "b"], "times": 30, "learning_rate": 0.5}
TAPPED = {
    **COMMON, "name": "tapped", "kind": "segments", "batch": "a", "taps": ["first"], "cuts": [], "leaves": "zero", "scale": 4.0,
}  # fmt: skip


LONG = {
    **COMMON, "name": "long", "kind": "trajectory", "batches": ["a", "b"], "learning_rate": 0.5, "kept": [0, 3, 6, 9],
    "again": [3, 6, 9],
}  # fmt: skip


class OneNumber:
    """A prober whose parameter `w` moves by the mean of the batch; statistics count the training passes."""

    warm_up_calls, has_forward_alone = 0, True

    def __init__(self, *, wrong_calls=(), noise=0.0) -> None:
        self.wrong_calls, self.noise, self.calls, self.spec = wrong_calls, noise, -1, None

    def set_state(self, state):
        self.state = {name: array.copy() for name, array in state.items()}

    def set_weights(self, state):
        self.set_state({**state, "stats/fresh": np.array(1.0)})

    def get_state(self):
        return {name: array.copy() for name, array in self.state.items()}

    def train_step(self, images, labels, learning_rate):
        return self.accumulate([(images, labels)], learning_rate)

    def accumulate(self, batches, learning_rate):
        self.calls += 1
        means = [float(images.mean()) for images, _ in batches]
        wrong = self.wrong_calls.index(self.calls) + 1 if self.calls in self.wrong_calls else 0
        self.state["params/w"] -= learning_rate * (np.mean(means) + self.noise * self.calls + wrong)
        self.state["stats/n"] += len(batches)
        return np.mean(means)

    def training_forward(self, images, labels):
        self.calls += 1
        self.state["stats/n"] += 1 + (self.calls in self.wrong_calls)
        return images.mean()

    def predict(self, images):
        return images.mean(axis=(1, 2)) + self.state["params/w"]

    def replica_spread(self):
        return {"params": 0.25}

    def segments(self, example):
        def run(inputs: Segments):
            self.calls += 1
            self.state["stats/n"] += 1
            mean = inputs.images.mean(axis=(1, 2, 3)) + (self.calls in self.wrong_calls)
            part = {"loss": np.array(1.0), "dtype/first": np.array("float64"), "output/first": mean}
            part |= {"leaf_gradient/first": np.full(4, inputs.scale), "parameter_gradient/w": np.array(inputs.scale)}
            return sum_of_parts([part], scale=inputs.scale)

        return run


    def choices(self, example: Choices):
        def run():
            self.calls += 1
            return {f"output/{tap}": example.leaves["first"] + example.images.mean() + self.calls for tap in example.taps}

        return run


class EachItsOwn(OneNumber):
    """Devices move statistics of their own, which become one when the state is read, as before an evaluation."""

    of_a_device = 0.0

    def training_forward(self, images, labels):
        self.of_a_device += 1

    def get_state(self):
        self.state["stats/n"] += self.of_a_device
        self.of_a_device = 0.0
        return super().get_state()

    def predict(self, images):
        return images.mean(axis=(1, 2)) + self.state["stats/n"]


@pytest.fixture
def answer(tmp_path, make_spec, training):
    """Return a function that answers cases with a prober, and gives all answers and the events."""

    def answer_all(prober, *cases):
        generator = np.random.default_rng(0)
        probes = {"state/start/params/w": np.array(2.0), "state/start/stats/n": np.array(0.0), "leaf/zero/first": np.zeros(4)}
        for key, rows in (("a", 4), ("b", 4), ("six", 6), ("two", 2)):
            probes[f"batch/{key}/images"] = generator.normal(size=(rows, 32, 32, 3)).astype(np.float32)
            probes[f"batch/{key}/labels"] = np.zeros(rows, np.int32)
        np.savez(tmp_path / "probes.npz", **probes)
        (tmp_path / "cases.json").write_text(json.dumps(cases))
        events = EventWriter(tmp_path, heartbeat_seconds=60.0)
        seen = []

        def make_prober(spec, example):
            seen.append((spec.shards, spec.training["batch_size"], spec.evaluation_shards, example[0].shape))
            return prober

        try:
            answer_cases(Session(tmp_path, make_spec(task="verify"), events), make_prober)
        finally:
            events.close()
        return [read_answers(tmp_path, index) for index in range(len(cases))], seen, probes, read_events(tmp_path)

    return answer_all


def test_every_call_begins_from_the_named_state(answer):
    """Two equal steps in a row have equal answers: the second does not see what the first left."""
    (first, second), _, probes, _ = answer(OneNumber(), STEP, {**STEP, "name": "again"})
    assert first["params/w"] == 2.0 - 0.5 * float(probes["batch/a/images"].mean())
    assert first["loss"] == pytest.approx(float(probes["batch/a/images"].mean()))
    assert same_bits(first, second)
    assert first["replicas/params"] == 0.25


def test_a_fresh_step_loads_weights_alone(answer):
    """What the optimizer was made with is left; a case that says nothing, as older ones, loads all."""
    (fresh, loaded), _, _, _ = answer(OneNumber(), {**STEP, "is_fresh": True}, {**STEP, "name": "loaded"})
    assert "stats/fresh" in fresh
    assert "stats/fresh" not in loaded


def test_an_optimizer_that_has_stepped_is_not_fresh(answer):
    """A case that asks for a fresh one after another case is refused."""
    with pytest.raises(ValueError, match="case 'late': its optimizer is not fresh"):
        answer(OneNumber(), STEP, {**STEP, "name": "late", "is_fresh": True})


def test_a_trajectory_goes_on_from_its_own_steps(answer):
    """Nine steps in one go end where nine steps do, on the batches in turn; each piece repeats itself."""
    (found,), _, probes, _ = answer(OneNumber(), LONG)
    means = [float(probes[f"batch/{key}/images"].mean()) for key in "abababababa"[:9]]
    assert found["0/params/w"] == 2.0
    assert found["9/params/w"] == pytest.approx(2.0 - 0.5 * sum(means), rel=1e-12)
    assert found["6/loss"].tolist() == means[3:6]
    assert found["9/replicas/params"] == 0.25
    assert found["differing"].tolist() == []
    assert not [name for name in found if name.startswith("again/")]


@pytest.mark.parametrize("call", [4, 13])
def test_a_step_that_is_wrong_at_one_time_is_right_at_the_other(answer, call):
    """The fifth call of eighteen is step 5 the first time, the fourteenth step 5 the second: either way its piece differs."""
    (found,), _, _, _ = answer(OneNumber(wrong_calls=(call,)), LONG)
    assert found["differing"].tolist() == [6]
    assert abs(found["again/6/params/w"] - found["6/params/w"]) == pytest.approx(0.5)


def test_only_the_pieces_that_are_named_are_taken_again(answer):
    """Where steps are dear, the others are left; and a warm-up is no step of the trajectory."""
    prober = OneNumber(wrong_calls=(2 + 4,))
    prober.warm_up_calls = 2
    (found,), _, _, _ = answer(prober, {**LONG, "again": [9]})
    assert found["differing"].tolist() == []
    assert prober.calls == 2 + 9 + 3 - 1


def test_each_kind_makes_the_calls_that_it_says(answer):
    """Predict moves nothing, alternation makes a forward pass a batch, accumulation one update of all of them."""
    predict = {**COMMON, "name": "predict", "kind": "predict", "batch": "two"}
    alternate = {**COMMON, "name": "alternate", "kind": "alternate", "batches": ["a", "b", "a"], "batch": "two"}
    accumulate = {**COMMON, "name": "accumulate", "kind": "accumulate", "batches": ["a", "b"], "learning_rate": 0.5}
    (predicted, alternated, accumulated), _, probes, _ = answer(OneNumber(), predict, alternate, accumulate)
    assert set(predicted) == {"logits", "stats/n"}
    assert predicted["stats/n"] == 0.0
    assert (alternated["stats/n"], alternated["params/w"]) == (3.0, 2.0)
    np.testing.assert_array_equal(alternated["logits"], predicted["logits"])
    mean = (probes["batch/a/images"].mean(dtype=float) + probes["batch/b/images"].mean(dtype=float)) / 2
    assert accumulated["params/w"] == pytest.approx(2.0 - 0.5 * mean, rel=1e-6)


def test_an_evaluation_batch_is_filled_up_with_blank_images(answer):
    """The program has one size for all; what it says of blank images is no answer."""
    taken = []

    class Watched(OneNumber):
        def predict(self, images):
            taken.append(images)
            return super().predict(images)

    predict = {**COMMON, "name": "predict", "kind": "predict", "batch": "two", "evaluation_shards": [3, 2]}
    step = {**STEP, "evaluation_shards": [3, 2]}
    alternate = {**predict, "name": "alternate", "kind": "alternate", "batches": ["a"]}
    (_, predicted, alternated), seen, probes, _ = answer(Watched(), step, predict, alternate)
    two = probes["batch/two/images"]
    assert [each[2] for each in seen] == [(3, 2)]
    for images, found in zip(taken, (predicted, alternated), strict=True):
        np.testing.assert_array_equal(images[:2], two)
        assert (len(images), images[2:].any(), images.dtype) == (5, False, two.dtype)
        np.testing.assert_array_equal(found["logits"], two.mean(axis=(1, 2)) + np.array(2.0))


def test_alternation_evaluates_with_the_statistics_of_all_devices(answer):
    """What devices moved on their own is one before the evaluation, as it is when a run is evaluated."""
    alternate = {**COMMON, "name": "alternate", "kind": "alternate", "batches": ["a", "b", "a"], "batch": "two"}
    (alternated,), _, probes, _ = answer(EachItsOwn(), alternate)
    assert alternated["stats/n"] == 3.0
    np.testing.assert_allclose(alternated["logits"], probes["batch/two/images"].mean(axis=(1, 2)) + 3.0, rtol=1e-6)


@pytest.mark.parametrize("warm_up_calls", [0, 2])
def test_a_choice_is_told_once_its_program_is_warm(answer, warm_up_calls):
    """What is given goes in the place of its tap, and of the calls the last one counts."""
    prober = OneNumber()
    prober.warm_up_calls = warm_up_calls
    choose = {**COMMON, "name": "choose", "kind": "choose", "batch": "a", "leaves": "zero", "taps": ["second"]}
    (found,), _, probes, _ = answer(prober, choose)
    assert set(found) == {"output/second"}
    np.testing.assert_allclose(found["output/second"], np.full(4, probes["batch/a/images"].mean() + warm_up_calls), rtol=1e-6)


def test_a_trainer_is_made_for_each_size_of_batch(answer):
    """Consecutive cases of one size share a trainer, whose spec has that size; another size has its own."""
    six = {**STEP, "name": "six", "batch": "six", "shards": [6]}
    _, seen, _, events = answer(OneNumber(), STEP, {**STEP, "name": "again"}, six)
    assert seen == [((4,), 4, (2,), (4, 32, 32, 3)), ((6,), 6, (2,), (6, 32, 32, 3))]
    probed = [event for event in events if event["kind"] == "probed"]
    assert [(event["index"], event["name"], event["phase"]) for event in probed] == [
        (0, "step", "verify"),
        (1, "again", "verify"),
        (2, "six", "verify"),
    ]
    (finished,) = [event for event in events if event["kind"] == "finished"]
    assert (finished["step"], finished["metrics"], finished["state_sha256"]) == (0, {}, None)


def test_a_call_that_differs_is_found_and_written(answer):
    """Of thirty calls the twentieth is wrong: it alone is named, and stands beside the first call of each batch."""
    (found,), _, _, _ = answer(OneNumber(wrong_calls=(19,)), REPEAT)
    assert found["differing"].tolist() == [19]
    assert found["calls"].tolist() == [0, 1, 19]
    assert found["19/params/w"] != found["1/params/w"]
    (clean,), _, _, _ = answer(OneNumber(), REPEAT)
    assert (clean["differing"].tolist(), clean["calls"].tolist()) == ([], [0, 1])


def test_calls_after_the_whole_steps_are_forward_passes(answer):
    """They give the loss and the statistics alone, which are held against those of the first step on their batch."""
    passes = {**REPEAT, "steps": 6}
    (clean,), _, _, _ = answer(OneNumber(), passes)
    assert (clean["differing"].tolist(), clean["calls"].tolist()) == ([], [0, 1])
    (found,), _, _, _ = answer(OneNumber(wrong_calls=(4, 19)), passes)
    assert (found["differing"].tolist(), found["calls"].tolist()) == ([4, 19], [0, 1, 4, 19])
    assert {name for name in found if name.startswith("19/")} == {"19/loss", "19/stats/n"}
    assert found["19/stats/n"] == 2.0
    with_backward = OneNumber(wrong_calls=(19,))
    with_backward.has_forward_alone = False
    (whole,), _, _, _ = answer(with_backward, passes)
    assert whole["calls"].tolist() == [0, 1, 19]
    assert "19/params/w" in whole  # a step, where a forward pass would take as long
    (noisy,), _, _, _ = answer(OneNumber(wrong_calls=tuple(range(6, 30))), passes)
    assert noisy["calls"].tolist() == [0, 1, 6, 7]  # of each batch, what differs alike is written once


def test_among_many_that_differ_the_farthest_are_kept(answer):
    """Where every call rounds otherwise, the one that is really wrong is still written."""
    (found,), _, _, _ = answer(OneNumber(wrong_calls=(12,), noise=1e-9), REPEAT)
    assert found["differing"].tolist() == list(range(2, 30))
    assert len(found["calls"]) == 10
    assert {0, 1, 12} <= set(found["calls"].tolist())


def test_segments_are_unscaled_and_what_changes_is_named(answer):
    """Gradients are divided by the scale; of repeated calls the ones with another output are listed by tap."""
    (once, often), _, _, _ = answer(OneNumber(wrong_calls=(8,)), TAPPED, {**TAPPED, "name": "often", "times": 12})
    assert once["leaf_gradient/first"].tolist() == [1.0] * 4
    assert (once["parameter_gradient/w"], once["stats/n"]) == (1.0, 1.0)
    assert "changed/first" not in once
    assert often["changed/first"].tolist() == [7]


def test_repeated_segments_alternate_their_inputs():
    """The rows backwards are other inputs of the same shape: a buffer of the call before does not hold them."""
    rows = np.arange(4.0)
    inputs = Segments(rows[:, None], rows, ("first",), ("first",), {"first": rows}, {"first": rows}, 2.0).backwards()
    assert inputs.images[:, 0].tolist() == inputs.labels.tolist() == inputs.leaves["first"].tolist() == [3.0, 2.0, 1.0, 0.0]
    assert (inputs.cotangents["first"].tolist(), inputs.scale) == ([3.0, 2.0, 1.0, 0.0], 2.0)


def test_parts_of_several_devices_become_one():
    """Rows are joined in order, contributions are added up in float64, and both gradients are unscaled."""
    part = {"dtype/t": np.array("bfloat16"), "output/t": np.ones((1, 2), np.float32), "loss": np.float32(0.1)}
    part |= {"leaf_gradient/t": np.ones((1, 2), np.float32), "parameter_gradient/w": np.ones(3, np.float32)}
    whole = sum_of_parts([part, {**part, "output/t": np.zeros((3, 2), np.float32)}], scale=2.0)
    assert whole["output/t"][:, 0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert whole["parameter_gradient/w"].tolist() == [1.0, 1.0, 1.0]
    assert whole["leaf_gradient/t"].tolist() == [[0.5, 0.5]] * 2
    assert whole["loss"].dtype == whole["parameter_gradient/w"].dtype == np.float64
    assert str(whole["dtype/t"]) == "bfloat16"


@pytest.mark.parametrize(
    "other", [np.array([1.0, -0.0]), np.array([1.0, 0.0], np.float32), np.array([[1.0, 0.0]]), np.array([1.0, 5e-324])]
)
def test_bits_are_compared_and_not_values(other):
    """A sign of zero, a type, a shape and the smallest number are differences; NaN is equal to itself."""
    one = {"x": np.array([1.0, 0.0])}
    assert not same_bits(one, {"x": other})
    assert not same_bits(one, {})
    assert same_bits({"x": np.array([np.nan])}, {"x": np.array([np.nan])})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "guess"}, "kind 'guess'; allowed are step, predict"),
        ({"evaluation_shards": [1]}, r"evaluation_shards \(1,\) hold fewer than evaluation_rows 2"),
        ({"batch": "six"}, "batch 'six' has 6 images or labels; the case's shards hold 4"),
        ({"batch": "none"}, r"nothing is named batch/none/"),
        ({"kind": "predict"}, r"cases \['step'\] have no training batch: ask for a step of that size first"),
    ],
)
def test_a_case_that_cannot_be_asked_is_refused(answer, change, message):
    """What does not fit is named, and nothing is answered."""
    with pytest.raises(ValueError, match=message):
        answer(OneNumber(), {**STEP, **change})


def test_names_of_cases_are_unique(tmp_path):
    """A name that stands there twice is refused."""
    (tmp_path / "cases.json").write_text(json.dumps([STEP, STEP]))
    with pytest.raises(ValueError, match=r"names that stand there twice: \['step'\]"):
        read_cases(tmp_path)


def test_shards_that_do_not_fit_the_devices_are_refused(make_spec):
    """A case for two devices in a run on one is an error of whoever asks."""
    case = Case(0, "step", "step", "start", (2, 2), 2, (1, 1))
    with pytest.raises(ValueError, match=r"shards \(2, 2\) do not fit 1 devices"):
        list(by_trainer(make_spec(), [case]))


def test_an_unknown_task_is_refused(make_spec):
    """train and verify are the tasks there are."""
    with pytest.raises(ValueError, match="task 'guess': allowed are train, verify"):
        make_spec(task="guess")


def test_batch_norm_per_device_has_no_oracle_on_several_devices(make_spec, training):
    """One device is judged; two are unsupported, with the reason."""
    training["model"]["batch_norm"]["across_devices"] = "per_device"
    require_oracle(make_spec())
    with pytest.raises(Unsupported, match="no oracle for batch norm per_device"):
        require_oracle(make_spec(devices=2, shards=(32, 32)))
