"""A rehearsal of a run: everything that it does until its end, on the real code, with its first steps and its last one.

The first process trains a few steps, with an evaluation of one batch and a checkpoint after each. The second goes on from that
checkpoint as if it were the last but one of the run, and takes the run's last step, with its learning rate and its examples.
What both leave behind is judged, tracked in no store, and removed where all of it holds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import shutil
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.protocol.checkpoint import CHECKPOINT, FINAL, load_state, save_state
from runners.contract.protocol.events import read_events
from runners.contract.protocol.spec import write_spec
from runners.contract.schedule import learning_rate
from vigil.data.official import ensure_data
from vigil.documents.context import Context
from vigil.documents.document import DocumentError
from vigil.documents.invocation import Invocation
from vigil.documents.preflight import Ahead, Preflight
from vigil.documents.provenance import PlantedFault
from vigil.documents.record import Record
from vigil.errors import CannotRun
from vigil.process.build_spec import build_spec, rows_of_part
from vigil.process.environment import describe_machine, require_framework
from vigil.process.execute import Ending, execute
from vigil.process.recording import make_record
from vigil.recipes.loading import identity_of
from vigil.runs.carry_out import judge_records
from vigil.runs.checks import CannotGoOn, Checks, try_places
from vigil.runs.memory import (
    MARGIN,
    MemoryLine,
    allocator_of,
    available_memory,
    before_it_runs,
    fitting,
    is_of_memory,
    mib,
    parts_of,
    told_line,
)
from vigil.runs.plan import Request, targets_of

# A run is rehearsed where more than this is ahead of it.
WORTH_SECONDS = 600.0
# Until runs of a cell are on this disk: what a profile is for (docs/recipes.md).
_USUAL_SECONDS = {"smoke": 10.0, "quick": 120.0}
_DISK_MARGIN = 300 * 2**20
_BYTES_OF_A_STEP, _BYTES_OF_A_SECOND = 24, 400  # of events.jsonl: a loss, and the lines of a second
_STEPS = 4  # what compiles by parts is done by then
_FIRST, _LAST = "first steps", "last step"
_DONE = {
    _FIRST: "with an evaluation of one batch and a checkpoint after each, and the final state",
    _LAST: "from the last checkpoint, with its evaluation and the final state",
}


@dataclasses.dataclass
class _Rehearsal:
    """What has been tried so far."""

    request: Request
    directory: Path
    python: Path | None
    checks: Checks
    data_directory: Path | None = None
    records: list[Record] = dataclasses.field(default_factory=list)


def rehearse(
    request: Request,
    directory: Path,
    *,
    python: Path | None = None,
    folders: Sequence[Path] = (),
    render: Callable[[Invocation, Path], object] = lambda invocation, run: None,
    tell: Callable[[str], None] = lambda text: None,
) -> Preflight:
    """Try everything that the request's runs need, and return what holds; write preflight.json into the directory.

    Args:
        directory: below the folder of runs; exists.
        python: the interpreter of the request's release.
        folders: that are written besides that of runs.
        render: shows the invocation, and draws the pictures of the run directory, as at the end.
    """
    began = time.monotonic()
    work = _Rehearsal(request, directory, python, Checks(tell))
    training = request.recipe.resolve(request.profile)
    ahead = None
    try:
        try_places(work.checks, directory, folders)
        _try_request(work, training)
        _try_run(work, training)
        ahead = _try_end(work, training, render)
    except CannotGoOn:
        work.checks.leave_out("what runs leave behind", "room for all of it")
    fault = request.fault
    document = Preflight(
        preflight_id=directory.name,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=request.command,
        recipe=identity_of(request.recipe, request.profile),
        context=request.context,
        release=request.release.named if request.release else None,
        fault=PlantedFault(name=fault["name"], sha256=fault["sha256"]) if fault else None,
        checks=tuple(work.checks.made),
        ahead=ahead,
        environment={**describe_machine(), **(work.records[-1].environment if work.records else {})},
        seconds=round(time.monotonic() - began, 1),
    )
    document.write(directory)
    if not document.failing:
        for name in (_FIRST, _LAST):
            shutil.rmtree(directory / _folder(name), ignore_errors=True)
    return document


def expected_seconds(request: Request, runs: Path) -> float:
    """Return what the request's runs will take: as the newest run of the same cell did, else what its profile is for."""
    seconds = _USUAL_SECONDS.get(request.profile, math.inf)
    pattern = f"*-{request.recipe.name}-{request.profile}-{request.context.text}-*/seed*/{Record.FILE_NAME}"
    for file in sorted(runs.glob(pattern), reverse=True):
        with contextlib.suppress(DocumentError, OSError):
            record = Record.read(file.parent)
            if record.status == "finished" and record.recipe == identity_of(request.recipe, request.profile):
                seconds = record.timing.wall_seconds
                break
    return seconds * len(request.seeds)


