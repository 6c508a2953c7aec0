"""Cells of a night, so many side by side as the machine bears, while there is time.

What happens to a cell is written down before it happens: its directory before it starts, its verdict once it has ended. One that
fails takes no other with it.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol

from vigil.documents.failure import Triage
from vigil.documents.night import DONE, LEFT, PENDING, RUNNING, CellRow, FailedTry, NightNarrowing
from vigil.documents.verdict import Verdict
from vigil.errors import DataError, EnvironmentFailed, VigilError
from vigil.nightly.cells import NightCell
from vigil.nightly.narrowing import Wrong
from vigil.nightly.night_file import NightFile
from vigil.nightly.night_plan import Estimator

TICK_SECONDS = 10.0
Cores = list[int] | None


@dataclasses.dataclass(frozen=True)
class CellOutcome:
    """How a cell ended. verdict: None for one that was interrupted, which is gone on with when the night is resumed.

    triage: of a failure, where one was made.
    """

    verdict: Verdict | None
    reason: str = ""
    p_value: float | None = None
    peak_memory_bytes: int | None = None
    triage: Triage | None = None


class CellWork(Protocol):
    """What carries out cells. Tests put a fake in its place."""

    def prepare(self, cell: NightCell, cores: Cores) -> str:
        """Make the directory of a cell, and return its name among the runs. Nothing runs yet."""

    def carry_out(self, cell: NightCell, directory: str, cores: Cores, stop: threading.Event) -> CellOutcome:
        """Run a cell in its directory, or go on with what lies there; called on a thread of its own."""

    def narrow(self, wrong: Wrong, seconds: float) -> NightNarrowing:
        """Narrow what a cell found wrong, and return what came of it; what is not done after so many seconds is ended."""

    def close(self) -> None:
        """End what was started for many cells."""


class TryAgain(Protocol):
    """What says whether a cell that failed is tried once more."""

    def told(self, cell: NightCell, outcome: CellOutcome) -> Triage:
        """Return the triage of a failure, with what is known of earlier ones."""

    def is_worth_it(self, cell: NightCell, triage: Triage, *, seconds: float, tries: int) -> bool:
        """Is another try worth it? seconds: of the one that failed. tries: how many there were, this one included."""


class NightClock:
    """The time that a night has had, earlier attempts included."""

    def __init__(self, *, budget: float, spent: float = 0.0, now: Callable[[], float] = time.monotonic) -> None:
        self.budget, self._spent, self._now, self._began = budget, spent, now, now()

    def spent(self) -> float:
        return self._spent + self._now() - self._began

    def left(self) -> float:
        return max(self.budget - self.spent(), 0.0)


@dataclasses.dataclass(frozen=True)
class _StartedCell:
    cell: NightCell
    cores: Cores
    directory: str
    at: float
    earlier: float


def run_cells(
    night: NightFile,
    order: Sequence[NightCell],
    *,
    work: CellWork,
    shares: Sequence[Cores],
    clock: NightClock,
    estimator: Estimator,
    on_end: Callable[[NightCell], None],
    again: TryAgain,
    reserve: Callable[[], float] = lambda: 0.0,
) -> None:
    """Start cells in this order, one on each share of the cores, each only where the time that is left is enough for it.

    One that failed is tried again where that is worth it, when all others have had their first look. Of that time as many seconds
    are kept back as `reserve` says. The first starts whatever it takes, and so does one that an earlier attempt had started. What
    there is no time for is left. On Ctrl-C the cells that run are ended and stay `running`, to be gone on with; it is raised
    again.
    """
    stop, free = threading.Event(), deque(shares)
    running: dict[Future[CellOutcome], _StartedCell] = {}
    with ThreadPoolExecutor(max_workers=len(shares)) as pool:
        try:
            while True:
                active = {started.cell.key for started in running.values()}
                while free and (cell := _next(night, order, active, left=clock.left() - reserve(), estimator=estimator)):
                    cores = free.popleft()
                    if (
                        started := _begin(night, cell, cores, work=work, estimator=estimator, on_end=on_end, again=again)
                    ) is None:
                        free.append(cores)
                        continue
                    running[pool.submit(work.carry_out, cell, started.directory, cores, stop)] = started
                    active.add(cell.key)
                if not running:
                    break
                for future in wait(running, timeout=TICK_SECONDS, return_when=FIRST_COMPLETED).done:
                    started = running.pop(future)
                    free.append(started.cores)
                    _end(
                        night, started, _result(future), is_stopped=stop.is_set(), estimator=estimator, on_end=on_end, again=again
                    )
                night.change(spent_seconds=round(clock.spent(), 1))
        except BaseException:
            stop.set()
            wait(running)
            for future, started in running.items():
                _end(night, started, _result(future), is_stopped=True, estimator=estimator, on_end=on_end, again=again)
            night.change(spent_seconds=round(clock.spent(), 1))
            raise
    for key, row in night.cells.items():
        if not row.is_done:
            _leave(night, key, row)
    night.save()


def _leave(night: NightFile, key: str, row: CellRow) -> None:
    """Leave a cell to coming nights; one that failed, and for whose next try there was no time, has failed."""
    if not row.tries:
        night.mark(key, status=LEFT)
        return
    *before, last = row.tries
    facts = {name: getattr(last, name) for name in ("verdict", "reason", "triage", "directory")}
    night.mark(key, status=DONE, tries=tuple(before), **facts)


def _next(
    night: NightFile, order: Sequence[NightCell], active: set[str], *, left: float, estimator: Estimator
) -> NightCell | None:
    """Return the first cell that may start now, if any."""
    is_first = not night.is_begun
    for cell in sorted(order, key=lambda cell: len(night.cells[cell.key].tries)):  # what failed before comes last
        row = night.cells[cell.key]
        if row.is_done or cell.key in active:
            continue
        before = night.cells.get(cell.verification.key) if cell.verification else None
        if before is not None and not before.is_done:
            continue
        if cell.is_short and cell.companion and cell.companion.key in active:
            continue
        if is_first or row.status == RUNNING or estimator.seconds(cell) <= left:
            return cell
    return None


def _begin(
    night: NightFile,
    cell: NightCell,
    cores: Cores,
    *,
    work: CellWork,
    estimator: Estimator,
    on_end: Callable[[NightCell], None],
    again: TryAgain,
) -> _StartedCell | None:
    """Write down that a cell starts, and where; None for one that cannot."""
    row = night.cells[cell.key]
    directory = row.directory if row.status == RUNNING else None
    if directory is None:
        try:
            directory = work.prepare(cell, cores)
        except Exception as error:
            outcome = failure_of(error)
            triage = again.told(cell, outcome)
            _close(night, cell, dataclasses.replace(outcome, triage=triage), seconds=row.seconds or 0.0)
            on_end(cell)
            return None
    night.update(cell.key, status=RUNNING, directory=directory, estimate_seconds=round(estimator.seconds(cell), 1))
    return _StartedCell(cell, cores, directory, time.monotonic(), row.seconds or 0.0)


def _end(
    night: NightFile,
    started: _StartedCell,
    outcome: CellOutcome,
    *,
    is_stopped: bool,
    estimator: Estimator,
    on_end: Callable[[NightCell], None],
    again: TryAgain,
) -> None:
    seconds = round(started.earlier + time.monotonic() - started.at, 1)
    if outcome.verdict is None and is_stopped:
        night.update(started.cell.key, seconds=seconds)
        return
    if outcome.verdict is None:
        # Not by us: to go on with it would be to do so for ever.
        outcome = CellOutcome(Verdict.FAILED_INTERRUPTED, "its runner was ended from outside")
    if Verdict(outcome.verdict).is_failed:
        triage = again.told(started.cell, outcome)
        outcome = dataclasses.replace(outcome, triage=triage)
        tries = night.cells[started.cell.key].tries
        own = round(seconds - sum(each.seconds for each in tries), 1)
        if not is_stopped and again.is_worth_it(started.cell, triage, seconds=own, tries=len(tries) + 1):
            failed = FailedTry(
                verdict=outcome.verdict, reason=outcome.reason, triage=triage, seconds=own, directory=started.directory
            )
            night.update(started.cell.key, status=PENDING, directory=None, seconds=seconds, tries=(*tries, failed))
            return
    row = _close(night, started.cell, outcome, seconds=seconds)
    if row.verdict is not None:
        estimator.see(started.cell, seconds, row.verdict)
    on_end(started.cell)


def _close(night: NightFile, cell: NightCell, outcome: CellOutcome, *, seconds: float) -> CellRow:
    facts = {field.name: getattr(outcome, field.name) for field in dataclasses.fields(outcome)}
    return night.update(cell.key, status=DONE, seconds=seconds, **facts)


def _result(future: Future[CellOutcome]) -> CellOutcome:
    error = future.exception()
    return future.result() if error is None else failure_of(error)


def failure_of(error: BaseException) -> CellOutcome:
    """Return the outcome of a cell that could not be carried out."""
    if isinstance(error, DataError):
        return CellOutcome(Verdict.FAILED_DATA, str(error))
    if isinstance(error, EnvironmentFailed):
        return CellOutcome(Verdict.FAILED_ENVIRONMENT, str(error))
    if isinstance(error, VigilError):
        return CellOutcome(Verdict.FAILED_COULD_NOT_START, str(error))
    return CellOutcome(Verdict.FAILED_CRASH, f"the conductor failed: {type(error).__name__}: {error}")
