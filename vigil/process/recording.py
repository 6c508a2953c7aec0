"""record.json: one run, complete without MLflow, made from its run directory."""

from __future__ import annotations

import json
import shutil
import signal
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from runners.contract.errors import UnusableData
from runners.contract.files import replace_text
from runners.contract.kinds import detections
from runners.contract.kinds.table import kind_of
from runners.contract.protocol.checkpoint import CHECKPOINT, load_state
from runners.contract.protocol.events import FILE_NAME as EVENTS
from runners.contract.protocol.events import read_events
from runners.contract.protocol.spec import FILE_NAME as SPEC
from runners.contract.protocol.spec import RunSpec, read_spec
from vigil.data.coco.measured import with_average_precision
from vigil.digests import digest_of
from vigil.documents.context import Context
from vigil.documents.document import DocumentError
from vigil.documents.failure import Failure
from vigil.documents.identity import Identity
from vigil.documents.invocation import FirstRung
from vigil.documents.judgement import Metric
from vigil.documents.record import (
    RESTORE,
    AnsweredCase,
    CurvePoint,
    DataFacts,
    Environment,
    MeasuredMetric,
    PlantedFault,
    Record,
    Resumption,
    Status,
    Timing,
)
from vigil.documents.verdict import Verdict
from vigil.errors import DataError
from vigil.failures.past import past_tries
from vigil.failures.triage import Evidence, told, triage
from vigil.paths import runs_directory
from vigil.process.environment import describe_code, describe_machine
from vigil.process.execute import LOG_NAME, Ending
from vigil.process.stacks import told as told_of_hang
from vigil.redaction import redact

