"""From the directory of a run to the first tensor that is not finite in one of its steps."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from runners.contract.errors import Unsupported
from runners.contract.protocol.answers import require_oracle
from runners.contract.protocol.checkpoint import CHECKPOINT, what_is_not_finite
from runners.contract.protocol.replaying import Sought
from runners.contract.schedule import learning_rate
from vigil.documents.invocation import Invocation
from vigil.documents.provenance import NamedRelease
from vigil.documents.record import Record
from vigil.documents.replay import FINITE, FOUND, NOT_REPEATED, NotFinite, Replay, Retraced, StepLosses
from vigil.errors import CannotRun, UsageError
from vigil.process.execute import PROGRESS_TIMEOUT_SECONDS
from vigil.process.recording import read_record, spec_of
from vigil.replay.ask import STEP, WAY, Looked, Reached, Runner, go_to, look, scale_of
from vigil.replay.locate import beside_float64, dtype_of, first_not_finite, in_float64, tensors_of
from vigil.verify.oracle import step as oracle
from vigil.verify.oracle.outline import Outline

DIRECTORY = "replay"


def what_is_sought(record: Record, *, step: int | None, steps: int) -> Sought:
    """Return which step of a run is replayed.

    Args:
        step: that the user names, counted from 1; None for the first that is not finite.
        steps: of the whole run.

    Raises:
        UsageError: There is no such step, or every loss is finite and none is named.
    """
    done = len(record.losses)
    first = next((index for index, loss in enumerate(record.losses) if not math.isfinite(loss)), None)
    last = steps if first is None else first + 1
    if step is not None:
        if not 1 <= step <= last:
            raise UsageError(f"--step: found {step}. Allowed: 1 to {last}, the steps of this run that can be gone to.")
        return Sought(step - 1, is_exact=True)
    if first is not None:
        return Sought(first, is_exact=False)
    if record.failure and record.failure.category == "nan_state":
        return Sought(max(record.failure.step - 1, 0), is_exact=False)
    raise UsageError(f"{record.run_id}: all {done} losses of this run are finite. Name the step: --step N.")


def can_be_replayed(record: Record) -> bool:
    """Is this a run that ended with a number that is not finite?"""
    return record.failure is not None and record.failure.verdict.is_not_finite


def replay(
    run: Path,
    *,
    command: str,
    step: int | None = None,
    python: Path | None = None,
    release: NamedRelease | None = None,
    progress_timeout: float = PROGRESS_TIMEOUT_SECONDS,
    on_event: Callable[[dict], None] = lambda event: None,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[Replay, Path]:
    """Replay a step of a run, and write replay.json below the run's directory; return the document and where it is.

    Args:
        step: counted from 1; None for the first that is not finite.

    Raises:
        UsageError: The directory holds no run that has ended, or no such step.
        CannotRun: The runner did not come to the step or is of another release, or files of the run are not as they were written.
    """
    record = read_record(run)
    if record is None:
        raise UsageError(f"{run}: holds no {Record.FILE_NAME}. Allowed: the directory of a run that has ended.")
    record.require_files(run)
    spec, started = spec_of(run), time.monotonic()
    sought = what_is_sought(record, step=step, steps=spec.training["steps"])
    directory = run / DIRECTORY
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    hear = _of_the_same_release(run, record, on_event)
    runner = Runner(spec, record.context, directory, python, progress_timeout, hear)
    tell(f"going to step {sought.before + 1}")
    reached = go_to(runner, sought, run=run)
    way_seconds = time.monotonic() - started
    rate = learning_rate(spec.training["learning_rate"], reached.before)
    tell(f"step {reached.before + 1}: float64 and the framework, tensor by tensor")
    with np.errstate(all="ignore"):
        expected = oracle.train_step(spec.training, reached.state, [reached.batch], rate)
        outline = oracle.outline(spec.training, reached.state, reached.batch)
        shapes = {name: np.shape(expected[f"output/{name}"]) for name in outline.taps}
        looked = look(runner, reached, rate=rate, shapes=shapes)
        why_not = ""
        try:
            require_oracle(spec)
        except Unsupported as error:
            expected, why_not = {}, str(error)
        document = _told(
            record, reached, looked, expected, outline,
            why_not=why_not, command=command, run=run, release=release, way_seconds=way_seconds, is_exact=sought.is_exact,
        )  # fmt: skip
    document = document.replace(seconds=round(time.monotonic() - started, 1))
    document.write(directory)
    # State and batch stay in the way's answers; taps of a large model are as large as thousands of states.
    for path in (*(directory / STEP).glob("*.npz"), directory / WAY / CHECKPOINT):
        path.unlink(missing_ok=True)
    return document, directory


def _of_the_same_release(run: Path, record: Record, hear: Callable[[dict], None]) -> Callable[[dict], None]:
    """Return what hears a runner's events, and raises CannotRun where it is not of the run's release: that takes other steps."""
    was = record.environment.get("framework_version")

    def on_event(event: dict) -> None:
        found = event["environment"].get("framework_version") if event["kind"] == "environment" else None
        if was and found and was != found:
            raise CannotRun(f"{run}: found release {found}, but the run was made with {was}. Replay it with that.")
        hear(event)

    return on_event


def _source_of(run: Path) -> str | None:
    """Return the file of a user's own recipe that a run is of; its invocation knows it."""
    place = run.absolute().parent
    return Invocation.read(place).source if (place / Invocation.FILE_NAME).is_file() else None


