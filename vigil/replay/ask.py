"""Two processes of the run's framework: one that goes to the step as training did, one that takes it alone with its taps."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.data.batches import Labels
from runners.contract.protocol.cases import CASES, PROBES, answers_path, read_answers
from runners.contract.protocol.checkpoint import CHECKPOINT, State, kept_path, kept_steps, load_state, what_is_not_finite
from runners.contract.protocol.events import read_events
from runners.contract.protocol.replaying import Sought
from runners.contract.protocol.spec import RunSpec, write_spec
from vigil.documents.context import Context
from vigil.documents.record import Record
from vigil.errors import CannotRun
from vigil.process.execute import PROGRESS_TIMEOUT_SECONDS, execute
from vigil.process.recording import make_record

WAY, STEP = "way", "step"
Tensors = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Runner:
    """Where the run's framework is started, and what is asked. python: its interpreter, None for this one."""

    spec: RunSpec
    context: Context
    directory: Path
    python: Path | None = None
    progress_timeout: float = PROGRESS_TIMEOUT_SECONDS
    on_event: Callable[[dict], None] = lambda event: None


@dataclasses.dataclass(frozen=True)
class Reached:
    """The step that was sought: `before` steps are done. start: at the checkpoint that the way began from.

    losses: of each step that was taken again, by its number from 0 on; of one that was taken twice the last.
    """

    before: int
    start: int
    state: State
    after: State
    batch: tuple[np.ndarray, Labels]
    loss: float
    losses: Mapping[int, float]
    record: Record


@dataclasses.dataclass(frozen=True)
class Looked:
    """The step from its state and batch alone, in a fresh process. taps: None where the program cannot be looked into."""

    loss: float
    after: State
    taps: Tensors | None
    refusal: str | None


def begin_from(run: Path, directory: Path, *, before: int) -> int:
    """Put the run's last finite checkpoint at which at most `before` steps are done into a directory; return its step, or 0."""
    for path in (run / CHECKPOINT, *(kept_path(run, step) for step in reversed(kept_steps(run)))):
        try:
            state, step = load_state(path)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise CannotRun(f"{path}: {error}. Restore it, or remove it: an earlier one is taken then.") from error
        if step <= before and not what_is_not_finite(state):
            shutil.copyfile(path, directory / CHECKPOINT)
            return step
    return 0


def go_to(runner: Runner, sought: Sought, *, run: Path) -> Reached:
    """Go from the run's last finite checkpoint to a step, as training did.

    Raises:
        CannotRun: The runner did not come there, with how it ended.
    """
    directory = runner.directory / WAY
    directory.mkdir(parents=True)
    begin_from(run, directory, before=sought.before)
    sought.write(directory)
    write_spec(directory, dataclasses.replace(runner.spec, task="replay", run_id=f"{runner.spec.run_id}-replay"))
    record = _run(runner, directory)
    found = _answers(directory, 0, record)
    losses: dict[int, float] = {}
    for event in read_events(directory):
        if event["kind"] == "steps":
            first = event["step"] - len(event["losses"])
            losses.update({first + offset: float(loss) for offset, loss in enumerate(event["losses"])})
    several = _below(found, "labels/")
    return Reached(
        before=int(found["before"]),
        start=int(found["start"]),
        state=_below(found, "state/"),
        after=_below(found, "after/"),
        batch=(found["images"], several or found["labels"]),
        loss=float(found["loss"]),
        losses=losses,
        record=record,
    )


def look(runner: Runner, reached: Reached, *, rate: float, shapes: Mapping[str, tuple[int, ...]]) -> Looked:
    """Take the step alone, and once more with its taps looked at.

    Args:
        shapes: of each tap, in forward order.

    Raises:
        CannotRun: Not even the step alone was taken.
    """
    directory, spec = runner.directory / STEP, runner.spec
    directory.mkdir(parents=True)
    write_spec(directory, dataclasses.replace(spec, task="verify", run_id=f"{spec.run_id}-step"))
    case: dict[str, Any] = {
        "state": "reached", "batch": "step", "shards": list(spec.shards),
        "evaluation_rows": sum(spec.evaluation_shards), "evaluation_shards": list(spec.evaluation_shards),
    }  # fmt: skip
    taps = {"taps": list(shapes), "cuts": [], "leaves": "none", "scale": scale_of(runner.context, reached.state)}
    cases = [
        {"name": "step", "kind": "step", "learning_rate": rate, **case},
        {"name": "taps", "kind": "segments", **case, **taps},
    ]
    (directory / CASES).write_text(json.dumps(cases, indent=1) + "\n", encoding="utf-8")
    images, labels = reached.batch
    several = labels if isinstance(labels, dict) else {"": labels}
    arrays: Tensors = {f"state/reached/{name}": np.asarray(array) for name, array in reached.state.items()}
    arrays |= {"batch/step/images": images}
    arrays |= {f"batch/step/labels/{name}".rstrip("/"): array for name, array in several.items()}
    arrays |= {f"leaf/none/{name}": np.zeros(shape, np.float32) for name, shape in shapes.items()}
    np.savez(directory / PROBES, **arrays)  # type: ignore[arg-type]
    record = _run(runner, directory)
    alone = _answers(directory, 0, record)
    has_taps = answers_path(directory, 1).exists()
    refusal = record.failure.message if record.failure and not has_taps else None
    taps_found = _answers(directory, 1, record) if has_taps else None
    return Looked(float(alone.pop("loss")), alone, taps_found, refusal)


def scale_of(context: Context, state: State) -> float:
    """Return what the loss is multiplied by before it is differentiated."""
    return float(state["scaler/scale"]) if context.precision == "fp16" and "scaler/scale" in state else 1.0


def _run(runner: Runner, directory: Path) -> Record:
    ending = execute(
        directory,
        runner.context.framework,
        on_event=runner.on_event,
        progress_timeout=runner.progress_timeout,
        python=runner.python,
    )
    return make_record(directory, invocation_id=runner.directory.name, context=runner.context, ending=ending)


def _answers(directory: Path, index: int, record: Record) -> Tensors:
    if record.status == "interrupted":
        raise KeyboardInterrupt
    path = answers_path(directory, index)
    if not path.exists() and record.failure:
        raise CannotRun(f"the step was not replayed: {record.failure.category}: {record.failure.message} ({directory})")
    try:
        return read_answers(directory, index)
    except (OSError, ValueError) as error:
        raise CannotRun(f"{path}: no whole answer ({error}). Replay again.") from error


def _below(arrays: Tensors, prefix: str) -> Tensors:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
