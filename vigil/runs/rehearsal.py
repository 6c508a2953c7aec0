"""A rehearsal of a run: everything that it does until its end, on the real code, with its first steps and its last one.

The first process trains a few steps, with an evaluation of one batch and a checkpoint after each. The second goes on from that
checkpoint as if it were the last but one of the run, and takes the run's last step, with its learning rate and its examples.
What both leave behind is judged, tracked in no store, and removed where all of it holds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from runners.contract.protocol.checkpoint import CHECKPOINT, FINAL, load_state, save_state
from runners.contract.protocol.events import read_events
from runners.contract.protocol.spec import write_spec
from runners.contract.schedule import learning_rate
from vigil.data.official import ensure_data
from vigil.documents.document import DocumentError
from vigil.documents.failure import Failure
from vigil.documents.invocation import Invocation
from vigil.documents.preflight import FAILS, HOLDS, LEFT_OUT, WARNS, Ahead, Check, Preflight
from vigil.documents.provenance import PlantedFault
from vigil.documents.record import Record
from vigil.errors import CannotRun, VigilError
from vigil.process.build_spec import build_spec, rows_of_part
from vigil.process.directories import require_writable
from vigil.process.environment import describe_machine, require_framework
from vigil.process.execute import execute
from vigil.process.recording import make_record
from vigil.recipes.loading import identity_of
from vigil.runs.carry_out import judge_records
from vigil.runs.plan import Request, targets_of
from vigil.tracking import artifact_directory, check_reachable, tracking_uri

# A run is rehearsed where more than this is ahead of it.
WORTH_SECONDS = 600.0
# Until runs of a cell are on this disk: what a profile is for (docs/recipes.md).
_USUAL_SECONDS = {"smoke": 10.0, "quick": 120.0}
# A rehearsal lacks what grows: losses, and what an allocator keeps. 24 runs of resnet_cifar in PyTorch took 0.87 to 1.16 times as
# much as one (docs/preflight.md).
_MEMORY_MARGIN = 1.25
# Of the batch, with which it is asked what would fit.
_PARTS = (8, 4, 2)
_DISK_MARGIN = 300 * 2**20
_BYTES_OF_A_STEP, _BYTES_OF_A_SECOND = 24, 400  # of events.jsonl: a loss, and the lines of a second
_STEPS = 4  # what compiles by parts is done by then
_FIRST, _LAST = "first steps", "last step"
_LOG_LINES = 6
_DONE = {
    _FIRST: "with an evaluation of one batch and a checkpoint after each, and the final state",
    _LAST: "from the last checkpoint, with its evaluation and the final state",
}
_PHASES = {
    "start": "the process starts", "import": "imports", "set_up": "the context is set up", "data": "data are loaded",
    "build": "the model is built", "train": "a step is taken", "evaluate": "an evaluation", "checkpoint": "a checkpoint is saved",
    "finish": "the final state is saved",
}  # fmt: skip


class _Failed(Exception):
    """What follows cannot be tried."""


@dataclasses.dataclass
class _Rehearsal:
    """What has been tried so far."""

    request: Request
    directory: Path
    python: Path | None
    tell: Callable[[str], None]
    checks: list[Check] = dataclasses.field(default_factory=list)
    data_directory: Path | None = None
    records: list[Record] = dataclasses.field(default_factory=list)

    @contextlib.contextmanager
    def trying(self, name: str, when: str, *, is_needed: bool = True, goes_on: bool = True) -> Iterator[list[str]]:
        """Note how a check ends; what is put into the list is what it says.

        Args:
            is_needed: whether a run fails without it; else it is warned of.
            goes_on: whether anything can be tried after it has failed.

        Raises:
            _Failed: it failed, and nothing else can be tried.
        """
        self.tell(name)
        began, says = time.monotonic(), list[str]()
        try:
            yield says
            outcome, told = HOLDS, "; ".join(says)
        except (VigilError, OSError, ValueError, KeyError, TypeError, ArithmeticError) as error:
            outcome = FAILS if is_needed else WARNS
            told = str(error) if isinstance(error, VigilError) else _said(error)
        self.checks.append(Check(name=name, when=when, outcome=outcome, says=told, seconds=round(time.monotonic() - began, 2)))
        if outcome == FAILS and not goes_on:
            raise _Failed


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
    work = _Rehearsal(request, directory, python, tell)
    training = request.recipe.resolve(request.profile)
    ahead = None
    try:
        _try_places(work, folders)
        _try_request(work, training)
        _try_run(work, training)
        ahead = _try_end(work, training, render)
    except _Failed:
        for name in ("what runs leave behind", "room for all of it"):
            work.checks.append(Check(name=name, when="-", outcome=LEFT_OUT, says="nothing could be tried any more", seconds=0.0))
    fault = request.fault
    document = Preflight(
        preflight_id=directory.name,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=request.command,
        recipe=identity_of(request.recipe, request.profile),
        context=request.context,
        release=request.release.named if request.release else None,
        fault=PlantedFault(name=fault["name"], sha256=fault["sha256"]) if fault else None,
        checks=tuple(work.checks),
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


def _try_places(work: _Rehearsal, folders: Sequence[Path]) -> None:
    with work.trying("places that are written", "all", goes_on=False) as says:
        require_writable(work.directory.parent)
        places = (work.directory.parent, Path(tempfile.gettempdir()), *folders)
        for folder in (work.directory, *places):
            folder.mkdir(parents=True, exist_ok=True)
            _write_and_remove(folder)
        says.append(", ".join(map(str, places)))
    with work.trying("tracker", "after the last run", is_needed=False) as says:
        uri = tracking_uri()
        check_reachable(uri)
        if artifacts := artifact_directory(uri):
            artifacts.mkdir(parents=True, exist_ok=True)
            _write_and_remove(artifacts)
        says.append("it can be written")


def _write_and_remove(folder: Path) -> None:
    """Write a file as runners do: beside its place, flushed, moved there."""
    beside, place = folder / f".preflight-{os.getpid()}.part", folder / f".preflight-{os.getpid()}"
    try:
        with open(beside, "wb") as file:
            file.write(b"vigil" * 1000)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    finally:
        for each in (beside, place):
            with contextlib.suppress(OSError):
                each.unlink(missing_ok=True)


def _try_request(work: _Rehearsal, training: dict[str, Any]) -> None:
    request = work.request
    with work.trying("context and batch", "set_up", goes_on=False):
        request.context.shard_sizes(training["batch_size"], rows=rows_of_part(training))
        request.context.evaluation_shards(training["evaluation_batch_size"])
        if request.release is None:
            require_framework(request.context.framework)
    with work.trying("data", "data", goes_on=False) as says:
        work.data_directory = ensure_data(training, progress=lambda done, total: None)
        says.append("verified by checksum" if work.data_directory else "embedded")
    with work.trying("learning rate", "train") as says:
        rates = [learning_rate(training["learning_rate"], step) for step in range(training["steps"])]
        if wrong := [step for step, rate in enumerate(rates) if not math.isfinite(rate)]:
            raise ValueError(f"at step {wrong[0]} it is {rates[wrong[0]]}")
        says.append(f"finite at each of {len(rates):,} steps, from {min(rates):.3g} to {max(rates):.3g}")


def _try_run(work: _Rehearsal, training: dict[str, Any]) -> None:
    """Take the first steps, and the last one from the checkpoint that they left."""
    first = _few_steps(training)
    _rehearsed(work, _FIRST, first)
    with work.trying("a checkpoint is read", "resume", goes_on=False) as says:
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
    """Run a process to its end, and note it; raise _Failed where it did not come to it."""
    began = time.monotonic()
    record = _run(work, name, training)
    failure, says = record.failure, _DONE[name]
    if failure:
        says = f"{failure.message}{_fitting_batch(work, training) if _is_memory(failure) else ''}"
        says += "".join(f"\n| {line}" for line in failure.log_tail[-_LOG_LINES:])
        if failure.triage:
            says += f"\n{failure.triage.name} ({failure.triage.dimension}): {failure.triage.advice}"
    when = _PHASES.get(failure.phase, failure.phase) if failure else "train"
    seconds = round(time.monotonic() - began, 2)
    work.checks.append(Check(name=name, when=when, outcome=FAILS if failure else HOLDS, says=says, seconds=seconds))
    if failure:
        raise _Failed
    work.records.append(record)


def _run(work: _Rehearsal, name: str, training: dict[str, Any]) -> Record:
    """Run a process to its end, however it ends."""
    request, run = work.request, work.directory / _folder(name)
    work.tell(name)
    run.mkdir(exist_ok=True)
    spec = build_spec(
        run_id=f"{work.directory.name}-{run.name}",
        recipe=identity_of(request.recipe, request.profile),
        training=training,
        context=request.context,
        seed=request.seeds[0],
        data_directory=work.data_directory,
        fault=request.fault,
        cores=request.cores,
    )
    write_spec(run, spec)
    ending = execute(run, request.context.framework, on_event=lambda event: None, python=work.python)
    if ending.is_interrupted:
        raise KeyboardInterrupt
    return make_record(run, invocation_id=work.directory.name, context=request.context, ending=ending)


def _is_memory(failure: Failure) -> bool:
    return failure.category == "out_of_memory" or (failure.category == "died" and "SIGKILL" in failure.message)


class MemoryLine(NamedTuple):
    """Peaks of two rehearsals, in bytes: memory grows with the batch on a line. rows: that a batch is a multiple of."""

    small: tuple[int, int]
    large: tuple[int, int]
    rows: int = 1

    @property
    def slope(self) -> float:
        """Return the bytes that a row more takes."""
        return (self.large[1] - self.small[1]) / (self.large[0] - self.small[0])

    def at(self, batch: int) -> float:
        """Return the peak with a batch, in bytes."""
        return self.small[1] + self.slope * (batch - self.small[0])

    def most(self, size: float) -> int | None:
        """Return the largest batch with a peak of so many bytes; None where memory does not grow with the batch.

        >>> MemoryLine((10, 1000), (20, 2000), rows=8).most(3999)
        32
        """
        if self.slope <= 0.0:
            return None
        return int((size - self.small[1]) / self.slope + self.small[0]) // self.rows * self.rows


def memory_line(
    request: Request,
    directory: Path,
    *,
    data_directory: Path | None,
    python: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> MemoryLine | None:
    """Rehearse a request with parts of its batch; return its line, None where two of them did not come to their end."""
    work = _Rehearsal(request, directory, python, tell, data_directory=data_directory)
    training, context = request.recipe.resolve(request.profile), request.context
    rows = rows_of_part(training) * context.devices
    found: list[tuple[int, int]] = []
    for part in _PARTS if context.shards is None else ():
        size = training["batch_size"] // part // rows * rows
        evaluated = training["evaluation_batch_size"] // part // context.devices * context.devices
        if len(found) == 2 or not size or not evaluated:
            continue
        record = _run(work, f"batch of {size}", _few_steps({**training, "batch_size": size, "evaluation_batch_size": evaluated}))
        if record.failure is None and record.peak_memory_bytes:
            found.append((size, record.peak_memory_bytes))
    return MemoryLine(found[0], found[1], rows) if len(found) == 2 else None


def _fitting_batch(work: _Rehearsal, training: dict[str, Any]) -> str:
    """Return, in words, the largest batch that would fit."""
    has = available_memory()
    line = memory_line(work.request, work.directory, data_directory=work.data_directory, python=work.python, tell=work.tell)
    most = line.most(has / _MEMORY_MARGIN) if line and has else None
    if line is None or most is None or not line.small[0] <= most < training["batch_size"]:
        return ""
    (large, more), (small, less) = line.large, line.small
    return f"; a batch of {most} would fit, by rehearsals with {large} ({_mib(more)}) and {small} ({_mib(less)})"


def _try_end(work: _Rehearsal, training: dict[str, Any], render: Callable[[Invocation, Path], object]) -> Ahead:
    """Judge what the rehearsal left, show it, and hold what the runs need to what is there."""
    record, run = work.records[-1], work.directory / _folder(_LAST)
    with work.trying("metric", "evaluate") as says:
        value = record.metric.value
        if value is None or not math.isfinite(value):
            raise ValueError(f"{record.metric.name} of the rehearsal is {value}")
        says.append(f"{record.metric.name} is a number")
    with work.trying("judgement and report", "after the last run"):
        invocation = _invocation(work, run)
        invocation = invocation.replace(verdict=judge_records(invocation, [record]))
        render(invocation, run)
    ahead = _ahead(work, training)
    with work.trying("room for all of it", "checkpoint") as says:
        needed = ahead.bytes + _DISK_MARGIN
        if needed > ahead.free_bytes:
            raise OSError(28, f"{_mib(needed)} are needed, {_mib(ahead.free_bytes)} are free", str(work.directory.parent))
        says.append(f"{_mib(ahead.bytes)} of {_mib(ahead.free_bytes)}")
    took, has = ahead.peak_bytes, ahead.has_bytes
    if took is None or has is None:
        return ahead
    with work.trying("memory", "train", is_needed=took > has) as says:
        if _MEMORY_MARGIN * took > has:
            raise CannotRun(f"the rehearsal took {_mib(took)}, {_mib(has)} are free{_fitting_batch(work, training)}")
        says.append(f"{_mib(took)} of {_mib(has)}")
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


def available_memory(root: Path = Path("/")) -> int | None:
    """Return how many bytes of memory can still be had: of the machine, or of the control group that this process is in.

    What a group keeps of files it gives back when memory is short, so it counts as free. None where neither is told.
    """
    found, group = [], root / "sys" / "fs" / "cgroup"
    with contextlib.suppress(OSError, ValueError, KeyError):
        found.append(1024 * _fields(root / "proc" / "meminfo")["MemAvailable:"])
    with contextlib.suppress(OSError, ValueError, KeyError):  # without a limit it reads `max`
        limit, used = (int((group / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current"))
        kept = _fields(group / "memory.stat")
        found.append(limit - used + kept["inactive_file"] + kept["active_file"])
    return min(found, default=None)


def _fields(file: Path) -> dict[str, int]:
    return {words[0]: int(words[1]) for line in file.read_text(encoding="ascii").splitlines() if len(words := line.split()) > 1}


def _folder(name: str) -> str:
    return name.replace(" ", "-")


def _mib(size: float) -> str:
    return f"{size / 2**20:,.0f} MiB"


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{f'{error.filename}: ' if error.filename else ''}{error.strerror}"
    return f"{type(error).__name__}: {error}"
