"""How a replay goes to a step, but for the framework: from a checkpoint, as training went, to the last state that is finite.

The steps are those of training, in the same process and order; what training looks at between them is looked at here too. The
state is looked at where it must be alone: fetching it after every step would cost more than the steps.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from runners.contract.data.batches import Batches, Labels
from runners.contract.protocol.cases import Answers
from runners.contract.protocol.checkpoint import State, what_is_not_finite
from runners.contract.protocol.session import Session
from runners.contract.schedule import learning_rate

SOUGHT = "sought.json"
STEP = "step"


@dataclasses.dataclass(frozen=True)
class Sought:
    """Which step is replayed, by how many steps are done before it.

    before: the last that it can be: the loss of the next step, or the state after it, is not finite. is_exact: it is that one.
    """

    before: int
    is_exact: bool

    def write(self, directory: Path) -> None:
        """Write sought.json."""
        (directory / SOUGHT).write_text(json.dumps(dataclasses.asdict(self)) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, directory: Path) -> Sought:
        """Read sought.json. Raises OSError, ValueError or TypeError for what is none."""
        return cls(**json.loads((directory / SOUGHT).read_text(encoding="utf-8")))


class SteppingTrainer(Protocol):
    """What a replay needs of a framework's trainer."""

    def get_state(self) -> State: ...

    def set_state(self, state: State) -> None: ...

    def train_step(self, images: np.ndarray, labels: Labels, learning_rate: float) -> Any: ...


def replay(session: Session, trainer: SteppingTrainer, batches: Batches) -> None:
    """Go to the step that is sought, take it, and write down its batch, the state before and after it, and its loss.

    The losses on the way are told as events, so that whoever asked can hold them to the run's.
    """
    session.enter("train")
    sought, start = Sought.read(session.directory), session.step
    way = _Way(session, trainer, batches)
    before = sought.before
    if sought.is_exact:
        state = way.go(sought.before)
    else:
        state, before = _last_finite(way, before)
    way.go_from(state, before)
    after, loss = way.go(before + 1), way.loss
    images, labels = batches.train(before)
    several = labels if isinstance(labels, dict) else {"": labels}
    answers: Answers = {"loss": np.asarray(loss), "before": np.int64(before), "start": np.int64(start), "images": images}
    answers |= {f"labels/{name}".rstrip("/"): array for name, array in several.items()}
    for moment, tensors in (("state", state), ("after", after)):
        answers |= {f"{moment}/{name}": np.asarray(array) for name, array in tensors.items()}
    session.probed(0, STEP, answers=answers, seconds=0.0)
    session.finish(None)


class _Way:
    """A trainer on its way through the steps of a run. step: how many are done."""

    def __init__(self, session: Session, trainer: SteppingTrainer, batches: Batches) -> None:
        self._session, self._trainer, self._batches = session, trainer, batches
        self.step, self.loss = session.step, float("nan")

    def go_from(self, state: State, step: int) -> None:
        """Be at a step, with its state; where the trainer is there already it stays as it is."""
        if step != self.step:
            self._trainer.set_state(state)
            self.step = step

    def go(self, end: int) -> State:
        """Take the steps up to `end`, and return the state then."""
        training, losses = self._session.spec.training, []
        for step, images, labels in self._batches.train_between(self.step, end):
            losses.append(float(self._trainer.train_step(images, labels, learning_rate(training["learning_rate"], step))))
            self._session.called()
            self.step = step + 1
            if any(self.step % training[key] == 0 for key in ("evaluate_every_steps", "checkpoint_every_steps")):
                # As in training: the running statistics that devices have of their own become one.
                self._trainer.get_state()
        if losses:
            self.loss = losses[-1]
            self._session.retraced(losses, step=self.step)
        return self._trainer.get_state()


def _last_finite(way: _Way, most: int) -> tuple[State, int]:
    """Return the last finite state at which at most `most` steps are done, and how many are. That at the start is one.

    Mostly it is the one before the loss that is not finite, or the one before that. Where neither is, the steps are halved: a
    number that is not finite stays in a state.
    """
    state, low = way.go(way.step), way.step
    high = most + 1  # not finite, or not to be gone to
    for ahead in (most - 1, most):
        if low < ahead < high:
            way.go_from(state, low)
            state, low, high = _narrowed(way, ahead, state, low, high)
    while high - low > 1:
        way.go_from(state, low)
        state, low, high = _narrowed(way, (low + high) // 2, state, low, high)
    return state, low


def _narrowed(way: _Way, step: int, state: State, low: int, high: int) -> tuple[State, int, int]:
    """Return the last finite state that is known, its step, and the first step after it whose state is not finite."""
    reached = way.go(step)
    return (state, low, step) if what_is_not_finite(reached) else (reached, step, high)
