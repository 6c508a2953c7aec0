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

from vigil.errors import DataError, EnvironmentFailed, VigilError
from vigil.nightly.cells import Cell
from vigil.nightly.document import DONE, LEFT, RUNNING, Night
from vigil.nightly.estimate import Estimator

TICK_SECONDS = 10.0
NO_ENVIRONMENT = "failed:environment"
Cores = list[int] | None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a cell ended. verdict: None for one that was interrupted, which is gone on with when the night is resumed."""

    verdict: str | None
    reason: str = ""
    p_value: float | None = None
    peak_memory_bytes: int | None = None


class Work(Protocol):
    """What carries out cells. Tests put a fake in its place."""

    def prepare(self, cell: Cell, cores: Cores) -> str:
        """Make the directory of a cell, and return its name among the runs. Nothing runs yet."""

    def carry_out(self, cell: Cell, directory: str, cores: Cores, stop: threading.Event) -> Outcome:
        """Run a cell in its directory, or go on with what lies there; called on a thread of its own."""


class Clock:
    """The time that a night has had, earlier attempts included."""

    def __init__(self, *, budget: float, spent: float = 0.0, now: Callable[[], float] = time.monotonic) -> None:
        self.budget, self._spent, self._now, self._began = budget, spent, now, now()

    def spent(self) -> float:
        return self._spent + self._now() - self._began

    def left(self) -> float:
        return max(self.budget - self.spent(), 0.0)


@dataclasses.dataclass(frozen=True)
class _Started:
    cell: Cell
    cores: Cores
    at: float
    earlier: float


def run_cells(
    night: Night,
    order: Sequence[Cell],
    *,
    work: Work,
    shares: Sequence[Cores],
    clock: Clock,
    estimator: Estimator,
    on_end: Callable[[Cell], None],
) -> None:
    """Start cells in this order, one on each share of the cores, each only where the time that is left is enough for it.

    The first starts whatever it takes, and so does one that an earlier attempt had started. What there is no time for is left. On
    Ctrl-C the cells that run are ended and stay `running`, to be gone on with; it is raised again.
    """
    stop, free, running = threading.Event(), deque(shares), {}
    with ThreadPoolExecutor(max_workers=len(shares)) as pool:
        try:
            while True:
                active = {started.cell.key for started in running.values()}
                while free and (cell := _next(night, order, active, clock=clock, estimator=estimator)):
                    cores = free.popleft()
                    if (started := _begin(night, cell, cores, work=work, estimator=estimator, on_end=on_end)) is None:
                        free.append(cores)
                        continue
                    directory = night.cells[cell.key]["directory"]
                    running[pool.submit(work.carry_out, cell, directory, cores, stop)] = started
                    active.add(cell.key)
                if not running:
                    break
                for future in wait(running, timeout=TICK_SECONDS, return_when=FIRST_COMPLETED).done:
                    started = running.pop(future)
                    free.append(started.cores)
                    _end(night, started, _result(future), is_stopped=stop.is_set(), estimator=estimator, on_end=on_end)
                night.document["spent_seconds"] = round(clock.spent(), 1)
                night.save()
        except BaseException:
            stop.set()
            wait(running)
            for future, started in running.items():
                _end(night, started, _result(future), is_stopped=stop.is_set(), estimator=estimator, on_end=on_end)
            night.document["spent_seconds"] = round(clock.spent(), 1)
            night.save()
            raise
    for row in night.cells.values():
        if row["status"] != DONE:
            row["status"] = LEFT
    night.save()


def _next(night: Night, order: Sequence[Cell], active: set[str], *, clock: Clock, estimator: Estimator) -> Cell | None:
    """Return the first cell that may start now, if any."""
    left, is_first = clock.left(), not night.is_begun
    for cell in order:
        row = night.cells[cell.key]
        if row["status"] == DONE or cell.key in active:
            continue
        before = night.cells.get(cell.verification.key) if cell.verification else None
        if before is not None and before["status"] != DONE:
            continue
        if is_first or row["status"] == RUNNING or estimator.seconds(cell) <= left:
            return cell
    return None


def _begin(
    night: Night, cell: Cell, cores: Cores, *, work: Work, estimator: Estimator, on_end: Callable[[Cell], None]
) -> _Started | None:
    """Write down that a cell starts, and where; None for one that cannot."""
    row = night.cells[cell.key]
    directory = row["directory"] if row["status"] == RUNNING else None
    if directory is None:
        try:
            directory = work.prepare(cell, cores)
        except Exception as error:
            _close(night, cell, failure_of(error), seconds=0.0)
            on_end(cell)
            return None
    night.update(cell, status=RUNNING, directory=directory, estimate_seconds=round(estimator.seconds(cell), 1))
    return _Started(cell, cores, time.monotonic(), row["seconds"] or 0.0)


def _end(
    night: Night, started: _Started, outcome: Outcome, *, is_stopped: bool, estimator: Estimator, on_end: Callable[[Cell], None]
) -> None:
    seconds = round(started.earlier + time.monotonic() - started.at, 1)
    if outcome.verdict is None and is_stopped:
        night.update(started.cell, seconds=seconds)
        return
    if outcome.verdict is None:
        # Not by us: to go on with it would be to do so for ever.
        outcome = Outcome("failed:interrupted", "its runner was ended from outside")
    _close(night, started.cell, outcome, seconds=seconds)
    estimator.see(started.cell, seconds, outcome.verdict)
    on_end(started.cell)


def _close(night: Night, cell: Cell, outcome: Outcome, *, seconds: float) -> None:
    facts = dataclasses.asdict(outcome)
    night.update(cell, status=DONE, seconds=seconds, **facts)


def _result(future: Future) -> Outcome:
    error = future.exception()
    return future.result() if error is None else failure_of(error)


def failure_of(error: BaseException) -> Outcome:
    """Return the outcome of a cell that could not be carried out."""
    if isinstance(error, DataError):
        return Outcome("failed:data", str(error))
    if isinstance(error, EnvironmentFailed):
        return Outcome(NO_ENVIRONMENT, str(error))
    if isinstance(error, VigilError):
        return Outcome("failed:could_not_start", str(error))
    return Outcome("failed:crash", f"the conductor failed: {type(error).__name__}: {error}")


def fail(night: Night, cells: Sequence[Cell], outcome: Outcome) -> None:
    """Close cells that there is no starting of, in one write."""
    for cell in cells:
        if night.cells[cell.key]["status"] != DONE:
            night.cells[cell.key].update(status=DONE, seconds=0.0, **dataclasses.asdict(outcome))
    night.save()
