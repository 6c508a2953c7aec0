"""What a training loop reports to: where to begin, when to evaluate and save, and how everything that happens is written down.

The three training loops are their framework's own; what must be the same text in all three is here.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.arrays import write_arrays
from runners.contract.data.batches import Batches, Labels
from runners.contract.errors import ContractError, NanLoss, NanMetric, NanState
from runners.contract.kinds import detections, weights
from runners.contract.kinds.detections import Detections
from runners.contract.kinds.table import kind_of
from runners.contract.protocol import cases, checkpoint
from runners.contract.protocol.checkpoint import State
from runners.contract.protocol.costs import costs
from runners.contract.protocol.events import EventWriter
from runners.contract.protocol.spec import RunSpec
from runners.contract.schedule import learning_rate

_STARTED = time.monotonic()
INPUTS = "inputs.npz"
TRAIN_LOSS = "train_loss"
_REPORT_SECONDS = 1.0


class Session:
    """One run seen from its training loop.

    Args:
        events: the writer, or None in a process that only helps (a rank above 0): then nothing is written.
    """

    def __init__(self, run_directory: Path, spec: RunSpec, events: EventWriter | None) -> None:
        self.spec = spec
        self.directory = run_directory
        self._events = events
        self._losses: list[Any] = []
        self._reported = -math.inf
        self._first_step_seconds: float | None = None
        self._trained_seconds = 0.0
        self._trained_images = 0
        self._segment_start = 0.0
        self._segment_images = 0
        self._segment_losses: list[float] = []
        self._metrics: dict[str, float] = {}
        self._saved: int | None = None
        self.step = 0

    def enter(self, phase: str) -> None:
        """Begin a phase: import, set_up, data, build, train, evaluate, checkpoint, verify, finish."""
        if self._events:
            self._events.enter(phase)

    def report_environment(self, environment: dict[str, Any]) -> None:
        """Record what can only be seen inside the process."""
        if self._events:
            self._events.emit("environment", environment={"python": platform.python_version(), **environment})

    def report_programs(self, size: int | None) -> None:
        """Record the memory that compiled programs will take, in bytes, where it is known before they run."""
        if self._events and size is not None:
            self._events.emit("programs", bytes=size)

    def load_batches(self, order=None) -> Batches:
        """Load the data set and return its batches. `order`: epoch -> index array, under native randomness."""
        self.enter("data")
        kind = kind_of(self.spec.training)
        dataset = kind.load(self.spec.training["data"], self.spec.data_directory)
        if self._events:
            self._events.emit("data", checksum=dataset.checksum, chance=kind.chance(self.spec.training, dataset))
        self._batches = kind.make_batches(dataset, self.spec.training, seed=self.spec.seed, order=order)
        if self._events and (shown := self._batches.shown()):
            write_arrays(self.directory / INPUTS, shown, is_compressed=True)
        return self._batches

    def starting_state(self) -> tuple[State | None, int]:
        """Return (state, step) of the checkpoint; without one the shared initial state, or None under native randomness."""
        path = self.directory / checkpoint.CHECKPOINT
        if path.exists():
            try:
                state, self.step = checkpoint.load_state(path)
            except (OSError, ValueError) as error:
                raise ContractError(f"{path}: the checkpoint cannot be read ({error}); delete it to begin from step 0") from error
            self._saved = self.step
            if self._events:
                self._events.emit("resumed", step=self.step)
            return state, self.step
        if self.spec.randomness == "native":
            return None, 0
        return weights.initial_state(self.spec.training, seed=self.spec.seed), 0

    def training_batches(self) -> Iterator[tuple[np.ndarray, Labels, float]]:
        """Yield (images, labels, learning rate) of every step that is left. After each, call `stepped`."""
        self.enter("train")
        self._begin_segment()
        schedule = self.spec.training["learning_rate"]
        for step, images, labels in self._batches.train_between(self.step, self.spec.training["steps"]):
            yield images, labels, learning_rate(schedule, step)

    def stepped(self, loss: Any) -> None:
        """Note a step and its loss, a framework's scalar; it is fetched later, so that the device need not wait.

        Raises NanLoss, naming the step, at the latest a second later.
        """
        self._losses.append(loss)
        self.step += 1
        self._segment_images += self.spec.training["batch_size"]
        if self._events:
            self._events.advance()
        if time.monotonic() - self._reported >= _REPORT_SECONDS:
            self._report_losses()

    def evaluation_is_due(self) -> bool:
        """Is this a step after which the metric is taken? The last one always is."""
        return self._is_due("evaluate_every_steps")

    def evaluated(self, found: dict[str, float] | Detections) -> None:
        """Record what an evaluation found: metrics, or detections, of which the conductor makes metrics.

        Raises NanMetric where the one that is judged is not finite.
        """
        if isinstance(found, Detections):
            if self._events:
                detections.write_step(self.directory, found, step=self.step)
            found = {"detections_per_image": float((found.classes >= 0).sum(axis=1).mean())}
        # Each example counts once: a last batch that is not full counts less.
        rows = [self._batches.rows(step) for step in range(self.step - len(self._segment_losses), self.step)]
        train_loss = float(np.average(self._segment_losses, weights=rows))
        judged = self.spec.training["metric"]["name"]
        self._metrics = {**found, TRAIN_LOSS: train_loss} if judged == TRAIN_LOSS else found
        if not math.isfinite(self._metrics.get(judged, 0.0)):  # of detections the conductor makes it
            raise NanMetric(f"the evaluation after step {self.step} gives {judged} {self._metrics[judged]}")
        if self._events:
            self._events.emit(
                "evaluated",
                step=self.step,
                epoch=self.step / self._batches.steps_per_epoch,
                metrics=self._metrics,
                train_loss=train_loss,
                images_per_second=self._rate,
            )
        self._segment_losses = []

    def begin_evaluation(self) -> None:
        """End the training stretch: its losses are fetched, its rate is taken."""
        self._report_losses()
        self._end_segment()
        self.enter("evaluate")

    def end_evaluation(self) -> None:
        self.enter("train")
        self._begin_segment()

    def checkpoint_is_due(self) -> bool:
        """Is this a step after which the state is saved? The last one is not: it ends in final.npz."""
        return self._is_due("checkpoint_every_steps") and self.step < self.spec.training["steps"]

    def save_checkpoint(self, state: State) -> None:
        """Replace the checkpoint by this state, and keep the few before it. Raises NanState for one that is not finite."""
        self._report_losses()
        self._end_segment()
        if self._events:
            self.enter("checkpoint")
            self._require_finite(state)
            self._events.settle()
            checkpoint.save_checkpoint(self.directory, state, step=self.step, last=self._saved)
            self._saved = self.step
            self._events.emit("checkpointed", step=self.step)
            self.enter("train")
        self._begin_segment()

    def retraced(self, losses: list[float], *, step: int) -> None:
        """Write down losses of steps that were taken again, the last of them `step`, whatever they are."""
        self.step = step
        if self._events:
            self._events.emit("steps", step=step, losses=losses)

    def called(self) -> None:
        """Note that a case's program has run once more: the work moves, though no step is trained."""
        if self._events:
            self._events.advance()

    def probed(self, index: int, name: str, *, answers: dict[str, np.ndarray], seconds: float) -> None:
        """Write a case's answers down, and say so."""
        if self._events:
            cases.write_answers(self.directory, index, answers)
            self._events.advance()
            self._events.emit("probed", index=index, name=name, seconds=seconds)

    def finish(self, state: State | None) -> None:
        """Save the final state, if there is one, and say that the run is done. Raises NanState for one that is not finite."""
        if not self._events:
            return
        self.enter("finish")
        if state is not None:
            self._require_finite(state)
            checkpoint.save_final(self.directory, state, step=self.step)
        self._events.emit(
            "finished",
            step=self.step,
            metrics=self._metrics,
            state_sha256=None if state is None else checkpoint.state_sha256(state),
            images_per_second=self._trained_images / self._trained_seconds if self._trained_seconds else None,
            first_step_seconds=self._first_step_seconds,
            **costs(),
        )

    def _require_finite(self, state: State) -> None:
        if found := checkpoint.what_is_not_finite(state):
            raise NanState(f"the state after step {self.step} is not finite: {found}")

    def _is_due(self, key: str) -> bool:
        return self.step % self.spec.training[key] == 0 or self.step == self.spec.training["steps"]

    def _report_losses(self) -> None:
        if not self._losses:
            return
        losses = [float(loss) for loss in self._losses]
        self._losses = []
        self._reported = time.monotonic()
        if self._first_step_seconds is None:
            # The first step compiles: the rate is taken from what follows it.
            self._first_step_seconds = self._reported - _STARTED
            self._begin_segment()
        if self._events:
            self._events.emit("steps", step=self.step, losses=losses)
        self._segment_losses += losses
        for offset, loss in enumerate(losses):
            if not math.isfinite(loss):
                raise NanLoss(f"the loss of step {self.step - len(losses) + offset + 1} is {loss}")

    def _begin_segment(self) -> None:
        self._segment_start, self._segment_images = time.monotonic(), 0

    def _end_segment(self) -> None:
        seconds = time.monotonic() - self._segment_start
        self._trained_seconds += seconds if self._segment_images else 0.0
        self._trained_images += self._segment_images
        self._rate = self._segment_images / seconds if self._segment_images else None