def _try_request(work: _Rehearsal, training: dict[str, Any]) -> None:
    request = work.request
    with work.checks.trying("context and batch", "set_up", goes_on=False):
        request.context.shard_sizes(training["batch_size"], rows=rows_of_part(training))
        request.context.evaluation_shards(training["evaluation_batch_size"])
        if request.release is None:
            require_framework(request.context.framework)
    with work.checks.trying("data", "data", goes_on=False) as says:
        work.data_directory = ensure_data(training, progress=lambda done, total: None)
        says.append("verified by checksum" if work.data_directory else "embedded")
    with work.checks.trying("learning rate", "train") as says:
        rates = [learning_rate(training["learning_rate"], step) for step in range(training["steps"])]
        if wrong := [step for step, rate in enumerate(rates) if not math.isfinite(rate)]:
            raise ValueError(f"at step {wrong[0]} it is {rates[wrong[0]]}")
        says.append(f"finite at each of {len(rates):,} steps, from {min(rates):.3g} to {max(rates):.3g}")


def _try_run(work: _Rehearsal, training: dict[str, Any]) -> None:
    """Take the first steps, and the last one from the checkpoint that they left."""
    first = _few_steps(training)
    _rehearsed(work, _FIRST, first)
    with work.checks.trying("a checkpoint is read", "resume", goes_on=False) as says:
        state, step = load_state(work.directory / _folder(_FIRST) / CHECKPOINT)
        final, _ = load_state(work.directory / _folder(_FIRST) / FINAL)
        if set(state) != set(final) or any(state[name].shape != final[name].shape for name in state):
            raise ValueError("the checkpoint and the final state do not hold the same tensors")
        if bad := [name for name, array in state.items() if array.dtype.kind == "f" and not np.isfinite(array).all()]:
            raise ValueError(f"after step {step} not finite: {', '.join(bad[:3])}")
        says.append(f"{len(state)} tensors, after step {step}")
    last = first | dict.fromkeys(("steps", "evaluate_every_steps", "checkpoint_every_steps"), training["steps"])
    before = work.directory / _folder(_LAST)
    before.mkdir()
    save_state(before / CHECKPOINT, state, step=training["steps"] - 1)
    _rehearsed(work, _LAST, last)


def _few_steps(training: dict[str, Any]) -> dict[str, Any]:
    few = {**training["data"], "n_test": training["evaluation_batch_size"]}
    return {**training, "data": few, "steps": _STEPS, "evaluate_every_steps": 1, "checkpoint_every_steps": 1}


def _rehearsed(work: _Rehearsal, name: str, training: dict[str, Any]) -> None:
    """Run a process to its end, and note it. Raises CannotGoOn where it did not come to it."""
    began = time.monotonic()
    record = _run(work, name, training)
    more = _fitting_batch(work, training) if record.failure and is_of_memory(record.failure) else ""
    work.checks.note(name, record.failure, done=_DONE[name], more=more, began=began)
    work.records.append(record)


def _run(work: _Rehearsal, name: str, training: dict[str, Any], variables: Mapping[str, str] | None = None) -> Record:
    """Run a process to its end, however it ends, with such variables in its environment."""
    context, run = work.request.context, work.directory / _folder(name)
    ending = _end_of(work, name, training, context, variables)
    return make_record(run, invocation_id=work.directory.name, context=context, ending=ending)


