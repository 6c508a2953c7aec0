"""How a replay goes to a step: the last finite state is found however long the number stays unseen, and by few looks at it."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.protocol.cases import read_answers
from runners.contract.protocol.events import EventWriter, read_events
from runners.contract.protocol.replaying import Sought, replay
from runners.contract.protocol.session import Session

STEPS = 40


class Counting:
    """A trainer whose state counts its steps; from step `bad` on it is not finite, from step `seen` on neither is the loss."""

    def __init__(self, *, bad: int, seen: int) -> None:
        self.state = {"params/a": np.zeros(2)}
        self.bad, self.seen, self.looks, self.steps = bad, seen, 0, 0

    def get_state(self):
        self.looks += 1
        return {name: array.copy() for name, array in self.state.items()}

    def set_state(self, state):
        self.state = {name: array.copy() for name, array in state.items()}

    def train_step(self, images, labels, learning_rate):
        step = int(self.state["params/a"][0])
        self.state["params/a"] += [1.0, np.nan if step == self.bad else 0.0]
        self.steps += 1
        return float("nan") if step >= self.seen else 1.0 / (1 + step)


@pytest.fixture
def replayed(tmp_path, make_spec, training):
    """Return a function that replays a counting trainer's run; it returns the answers and the trainer."""

    def run(sought: Sought, **numbers):
        lengths = {"steps": STEPS, "evaluate_every_steps": STEPS, "checkpoint_every_steps": STEPS}
        spec = make_spec(task="replay", training={**training, **lengths})
        sought.write(tmp_path)
        events = EventWriter(tmp_path, heartbeat_seconds=60.0)
        session, trainer = Session(tmp_path, spec, events), Counting(**numbers)
        batches = session.load_batches()
        replay(session, trainer, batches)
        events.close()
        return read_answers(tmp_path, 0), trainer, batches

    return run


@pytest.mark.parametrize(
    ("bad", "seen", "before"),
    [
        (30, 30, 30),  # the loss of the step itself
        (29, 30, 29),  # its gradient: the next loss
        (17, 30, 17),  # a parameter that no loss needs for a while
        (0, 30, 0),
        (0, 0, 0),
    ],
)
def test_the_last_finite_state_is_found(replayed, bad, seen, before):
    """The step is the one from it, and its batch, its loss and the states on both sides are written down."""
    answers, trainer, batches = replayed(Sought(seen, is_exact=False), bad=bad, seen=seen)
    assert (int(answers["before"]), int(answers["start"])) == (before, 0)
    np.testing.assert_array_equal(answers["state/params/a"], [before, 0.0])
    assert np.isnan(answers["after/params/a"][1])
    images, labels = batches.train(before)
    np.testing.assert_array_equal(answers["images"], images)
    np.testing.assert_array_equal(answers["labels"], labels)
    assert trainer.looks <= 12, "a look at every step would cost more than the steps"
    assert trainer.steps <= 3 * STEPS


def test_a_named_step_is_gone_to_whatever_is_finite(replayed):
    """One look before and one after; every loss on the way is told."""
    answers, trainer, _ = replayed(Sought(12, is_exact=True), bad=99, seen=99)
    assert (int(answers["before"]), float(answers["loss"])) == (12, 1.0 / 13)
    np.testing.assert_array_equal(answers["after/params/a"], [13.0, 0.0])
    assert (trainer.steps, trainer.looks) == (13, 2)


def test_every_loss_is_told(replayed, tmp_path):
    """In events, by step: whoever asked holds them to the run's, and a NaN ends nothing."""
    replayed(Sought(3, is_exact=False), bad=3, seen=3)
    told = {}
    for event in read_events(tmp_path):
        if event["kind"] == "steps":
            first = event["step"] - len(event["losses"])
            told |= {first + index: loss for index, loss in enumerate(event["losses"])}
    assert told == {0: 1.0, 1: 0.5, 2: 1.0 / 3, 3: "nan"}