def _told(
    record: Record,
    reached: Reached,
    looked: Looked,
    expected: Mapping[str, np.ndarray],
    outline: Outline,
    *,
    why_not: str,
    command: str,
    run: Path,
    release: NamedRelease | None,
    way_seconds: float,
    is_exact: bool,
) -> Replay:
    taps, step = looked.taps or {}, reached.before + 1
    tensors = tensors_of(taps, reached.loss, reached.after, outline)
    origin = first_not_finite(tensors, reached.state, reached.batch[0], outline)
    float64 = None
    if origin:
        dtype = dtype_of(origin.tensor, taps, precision=record.context.precision)
        scale = scale_of(record.context, reached.state)
        float64 = in_float64(origin, expected or None, dtype, scale=scale, why_not=why_not)
    recorded = record.losses[reached.before] if reached.before < len(record.losses) else None
    state = FOUND if origin else FINITE if is_exact and _is_finite(recorded) else NOT_REPEATED
    return Replay(
        replay_id=f"{record.run_id}-replay-{step}",
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        run=str(run),
        recipe=record.recipe,
        source=_source_of(run),
        context=record.context,
        seed=record.seed,
        framework_version=str(record.environment.get("framework_version") or "") or None,
        release=release,
        fault=record.fault,
        step=step,
        state=state,
        reason=_reason(state, step, origin),
        retraced=_retraced(record, reached, seconds=way_seconds),
        losses=StepLosses(
            recorded=recorded,
            replayed=reached.loss,
            alone=looked.loss,
            looked=float(taps["loss"]) if "loss" in taps else None,
        ),
        origin=origin,
        float64=float64,
        remarks=tuple(_remarks(record, reached, looked)),
        tensors=beside_float64(tensors, expected or None),
        environment=reached.record.environment,
        seconds=0.0,
    )


def _is_finite(loss: float | None) -> bool:
    return loss is None or math.isfinite(loss)


def _reason(state: str, step: int, origin: NotFinite | None) -> str:
    if origin:
        at = f" at {list(origin.index)}" if origin.index else ""
        computes = f" ({origin.operator})" if origin.operator else ""
        many = "" if origin.elements == 1 else f", {origin.not_finite} of {origin.elements} elements, the first{at}"
        return f"{origin.quantity} of {origin.layer}{computes}, {origin.phase}: {origin.value}{many}"
    if state == FINITE:
        return f"every tensor of step {step} is finite"
    return (
        f"every tensor of step {step} is finite this time: what made the number is in none of state, batch and program; a "
        "machine that errs, a race, or what depends on calls before"
    )


def _retraced(record: Record, reached: Reached, *, seconds: float) -> Retraced:
    """Hold the losses on the way to the run's; a NaN equals itself here."""
    pairs = {step: (record.losses[step], loss) for step, loss in sorted(reached.losses.items()) if step < len(record.losses)}
    different = [step for step, (run, again) in pairs.items() if run != again and not (math.isnan(run) and math.isnan(again))]
    first = different[0] if different else None
    return Retraced(
        start=reached.start,
        steps=len(pairs),
        equal=len(pairs) - len(different),
        first_different=None if first is None else first + 1,
        recorded=None if first is None else pairs[first][0],
        replayed=None if first is None else pairs[first][1],
        seconds=round(seconds, 1),
    )


def _remarks(record: Record, reached: Reached, looked: Looked) -> list[str]:
    remarks = []
    if looked.refusal:
        remarks.append(f"the step could not be looked into: {looked.refusal}")
    is_wrong = bool(what_is_not_finite({**reached.after, "loss": np.asarray(reached.loss)}))
    if is_wrong and not what_is_not_finite({**looked.after, "loss": np.asarray(looked.loss)}):
        remarks.append("from its state and batch alone, in a fresh process, the step is finite: it needs the steps before")
    if is_wrong and looked.taps is not None:
        seen = {name: array for name, array in looked.taps.items() if not name.startswith("dtype/")}
        if not what_is_not_finite(seen) and math.isnan(reached.loss):
            remarks.append("with its taps looked at, the step is finite: looking changes the program")
    if record.context.precision == "fp16":
        remarks.append("a gradient that leaves float16 is no failure by itself: the loss scaler skips the step")
    return remarks
