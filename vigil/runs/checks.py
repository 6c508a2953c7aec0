"""What a preflight tries, one thing after another, and how each ends."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from vigil.documents.failure import Failure
from vigil.documents.preflight import FAILS, HOLDS, LEFT_OUT, WARNS, Check
from vigil.errors import VigilError
from vigil.process.directories import require_writable
from vigil.tracking import artifact_directory, check_reachable, tracking_uri

_LOG_LINES = 6
_PHASES = {
    "start": "the process starts", "import": "imports", "set_up": "the context is set up", "data": "data are loaded",
    "build": "the model is built", "train": "a step is taken", "evaluate": "an evaluation", "checkpoint": "a checkpoint is saved",
    "verify": "a step is taken", "finish": "the final state is saved",
}  # fmt: skip


class CannotGoOn(Exception):
    """What follows cannot be tried."""


@dataclasses.dataclass
class Checks:
    """What has been tried so far. tell: is told what is tried now."""

    tell: Callable[[str], None]
    made: list[Check] = dataclasses.field(default_factory=list)

    @contextlib.contextmanager
    def trying(self, name: str, when: str, *, is_needed: bool = True, goes_on: bool = True) -> Iterator[list[str]]:
        """Note how a check ends; what is put into the list is what it says.

        Args:
            is_needed: whether a run fails without it; else it is warned of.
            goes_on: whether anything can be tried after it has failed.

        Raises:
            CannotGoOn: it failed, and nothing else can be tried.
        """
        self.tell(name)
        began, says = time.monotonic(), list[str]()
        try:
            yield says
            outcome, told = HOLDS, "; ".join(says)
        except (VigilError, OSError, ValueError, KeyError, TypeError, ArithmeticError) as error:
            outcome = FAILS if is_needed else WARNS
            told = str(error) if isinstance(error, VigilError) else _said(error)
        self.made.append(Check(name=name, when=when, outcome=outcome, says=told, seconds=round(time.monotonic() - began, 2)))
        if outcome == FAILS and not goes_on:
            raise CannotGoOn

    def note(self, name: str, failure: Failure | None, *, done: str, more: str = "", began: float) -> None:
        """Note how a process ended that began then. Raises CannotGoOn where it failed.

        Args:
            done: what it says where it came to its end.
            more: what it says besides, where it failed.
        """
        says = done
        if failure:
            says = f"{failure.message}{more}" + "".join(f"\n| {line}" for line in failure.log_tail[-_LOG_LINES:])
            if failure.triage:
                says += f"\n{failure.triage.name} ({failure.triage.dimension}): {failure.triage.advice}"
        when = _PHASES.get(failure.phase, failure.phase) if failure else "train"
        outcome, seconds = FAILS if failure else HOLDS, round(time.monotonic() - began, 2)
        self.made.append(Check(name=name, when=when, outcome=outcome, says=says, seconds=seconds))
        if failure:
            raise CannotGoOn

    def leave_out(self, *names: str) -> None:
        """Note what could not be tried."""
        for name in names:
            says = "nothing could be tried any more"
            self.made.append(Check(name=name, when="-", outcome=LEFT_OUT, says=says, seconds=0.0))


def try_places(checks: Checks, directory: Path, folders: Sequence[Path]) -> None:
    """Try to write where runs do, in the folder of this directory, the temporary one and others; and what tracks them."""
    with checks.trying("places that are written", "all", goes_on=False) as says:
        require_writable(directory.parent)
        places = (directory.parent, Path(tempfile.gettempdir()), *folders)
        for folder in (directory, *places):
            folder.mkdir(parents=True, exist_ok=True)
            _write_and_remove(folder)
        says.append(", ".join(map(str, places)))
    with checks.trying("tracker", "after the last run", is_needed=False) as says:
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


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{f'{error.filename}: ' if error.filename else ''}{error.strerror}"
    return f"{type(error).__name__}: {error}"
