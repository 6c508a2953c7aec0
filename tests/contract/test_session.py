"""What a training loop reports to: the calls of a small run, seen in its events."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from runners.contract.data.batches import Batches
from runners.contract.errors import ContractError, NanLoss, NanMetric, NanState
from runners.contract.kinds import weights
from runners.contract.protocol import session as module
from runners.contract.protocol.checkpoint import CHECKPOINT, FINAL, kept_steps, load_state, state_sha256
from runners.contract.protocol.events import EventWriter, read_events
from runners.contract.protocol.session import Session


@pytest.fixture
def open_session(tmp_path, make_spec):
    """Return a function that opens a session in tmp_path; all are closed at the end."""
    writers = []

    def open_one(**changes) -> Session:
        writers.append(EventWriter(tmp_path, heartbeat_seconds=60.0))
        return Session(tmp_path, make_spec(**changes), writers[-1])

    yield open_one
    for writer in writers:
        writer.close()


def run(session: Session, *, losses=(2.5, 2.0, 1.5, 1.25), stop_at: int | None = None) -> list[tuple[int, float]]:
    """Drive a session as the three training loops do; return (step, learning rate) of each step."""
    session.load_batches()
    state, _ = session.starting_state()
    seen = []
    for _images, _labels, rate in session.training_batches():
        seen.append((session.step, rate))
        session.stepped(losses[session.step])
        if session.evaluation_is_due():
            session.begin_evaluation()
            session.evaluated({"test_accuracy": 10.0 * session.step, "test_loss": 2.0})
            session.end_evaluation()
        if session.checkpoint_is_due():
            session.save_checkpoint({**state, "params/head.bias": np.full(10, session.step, np.float32)})
        if session.step == stop_at:
            return seen
    session.finish(state)
    return seen


def of_kind(directory, kind: str) -> list[dict]:
    return [event for event in read_events(directory) if event["kind"] == kind]


def test_every_example_counts_once_in_the_mean_loss(open_session, tmp_path, monkeypatch):
    """Where every other batch has one row of four in use, its loss counts for a fourth; a metric of that name is the mean."""
    monkeypatch.setattr(Batches, "rows", lambda self, step: 1 if step % 2 else 4)
    session = open_session()
    session.spec.training["metric"]["name"] = "train_loss"
    run(session)
    evaluated = of_kind(tmp_path, "evaluated")
    assert [event["train_loss"] for event in evaluated] == pytest.approx([2.4, 1.45])
    assert [event["metrics"]["train_loss"] for event in evaluated] == pytest.approx([2.4, 1.45])


def test_a_run_reports_its_losses_evaluations_and_end(open_session, tmp_path):
    """Every loss once and in order, metrics in percent, a checkpoint at step 2, and the hash of the final state."""
    session = open_session()
    seen = run(session)
    assert seen == [(0, 0.05), (1, 0.05), (2, 0.005), (3, 0.005)]
    steps = of_kind(tmp_path, "steps")
    assert [loss for event in steps for loss in event["losses"]] == [2.5, 2.0, 1.5, 1.25]
    assert steps[-1]["step"] == 4
    (data,) = of_kind(tmp_path, "data")
    labels = session._batches._data.test_labels
    assert data["chance"] == 100.0 * max(np.mean(labels == each) for each in labels)
    evaluated = of_kind(tmp_path, "evaluated")
    assert [event["step"] for event in evaluated] == [2, 4]
    assert [event["train_loss"] for event in evaluated] == [2.25, 1.375]
    assert evaluated[0]["metrics"] == {"test_accuracy": 20.0, "test_loss": 2.0}
    assert [event["epoch"] for event in evaluated] == [0.25, 0.5]
    assert [event["step"] for event in of_kind(tmp_path, "checkpointed")] == [2]
    (finished,) = of_kind(tmp_path, "finished")
    final, step = load_state(tmp_path / FINAL)
    assert (step, finished["step"]) == (4, 4)
    assert finished["state_sha256"] == state_sha256(final)
    assert finished["metrics"] == evaluated[-1]["metrics"]
    assert finished["first_step_seconds"] > 0.0
    assert finished["peak_memory_bytes"] > 2**20
    assert finished["images_per_second"] > 0.0


def test_phases_come_in_order(open_session, tmp_path):
    """Every stretch of the run is under its own phase, and events carry the phase they belong to."""
    run(open_session())
    phases = [event["phase"] for event in of_kind(tmp_path, "phase")]
    assert phases == ["data", "train", "evaluate", "train", "checkpoint", "train", "evaluate", "train", "finish"]
    assert {event["phase"] for event in of_kind(tmp_path, "evaluated")} == {"evaluate"}
    assert of_kind(tmp_path, "checkpointed")[0]["phase"] == "checkpoint"
    assert of_kind(tmp_path, "finished")[0]["phase"] == "finish"


def test_a_resumed_run_goes_on_from_its_checkpoint(open_session, tmp_path):
    """Stopped after step 3, a second session begins at step 2 with the saved state and the same learning rates."""
    run(open_session(), stop_at=3)
    session = open_session()
    assert run(session) == [(2, 0.005), (3, 0.005)]
    assert [event["step"] for event in of_kind(tmp_path, "resumed")] == [2]
    assert load_state(tmp_path / FINAL)[0]["params/head.bias"].tolist() == [2.0] * 10


def test_a_new_run_starts_from_the_shared_state_or_from_the_frameworks_own(open_session, training):
    """Shared randomness gives the canonical state of the seed; native gives none."""
    state, step = open_session().starting_state()
    assert step == 0
    assert set(state) == set(weights.initial_state(training, seed=0))
    assert open_session(randomness="native").starting_state() == (None, 0)
    other, _ = open_session(seed=1).starting_state()
    assert state_sha256(other) != state_sha256(state)


def test_a_broken_checkpoint_is_said_and_not_passed_over(open_session, tmp_path):
    """A run does not silently begin again from step 0."""
    (tmp_path / CHECKPOINT).write_bytes(b"PK\x03\x04 half a file")
    with pytest.raises(ContractError, match=r"checkpoint\.npz: the checkpoint cannot be read .*delete it"):
        open_session().starting_state()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, np.float32("nan")])
@pytest.mark.parametrize("position", [0, 1, 3])
def test_a_loss_that_is_not_finite_stops_the_run_and_names_its_step(open_session, tmp_path, bad, position):
    """Steps are counted from 1 in the message; the losses up to there are on record."""
    losses = [2.5, 2.0, 1.5, 1.25]
    losses[position] = bad
    with pytest.raises(NanLoss, match=f"the loss of step {position + 1} is {float(bad)}"):
        run(open_session(), losses=losses)
    reported = [loss for event in of_kind(tmp_path, "steps") for loss in event["losses"]]
    assert reported[: position + 1] == [*losses[:position], str(float(bad))]
    assert not of_kind(tmp_path, "finished")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_metric_that_is_not_finite_stops_the_run_and_names_its_step(open_session, tmp_path, bad):
    """No number of a recipe comes of it; what is measured beside it may be anything."""
    session = open_session()
    good = session.evaluated
    session.evaluated = lambda found: good({"test_loss": bad, "test_accuracy": bad if session.step == 4 else 10.0})
    with pytest.raises(NanMetric, match=f"the evaluation after step 4 gives test_accuracy {bad}"):
        run(session)
    assert [event["step"] for event in of_kind(tmp_path, "evaluated")] == [2]
    assert not of_kind(tmp_path, "finished")


def test_a_state_that_is_not_finite_replaces_no_checkpoint(open_session, tmp_path, training, monkeypatch):
    """All losses may be finite still: the run ends with step and array, and the last finite state stays."""
    session = open_session(training={**training, "checkpoint_every_steps": 1})
    good = session.save_checkpoint

    def spoilt(state):
        good(state if session.step < 3 else {**state, "params/head.bias": np.array([0.0, np.nan, np.inf], np.float32)})

    monkeypatch.setattr(session, "save_checkpoint", spoilt)
    with pytest.raises(NanState, match=r"the state after step 3 is not finite: 2 of 3 elements of params/head\.bias"):
        run(session)
    state, step = load_state(tmp_path / CHECKPOINT)
    assert (step, kept_steps(tmp_path)) == (2, [1])
    assert state["params/head.bias"].tolist() == [2.0] * 10


def test_a_run_does_not_finish_with_a_state_that_is_not_finite(open_session, tmp_path):
    """What the last step made of it no loss would ever tell: a metric of such weights is no number of the recipe."""
    session = open_session()
    session.step = 4
    with pytest.raises(NanState, match="the state after step 4 is not finite"):
        session.finish({"params/a": np.array([np.inf])})
    assert not (tmp_path / FINAL).exists()
    assert not of_kind(tmp_path, "finished")


def test_losses_are_fetched_rarely_but_never_lost(open_session, tmp_path, monkeypatch):
    """Within a second losses stay on the device; a second later all of them are fetched at once."""
    clock = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    fetched = []

    class Scalar:
        def __init__(self, value: float) -> None:
            self.value = value

        def __float__(self) -> float:
            fetched.append(self.value)
            return self.value

    session = open_session()
    for value in (1.0, 2.0, 3.0):
        session.stepped(Scalar(value))
    assert fetched == [1.0]  # the first step's, which ends the compilation
    clock[0] += 1.5
    session.stepped(Scalar(4.0))
    assert fetched == [1.0, 2.0, 3.0, 4.0]
    reported = [(event["step"], event["losses"]) for event in of_kind(tmp_path, "steps")]
    assert reported == [(1, [1.0]), (4, [2.0, 3.0, 4.0])]


def test_the_rate_leaves_out_compilation_and_evaluation(open_session, tmp_path, monkeypatch):
    """Images per second are those of training alone: here 64 images in every 0.5 seconds."""
    clock = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    session = open_session()
    session.load_batches()
    state, _ = session.starting_state()
    batches = session.training_batches()
    for step in range(4):
        next(batches)
        clock[0] += 30.0 if step == 0 else 0.5
        session.stepped(1.0)
        if session.evaluation_is_due():
            session.begin_evaluation()
            clock[0] += 7.0
            session.evaluated({"test_accuracy": 50.0, "test_loss": 0.5})
            session.end_evaluation()
        if session.checkpoint_is_due():
            session.save_checkpoint(state)
    batches.close()
    session.finish(state)
    assert of_kind(tmp_path, "finished")[0]["images_per_second"] == pytest.approx(128.0)
    assert [event["images_per_second"] for event in of_kind(tmp_path, "evaluated")] == [128.0, 128.0]


def test_the_last_step_is_evaluated_and_not_checkpointed(open_session, training):
    """Whatever the intervals, the metric is taken at the end; the end is saved as final.npz."""
    training |= {"steps": 5, "evaluate_every_steps": 3, "checkpoint_every_steps": 5}
    session = open_session(training=training)
    due = []
    for session.step in range(1, 6):
        due.append((session.evaluation_is_due(), session.checkpoint_is_due()))
    assert due == [(False, False), (False, False), (True, False), (False, False), (True, False)]


def test_a_helping_process_writes_nothing(tmp_path, make_spec):
    """A rank above 0 has no events: it takes the same steps and leaves no file."""
    assert len(run(Session(tmp_path, make_spec(), None))) == 4
    assert list(tmp_path.iterdir()) == []


def test_the_data_that_are_used_are_on_record(open_session, tmp_path):
    """The checksum in the `data` event changes with the data."""
    session = open_session()
    session.load_batches()
    larger = {**session.spec.training, "data": {**session.spec.training["data"], "n_train": 576}}
    session.spec = dataclasses.replace(session.spec, training=larger)
    session.load_batches()
    first, second = (event["checksum"] for event in of_kind(tmp_path, "data"))
    assert len(first) == 32
    assert first != second