_LOG_LINES, _LOG_BYTES = 20, 2**18


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replace a JSON file as a whole."""
    replace_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def read_record(run_directory: Path) -> Record | None:
    """Return the record of a run directory, or None when it has none yet. Raises DocumentError."""
    try:
        return Record.read(run_directory)
    except FileNotFoundError:
        return None


def spec_of(run_directory: Path) -> RunSpec:
    """Return what a run was to be. Raises DocumentError for a spec.json that is gone, cannot be read, or was altered."""
    try:
        return read_spec(run_directory)
    except (OSError, ValueError, TypeError, KeyError) as error:
        said = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise DocumentError(f"{run_directory / SPEC}: {said}. {RESTORE}") from error


def require_whole(run_directory: Path) -> None:
    """Hold what a run goes on from to its digests, before it is trained: its record, checkpoint, events and detections.

    Where a kill left no record, the checkpoint says how far the events must reach.

    Raises:
        DocumentError: One was altered, cut off, or is gone.
    """
    if record := read_record(run_directory):
        record.require_files(run_directory)
    path, step = run_directory / CHECKPOINT, 0
    if path.exists():
        try:
            _, step = load_state(path)
        except (OSError, ValueError) as error:
            raise DocumentError(f"{path}: {error}. Restore it, or remove it: the run then begins at step 0 again.") from error
    training, path = spec_of(run_directory).training, run_directory / EVENTS
    try:
        events = read_events(run_directory)
        losses, curve = _losses(events), _curve(events)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, error) from error
    if len(losses) < step or len(curve) < step // training["evaluate_every_steps"]:
        raise DocumentError(
            f"{path}: missing or cut off: {CHECKPOINT} was saved after step {step}, and not all losses and evaluations before it "
            f"are here. {RESTORE}"
        )
    if kind_of(training).has_instances:
        for point in curve:
            try:
                detections.read(detections.step_path(run_directory, point.step))
            except UnusableData as error:
                raise DocumentError(f"{error} {RESTORE}") from error


def _damaged(path: Path, error: Exception) -> DocumentError:
    return DocumentError(f"{path}: it was altered or damaged ({type(error).__name__}: {error}). {RESTORE}")


def make_record(
    run_directory: Path, *, invocation_id: str, context: Context, ending: Ending, verify: FirstRung | None = None
) -> Record:
    """Build the record of a run that has ended, in whatever way, and write it.

    Args:
        verify: how the first rung ended, where there was one.

    Raises:
        DocumentError: spec.json or events.jsonl is not what was written.
    """
    spec = spec_of(run_directory)
    try:
        record = _record_of(run_directory, spec, invocation_id=invocation_id, context=context, ending=ending, verify=verify)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(run_directory / EVENTS, error) from error
    record.write(run_directory)
    return record


def _record_of(
    run_directory: Path, spec: RunSpec, *, invocation_id: str, context: Context, ending: Ending, verify: FirstRung | None
) -> Record:
    events = read_events(run_directory)
    attempt = _last_attempt(events[ending.earlier_events :])
    finished = next((event for event in attempt if event["kind"] == "finished"), None)
    failure = None if finished else failure_of(run_directory, attempt, ending)
    metric, curve = Metric.of(spec.training), _curve(events)
    if (chance := _last(events, "data", "chance")) is not None:
        metric = metric.replace(chance=chance)
    metrics = finished["metrics"] if finished else {}
    if kind_of(spec.training).has_instances and spec.task == "train":
        # A runner gives detections: it has not COCO's figures.
        try:
            curve = with_average_precision(curve, run_directory, spec)
        except DataError as error:
            failure = failure or _failure_of_detections(run_directory, str(error), step=len(_losses(events)))
        else:
            metrics = curve[-1].metrics if finished else {}
    return Record(
        run_id=spec.run_id,
        invocation_id=invocation_id,
        created=datetime.fromtimestamp(_started(events), timezone.utc).isoformat(timespec="seconds"),
        recipe=Identity.model_validate(spec.recipe),
        context=context,
        seed=spec.seed,
        status=_status(failure),
        failure=failure,
        metric=MeasuredMetric(**dict(metric), value=None if failure else metrics.get(metric.name)),
        curve=curve,
        losses=_losses(events),
        state_sha256=finished["state_sha256"] if finished else None,
        timing=Timing(
            wall_seconds=_wall_seconds(events),
            cpu_seconds=finished["cpu_seconds"] if finished else None,
            first_step_seconds=finished["first_step_seconds"] if finished else None,
            images_per_second=finished["images_per_second"] if finished else None,
        ),
        peak_memory_bytes=finished["peak_memory_bytes"] if finished else None,
        fault=PlantedFault(name=spec.fault["name"], sha256=spec.fault["sha256"]) if spec.fault else None,
        environment={**describe_machine(), "framework": spec.framework, **_inside(events)},
        data=DataFacts.model_validate({**spec.training["data"], "checksum": _last(events, "data", "checksum")}),
        code=describe_code(),
        probed=tuple(
            AnsweredCase(index=event["index"], name=event["name"], seconds=event["seconds"])
            for event in events
            if event["kind"] == "probed"
        ),
        verify=verify,
        resumed=tuple(Resumption(time=event["time"], step=event["step"]) for event in events if event["kind"] == "resumed"),
        files={path.name: digest_of(path.read_bytes()) for path in _made_of(run_directory)},
    )


def _made_of(run_directory: Path) -> list[Path]:
    """Return the files of a run that its numbers are from."""
    return [path for path in (run_directory / EVENTS, *sorted(run_directory.glob("detections*.npz"))) if path.is_file()]


def _started(events: list[dict]) -> float:
    return events[0]["time"] if events else time.time()


def _last_attempt(events: list[dict]) -> list[dict]:
    starts = [index for index, event in enumerate(events) if event["kind"] == "started"]
    return events[starts[-1] :] if starts else []


def failure_of(run_directory: Path, attempt: list[dict], ending: Ending) -> Failure:
    """Return why a runner that did not finish ended, from the events of its last attempt and how its process ended."""
    last_word = next((event for event in attempt if event["kind"] == "failed"), None)
    step = max((event["step"] for event in attempt if "step" in event), default=0)
    phase = attempt[-1]["phase"] if attempt else "start"
    if last_word:
        step, phase = last_word["step"], last_word["phase"]
    if ending.is_interrupted:  # whatever it said on its way out
        category, message = "interrupted", "stopped by the user"
    elif last_word:
        category, message = last_word["category"], last_word["message"]
    elif ending.hang:
        category, message = "hang", "; ".join([ending.hang, *told_of_hang(ending.processes), "the runner was ended"])
    elif not attempt:
        category, message = (
            "could_not_start",
            f"the runner ended with exit code {ending.exit_code} before its first event",
        )
    else:
        category, message = "died", _how_it_died(ending.exit_code)
    log = _log(run_directory)
    evidence = Evidence(
        [*log, *(last_word.get("traceback", "").splitlines() if last_word else [])],
        exit_code=ending.exit_code,
        said=category,
        message=message,
        oom_kills=ending.memory_kills,
        free_bytes=shutil.disk_usage(run_directory).free,
    )
    return Failure(
        category=category,
        phase=phase,
        step=step,
        message=redact(message),
        log_tail=_tail(log),
        triage=None if category == "unsupported" else triage(evidence, past_tries(runs_directory())),
        processes=ending.processes,
    )


def _failure_of_detections(run_directory: Path, message: str, *, step: int) -> Failure:
    """Return the failure of a run whose detections cannot be measured, although its runner finished."""
    tail = _tail(_log(run_directory))
    found = told("corrupt_data", "evidence", message, past_tries(runs_directory()))
    return Failure(category="detections", phase="evaluate", step=step, message=message, log_tail=tail, triage=found)


def _how_it_died(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"the runner ended with exit code {exit_code} and no last event"
    name = signal.Signals(-exit_code).name
    hint = " (the kernel does this when memory runs out)" if name == "SIGKILL" else ""
    return f"the runner was killed by {name}{hint}"


def _status(failure: Failure | None) -> Status:
    if failure is None:
        return "finished"
    if failure.verdict is Verdict.UNSUPPORTED:
        return "unsupported"
    return "interrupted" if failure.verdict is Verdict.FAILED_INTERRUPTED else "failed"


def last_lines(path: Path) -> list[str]:
    """Return the end of a log, as much as the longest chain of exceptions takes. Raises OSError."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _LOG_BYTES, 0))
        return file.read().decode("utf-8", "replace").splitlines()


