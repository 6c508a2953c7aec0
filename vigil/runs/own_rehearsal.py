"""A rehearsal of a user's own step: a few steps on a whole batch, the program in float64, and the memory that it takes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path

from runners.contract.steps import frame
from vigil.documents.context import Context
from vigil.documents.preflight import LEFT_OUT, Check, Preflight
from vigil.documents.provenance import NamedRelease, PlantedFault
from vigil.documents.step import OwnFileFacts
from vigil.errors import CannotRun
from vigil.process.environment import describe_machine
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
from vigil.steps.processes import Asked, Ended, run
from vigil.steps.verify import Setting

# Rows of the least batch: what takes statistics over rows refuses a single one.
LEAST_ROWS = 2
_STEPS, _FLOAT64, _MEMORY = "a few steps", "the program in float64", "memory"


@dataclasses.dataclass
class _OwnRehearsal:
    """What has been tried so far."""

    asked: Asked
    setting: Setting
    directory: Path
    checks: Checks

    def take_steps(self, name: str, rows: int | None = None, variables: Mapping[str, str] | None = None) -> Ended:
        """Take a few steps on the first rows of the file's batch, or on all, in a process of their own."""
        return self._run(name, "rehearsal", self.setting.context, rows, variables)

    def peak_of(self, rows: int, variables: Mapping[str, str] | None = None) -> int | None:
        """Return the peak of a few steps on so many rows, None where they did not come to their end."""
        ended = self.take_steps(f"batch of {rows}{', in small' if variables else ''}", rows, variables)
        return ended.peak_memory_bytes if ended.failure is None else None

    def compiled_peak(self, rows: int, batch: int) -> int | None:
        """Return the peak on so many rows of a batch by what compiled programs say; None where they do not. No step is taken."""
        context = dataclasses.replace(self.setting.context, mode="compile")
        ended = self._run(f"compiled for {rows}", "sizes", context, rows if rows < batch else None)
        if ended.failure or ended.peak_memory_bytes is None:
            return None
        programs = ended.read(frame.REHEARSED)["program_bytes"]
        return None if programs is None else before_it_runs(ended.peak_memory_bytes, programs)

    def _run(self, name: str, task: str, context: Context, rows: int | None, variables: Mapping[str, str] | None = None) -> Ended:
        self.checks.tell(name)
        return run(
            self.asked,
            self.directory / name.replace(",", "").replace(" ", "-"),
            task=task,
            mode=context.mode,
            precision=context.precision,
            determinism=context.determinism,
            threads=self.setting.threads,
            rows=rows,
            variables=variables,
        )


def rehearse_step(
    asked: Asked,
    setting: Setting,
    directory: Path,
    *,
    command: str,
    release: NamedRelease | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Preflight:
    """Try what a verification of a user's file needs in one context; write preflight.json into the directory, and return it.

    Args:
        directory: below the folder of runs; exists.
    """
    began = time.monotonic()
    work = _OwnRehearsal(asked, setting, directory, Checks(tell))
    environment = {}
    try:
        try_places(work.checks, directory, ())
        ended = _try_steps(work)
        environment = ended.environment
        _try_float64(work, ended)
        _try_memory(work, ended)
    except CannotGoOn:
        tried = {each.name for each in work.checks.made}
        work.checks.leave_out(*(name for name in (_STEPS, _FLOAT64, _MEMORY) if name not in tried))
    fault = asked.fault
    document = Preflight(
        preflight_id=directory.name,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        recipe=None,
        file=OwnFileFacts(path=str(asked.file), sha256=asked.sha256),
        context=setting.context,
        release=release,
        fault=PlantedFault(name=fault["name"], sha256=fault["sha256"]) if fault else None,
        checks=tuple(work.checks.made),
        ahead=None,
        environment=environment or describe_machine(),
        seconds=round(time.monotonic() - began, 1),
    )
    document.write(directory)
    return document


def step_line(
    asked: Asked, setting: Setting, directory: Path, rows: int, *, tell: Callable[[str], None] = lambda text: None
) -> MemoryLine | None:
    """Return a line that tells the memory of a step on any part of a batch of so many rows; None where there is none.

    Where compiled programs say what they take, by compiling those of the whole batch and of a part; else by taking steps on two.
    """
    work = _OwnRehearsal(asked, setting, directory, Checks(tell))
    return told_line(
        setting.context,
        rows,
        list(parts_of(rows, least=LEAST_ROWS)),
        compiled=lambda size: work.compiled_peak(size, rows),
        taken=lambda size: work.peak_of(size, allocator_of(size, rows)),
    )


def rehearsed_step(asked: Asked, setting: Setting, directory: Path) -> tuple[int | None, int | None]:
    """Return how many rows the batch has, and the peak memory of a few steps; None for what is not known."""
    ended = _OwnRehearsal(asked, setting, directory, Checks(lambda text: None)).take_steps(_STEPS)
    return (ended.read(frame.REHEARSED)["rows"], ended.peak_memory_bytes) if ended.failure is None else (None, None)


def _try_steps(work: _OwnRehearsal) -> Ended:
    began = time.monotonic()
    ended = work.take_steps(_STEPS)
    if ended.failure:
        more = _fitting_rows(work, ended) if is_of_memory(ended.failure) else ""
        work.checks.note(_STEPS, ended.failure, done="", more=more, began=began)
    found = ended.read(frame.REHEARSED)
    first, rest = found["first_seconds"], found["step_seconds"]
    says = f"the first in {first:.3g} s, then one in {rest:.3g} s; with an evaluation; the loss is {found['loss']:.4g}"
    work.checks.note(_STEPS, None, done=says, began=began)
    return ended


def _try_float64(work: _OwnRehearsal, ended: Ended) -> None:
    began, rows = time.monotonic(), ended.read(frame.REHEARSED)["rows"]
    if rows is None or rows <= LEAST_ROWS:
        says = "a batch has no rows of which a few could be taken"
        work.checks.made.append(Check(name=_FLOAT64, when="-", outcome=LEFT_OUT, says=says, seconds=0.0))
        return
    work.checks.tell(_FLOAT64)
    precision = work.setting.context.precision
    oracle = run(work.asked, work.directory / "float64", task="oracle", precision=precision, seeds=[0], rows=LEAST_ROWS)
    work.checks.note(_FLOAT64, oracle.failure, done=f"of {LEAST_ROWS} rows", began=began)


def _try_memory(work: _OwnRehearsal, ended: Ended) -> None:
    took, has = ended.peak_memory_bytes, available_memory()
    if took is None or has is None:
        return
    with work.checks.trying(_MEMORY, "train", is_needed=took > has) as says:
        if MARGIN * took > has:
            raise CannotRun(f"a step took {mib(took)}, {mib(has)} are free{_fitting_rows(work, ended)}")
        says.append(f"{mib(took)} of {mib(has)}")


def _fitting_rows(work: _OwnRehearsal, ended: Ended) -> str:
    """Return, in words, the largest batch that would fit."""
    rows, has = ended.read(frame.REHEARSED)["rows"], available_memory()
    if rows is None:
        return ""
    line = step_line(work.asked, work.setting, work.directory, rows, tell=work.checks.tell)
    return fitting(line, rows, has, work.peak_of)