def _end_of(
    work: _Rehearsal, name: str, training: dict[str, Any], context: Context, variables: Mapping[str, str] | None = None
) -> Ending:
    """Return how a process ended that was run in a context."""
    request, run = work.request, work.directory / _folder(name)
    work.checks.tell(name)
    run.mkdir(exist_ok=True)
    spec = build_spec(
        run_id=f"{work.directory.name}-{run.name}",
        recipe=identity_of(request.recipe, request.profile),
        training=training,
        context=context,
        seed=request.seeds[0],
        data_directory=work.data_directory,
        fault=request.fault,
        cores=request.cores,
    )
    write_spec(run, spec)
    ending = execute(run, context.framework, on_event=lambda event: None, python=work.python, variables=variables)
    if ending.is_interrupted:
        raise KeyboardInterrupt
    return ending


def memory_line(
    request: Request,
    directory: Path,
    *,
    data_directory: Path | None,
    python: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> MemoryLine | None:
    """Return a line that tells the memory with any batch; None where there is none.

    Where compiled programs say what they take, by compiling those of the whole batch and of a part; else, or where these do not
    say it, by rehearsing two parts.
    """
    if request.context.shards is not None:
        return None
    work = _Rehearsal(request, directory, python, Checks(tell), data_directory=data_directory)
    training = request.recipe.resolve(request.profile)
    batch, rows = training["batch_size"], rows_of_part(training) * request.context.devices
    return told_line(
        request.context,
        batch,
        list(parts_of(batch, least=rows, rows=rows)),
        compiled=lambda size: _compiled_peak(work, size),
        taken=lambda size: _peak_of(work, size, allocator_of(size, batch)),
        rows=rows,
    )


def _peak_of(work: _Rehearsal, size: int, variables: Mapping[str, str] | None = None) -> int | None:
    """Return the peak of the first steps with a batch of this size, None where they did not come to their end."""
    record = _run(work, f"batch of {size}{', in small' if variables else ''}", _with_batch(work, size), variables)
    return record.peak_memory_bytes if record.failure is None else None


def _compiled_peak(work: _Rehearsal, size: int) -> int | None:
    """Return the peak with a batch of this size by what its compiled programs say; None where they do not. No step is taken."""
    name, context = f"compiled for {size}", dataclasses.replace(work.request.context, mode="compile")
    _end_of(work, name, {**_with_batch(work, size), "steps": 0}, context)
    events = {event["kind"]: event for event in read_events(work.directory / _folder(name))}
    if "programs" not in events or "finished" not in events:
        return None
    return before_it_runs(events["finished"]["peak_memory_bytes"], events["programs"]["bytes"])


def _with_batch(work: _Rehearsal, size: int) -> dict[str, Any]:
    """Return a training of a few steps with another batch, and one of evaluation in proportion."""
    training, devices = work.request.recipe.resolve(work.request.profile), work.request.context.devices
    evaluated = max(1, training["evaluation_batch_size"] * size // training["batch_size"] // devices) * devices
    return _few_steps({**training, "batch_size": size, "evaluation_batch_size": evaluated})


def rehearsed_peak(request: Request, directory: Path, *, data_directory: Path | None) -> int | None:
    """Return the peak memory of the first steps of a request's runs, None where they did not come to their end."""
    work = _Rehearsal(request, directory, None, Checks(lambda text: None), data_directory=data_directory)
    return _run(work, _FIRST, _few_steps(request.recipe.resolve(request.profile))).peak_memory_bytes


def _fitting_batch(work: _Rehearsal, training: dict[str, Any]) -> str:
    """Return, in words, the largest batch that would fit."""
    has, tell = available_memory(), work.checks.tell
    line = memory_line(work.request, work.directory, data_directory=work.data_directory, python=work.python, tell=tell)
    found = fitting(line, training["batch_size"], has, lambda size: _peak_of(work, size))
    return found and f"{found}, with its evaluation batch in proportion"


def _try_end(work: _Rehearsal, training: dict[str, Any], render: Callable[[Invocation, Path], object]) -> Ahead:
    """Judge what the rehearsal left, show it, and hold what the runs need to what is there."""
    record, run = work.records[-1], work.directory / _folder(_LAST)
    with work.checks.trying("metric", "evaluate") as says:
        value = record.metric.value
        if value is None or not math.isfinite(value):
            raise ValueError(f"{record.metric.name} of the rehearsal is {value}")
        says.append(f"{record.metric.name} is a number")
    with work.checks.trying("judgement and report", "after the last run"):
        invocation = _invocation(work, run)
        invocation = invocation.replace(verdict=judge_records(invocation, [record]))
        render(invocation, run)
    ahead = _ahead(work, training)
    with work.checks.trying("room for all of it", "checkpoint") as says:
        needed = ahead.bytes + _DISK_MARGIN
        if needed > ahead.free_bytes:
            raise OSError(28, f"{mib(needed)} are needed, {mib(ahead.free_bytes)} are free", str(work.directory.parent))
        says.append(f"{mib(ahead.bytes)} of {mib(ahead.free_bytes)}")
    took, has = ahead.peak_bytes, ahead.has_bytes
    if took is None or has is None:
        return ahead
    with work.checks.trying("memory", "train", is_needed=took > has) as says:
        if MARGIN * took > has:
            raise CannotRun(f"the rehearsal took {mib(took)}, {mib(has)} are free{_fitting_batch(work, training)}")
        says.append(f"{mib(took)} of {mib(has)}")
    return ahead


def _invocation(work: _Rehearsal, run: Path) -> Invocation:
    request = work.request
    return Invocation(
        invocation_id=work.directory.name, created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=request.command, night=request.night, recipe=identity_of(request.recipe, request.profile),
        source=request.recipe.source, context=request.context, seeds=request.seeds[:1],
        fault=request.fault["name"] if request.fault else None, release=request.release.named if request.release else None,
        targets=targets_of(request.recipe), runs=(run.name,), verify=None, sequential=None, verdict=None, wall_seconds=0.0,
        tracking=None,
    )  # fmt: skip


def _ahead(work: _Rehearsal, training: dict[str, Any]) -> Ahead:
    """Return what the runs will take, from the events of the first rehearsal."""
    run, seeds, steps = work.directory / _folder(_FIRST), len(work.request.seeds), training["steps"]
    events = read_events(run)
    start = next(event["time"] for event in events if event["kind"] == "steps") - events[0]["time"]
    step = _median(events, since=("phase", "train"), until=("steps", None), leave_out=1)
    evaluation = _median(events, since=("phase", "evaluate"), until=("evaluated", None), leave_out=1)
    saving = _median(events, since=("phase", "checkpoint"), until=("checkpointed", None))
    batches = training["data"]["n_test"] / training["evaluation_batch_size"]
    evaluations, checkpoints = (steps / training[f"{each}_every_steps"] for each in ("evaluate", "checkpoint"))
    seconds = start + steps * step + evaluations * batches * evaluation + checkpoints * saving
    state = (run / FINAL).stat().st_size
    detections = sum(file.stat().st_size for file in run.glob("detections-*.npz")) / _STEPS * batches * (evaluations + 1)
    own = 2 * state + detections + steps * _BYTES_OF_A_STEP + seconds * _BYTES_OF_A_SECOND
    peaks = [record.peak_memory_bytes for record in work.records if record.peak_memory_bytes]
    return Ahead(
        seeds=seeds,
        steps=steps,
        step_seconds=step,
        seconds=seeds * seconds,
        bytes=int(seeds * own),
        free_bytes=shutil.disk_usage(work.directory).free,
        peak_bytes=max(peaks, default=None),
        has_bytes=available_memory(),
    )


def _median(events: Sequence[dict], *, since: tuple[str, str], until: tuple[str, None], leave_out: int = 0) -> float:
    """Return the median of the seconds from an event to another one; the first ones, which compile, are left out."""
    began, found = None, []
    for event in events:
        if event["kind"] == since[0] and event["phase"] == since[1]:
            began = event["time"]
        elif event["kind"] == until[0] and began is not None:
            found.append(event["time"] - began)
            began = None
    return statistics.median(found[leave_out:] or found) if found else 0.0


def _folder(name: str) -> str:
    return name.replace(",", "").replace(" ", "-")
