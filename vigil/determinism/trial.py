"""One short run in a fresh process, and what it came to: losses, what was evaluated, final weights."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.protocol.checkpoint import CHECKPOINT, FINAL, State, load_state, save_state
from runners.contract.protocol.spec import RunSpec, write_spec
from vigil.documents.context import Context
from vigil.documents.determinism import DeterminismRun
from vigil.documents.failure import Failure
from vigil.documents.identity import Identity
from vigil.documents.record import Record
from vigil.errors import CannotRun
from vigil.process.build_spec import build_spec
from vigil.process.execute import execute
from vigil.process.recording import make_record


@dataclasses.dataclass(frozen=True)
class Bench:
    """What is the same for all runs. directory: below which each has its own."""

    recipe: Identity
    training: dict[str, Any]
    context: Context
    directory: Path
    data_directory: Path | None
    fault: dict[str, str] | None = None
    python: Path | None = None
    stop: threading.Event | None = None
    seed: int = 0
    tell: Callable[[str], None] = lambda text: None


@dataclasses.dataclass(frozen=True)
class Trial:
    """How one run ended. state: all that it ended with; None of one that failed."""

    name: str
    directory: Path
    record: Record
    state: State | None

    @property
    def weights(self) -> State:
        """Return the final parameters and statistics."""
        return {key: array for key, array in (self.state or {}).items() if key.startswith(("params/", "stats/"))}

    @property
    def evaluations(self) -> list[dict[str, float]]:
        """Return the metrics of each evaluation."""
        return [dict(point.metrics) for point in self.record.curve]

    @property
    def failure(self) -> Failure | None:
        return self.record.failure

    @property
    def sha256(self) -> str | None:
        return self.record.state_sha256 if self.state is not None else None

    @property
    def rate(self) -> float | None:
        return self.record.timing.images_per_second if self.state is not None else None

    def told(self, *, is_on: bool) -> DeterminismRun:
        """Return it as the document has it."""
        total = None if self.state is None else float(sum(np.sum(each, dtype=np.float64) for each in self.weights.values()))
        losses = self.record.losses
        return DeterminismRun(
            name=self.name,
            is_on=is_on,
            state_sha256=self.sha256,
            weights=total,
            loss=losses[-1] if losses else None,
            seconds=self.record.timing.wall_seconds,
            rate=self.rate,
            failure=self.failure,
            directory=self.directory.name,
        )


def run_trial(
    bench: Bench,
    name: str,
    *,
    change: Callable[[RunSpec], RunSpec] = lambda spec: spec,
    context: Context | None = None,
    checkpoint: tuple[State, int] | None = None,
    variables: Mapping[str, str] | None = None,
    cores: Sequence[int] | None = None,
) -> Trial:
    """Train once, in a process of its own.

    Args:
        change: what of the spec is another than usual.
        context: another than the bench's.
        checkpoint: what it goes on from, with the step; the shared initial state unless given.
        variables: of its environment, besides those of every runner.
        cores: that it is bound to.

    Raises:
        KeyboardInterrupt: the user has ended it.
    """
    bench.tell(name)
    directory = bench.directory / name.replace(" ", "-").replace(",", "")
    directory.mkdir(parents=True)
    own = context or bench.context
    spec = build_spec(
        run_id=directory.name,
        recipe=bench.recipe,
        training=bench.training,
        context=own,
        seed=bench.seed,
        data_directory=bench.data_directory,
        fault=bench.fault,
        cores=list(cores) if cores else None,
    )
    spec = change(spec)
    write_spec(directory, spec)
    if checkpoint:
        save_state(directory / CHECKPOINT, checkpoint[0], step=checkpoint[1])
    ending = execute(
        directory, own.framework, on_event=lambda event: None, python=bench.python, stop=bench.stop, cores=cores,
        variables=variables,
    )  # fmt: skip
    if ending.is_interrupted:
        raise KeyboardInterrupt
    record = make_record(directory, invocation_id=bench.directory.name, context=own, ending=ending)
    state = None
    if record.status == "finished" and spec.task == "train":
        try:
            state, _ = load_state(directory / FINAL)
        except (OSError, ValueError) as error:
            raise CannotRun(f"{directory / FINAL}: no whole state ({error}).") from error
    return Trial(name, directory, record, state)