def _log(run_directory: Path) -> list[str]:
    """Return the last lines of a run's log; none where it has no log."""
    path = run_directory / LOG_NAME
    return last_lines(path) if path.exists() else []


def _tail(log: list[str]) -> tuple[str, ...]:
    return tuple(redact("\n".join(log[-_LOG_LINES:])).splitlines())


def _curve(events: list[dict]) -> tuple[CurvePoint, ...]:
    """Return one point an evaluation; a step that was run twice, because a run was resumed, counts once, as it was last seen."""
    points = {}
    for event in events:
        if event["kind"] == "evaluated":
            points[event["step"]] = CurvePoint(
                step=event["step"],
                epoch=event["epoch"],
                train_loss=event["train_loss"],
                metrics=event["metrics"],
                images_per_second=event["images_per_second"],
            )
    return tuple(points[step] for step in sorted(points))


def _losses(events: list[dict]) -> tuple[float, ...]:
    """Return the loss of every step, in order, each as it was last trained."""
    losses: dict[int, float] = {}
    for event in events:
        if event["kind"] == "steps":
            first = event["step"] - len(event["losses"])
            losses.update({first + offset: float(loss) for offset, loss in enumerate(event["losses"])})
    return tuple(losses[step] for step in sorted(losses))


def _wall_seconds(events: list[dict]) -> float:
    """Return the seconds from first to last event, summed over attempts."""
    starts = [index for index, event in enumerate(events) if event["kind"] == "started"]
    ends = [*starts[1:], len(events)]
    return round(sum((events[end - 1]["time"] - events[start]["time"] for start, end in zip(starts, ends, strict=False)), 0.0), 3)


def _inside(events: list[dict]) -> Environment:
    return _last(events, "environment", "environment") or {}


def _last(events: list[dict], kind: str, key: str) -> Any:
    return next((event.get(key) for event in reversed(events) if event["kind"] == kind), None)
