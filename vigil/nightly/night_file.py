"""A night that is being written: night.json, replaced whole before anything runs and at every change; one night at a time.

    <runs>/nights/<UTC date>-<n>/night.json
    <runs>/nights/night.lock      held by who is at work, with its process id in it; the kernel lets go when that ends

A kill at any moment leaves the night as it was before a change or after it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from vigil import locks
from vigil.documents.night import CellRow, Night, StepRow, read_nights
from vigil.errors import CannotRun, DirectoryError

LOCK_NAME = "night.lock"


class NightFile:
    """A night on the disk. `cells`: its rows as they are now, by key."""

    def __init__(self, directory: Path, document: Night) -> None:
        self.directory = directory
        self._document: Night = document
        self.cells: dict[str, CellRow] = {row.key: row for row in document.rows}
        self._is_current = True

    @property
    def id(self) -> str:
        return self._document.id

    @property
    def document(self) -> Night:
        """Return the night as it is now."""
        if not self._is_current:
            rows = self.cells.values()
            steps = tuple(row for row in rows if isinstance(row, StepRow))
            cells = tuple(row for row in rows if not isinstance(row, StepRow))
            self._document = self._document.replace(cells=cells, **({"steps": steps} if steps else {}))
            self._is_current = True
        return self._document

    @property
    def is_begun(self) -> bool:
        """Has any cell been started?"""
        return any(row.directory or row.tries for row in self.cells.values())

    def mark(self, key: str, **facts: Any) -> CellRow:
        """Change what stands in a cell's row, and return it. Nothing is written."""
        row = self.cells[key] = self.cells[key].replace(**facts)
        self._is_current = False
        return row

    def update(self, key: str, **facts: Any) -> CellRow:
        """Change what stands in a cell's row, write the night, and return the row."""
        row = self.mark(key, **facts)
        self.save()
        return row

    def change(self, **facts: Any) -> None:
        """Change what stands in the night besides its cells, and write it."""
        self.put(self.document.replace(**facts))

    def put(self, document: Night) -> None:
        """Put another document in this one's place, and write it."""
        self._document, self.cells = document, {row.key: row for row in document.rows}
        self._is_current = True
        self.save()

    def save(self) -> None:
        """Replace night.json as a whole."""
        self.document.write(self.directory)


def next_number(nights: Path, earlier: Sequence[Night], *, when: datetime) -> int:
    """Return the number of the next night: days since 2026 began, and one more for each night of the same date.

    A count of nights would begin anew where their folder was cleared, or not kept by a hosted machine; MLflow's timelines, whose
    steps the numbers are, would refuse it there.
    """
    day = (when.date() - date(2026, 1, 1)).days
    # A night whose document nobody can read has had its number all the same.
    of_today = [path for path in nights.glob(f"{when:%Y-%m-%d}-*") if path.is_dir()]
    return max([day + len(of_today), *(night.number + 1 for night in earlier)])


def create_night(nights: Path, *, number: int, when: datetime, **facts: Any) -> NightFile:
    """Create the directory and document of a new night. `facts`: what is known of it before anything runs.

    Raises:
        DirectoryError: the folder cannot be written.
    """
    directory = _new_directory(nights, f"{when:%Y-%m-%d}")
    document = Night.model_validate(
        {
            "id": directory.name,
            # Two folders of nights that share one tracker have nights of one id.
            "token": secrets.token_hex(8),
            "number": number,
            "created": when.isoformat(timespec="seconds"),
            **facts,
            "spent_seconds": 0.0,
            "finished": None,
            "verdict": None,
            "tracking": None,
        }
    )
    night = NightFile(directory, document)
    night.save()
    return night


def read_night_files(nights: Path) -> tuple[list[NightFile], list[str]]:
    """Return the nights in the order of their numbers, and a remark for each that cannot be read."""
    documents, remarks = read_nights(nights)
    return [NightFile(directory, document) for directory, document in documents.items()], remarks


@contextlib.contextmanager
def alone(nights: Path) -> Iterator[None]:
    """Be the only nightly at work on these nights. Raises CannotRun with the process id of the other, DirectoryError."""
    path = nights / LOCK_NAME
    with contextlib.ExitStack() as stack:
        try:
            nights.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(locks.locked(path, wait=False))
        except locks.Held:
            owner = path.read_text(encoding="utf-8").strip() or "that has only just begun"
            raise CannotRun(
                f"{nights}: another nightly is at work here, process {owner}. Wait for it, or end it first."
            ) from None
        except OSError as error:
            raise DirectoryError(
                f"{nights}: cannot be written ({error.strerror}). Set VIGIL_RUNS_DIR to a directory that can."
            ) from error
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield


def _new_directory(nights: Path, day: str) -> Path:
    for number in range(1, 1000):
        directory = nights / f"{day}-{number}"
        try:
            directory.mkdir(parents=True)
            return directory
        except FileExistsError:
            continue
        except OSError as error:
            raise DirectoryError(f"{nights}: cannot be written ({error.strerror}).") from error
    raise DirectoryError(f"{nights}: a thousand nights of {day} exist already")
