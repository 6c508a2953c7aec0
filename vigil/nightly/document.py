"""night.json: one night, whole without MLflow, written before anything runs and at every change; one night at a time.

    <runs>/nights/<UTC date>-<n>/night.json
    <runs>/nights/night.lock      held by who is at work, with its process id in it; the kernel lets go when that ends

Each write replaces the file as a whole, so that a kill at any moment leaves the night as it was before or after.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

from vigil.documents.context import Context
from vigil.errors import CannotRun, DirectoryError
from vigil.nightly.cells import Cell

SCHEMA = 1
FILE_NAME, LOCK_NAME = "night.json", "night.lock"
PENDING, RUNNING, DONE, LEFT = "pending", "running", "done", "left"


@dataclasses.dataclass
class Night:
    """A night that is being written. `document` is what night.json holds."""

    directory: Path
    document: dict[str, Any]

    def __post_init__(self) -> None:
        self.cells = {row["key"]: row for row in self.document["cells"]}

    @property
    def id(self) -> str:
        return self.document["id"]

    @property
    def is_begun(self) -> bool:
        """Has any cell been started?"""
        return any(row["directory"] for row in self.document["cells"])

    def save(self) -> None:
        """Replace night.json as a whole."""
        replace(self.directory / FILE_NAME, text_of(self.document))

    def update(self, cell: Cell, **facts: Any) -> None:
        """Change what stands in a cell's row, and save."""
        self.cells[cell.key].update(facts)
        self.save()


def text_of(document: dict[str, Any]) -> str:
    """Return night.json's content: a cell a line. It is written at every change: indenting all of it takes long."""
    rows = [json.dumps(row, allow_nan=False) for row in document["cells"]]
    rest = json.dumps({**document, "cells": []}, indent=1, allow_nan=False)
    return rest.replace('\n "cells": []', '\n "cells": [\n  ' + ",\n  ".join(rows) + "\n ]", 1) + "\n"


def replace(path: Path, text: str) -> None:
    """Replace a file as a whole."""
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def nights_directory(runs: Path) -> Path:
    return runs / "nights"


def row_of(cell: Cell, *, basis: str, chosen: str) -> dict[str, Any]:
    """Return the row of a cell that nobody has started on. `chosen`: why it is due."""
    facts = {"key": cell.key, "kind": cell.kind, "recipe": cell.recipe, "profile": cell.profile}
    facts |= {"context": cell.context.as_dict(), "basis": basis, "chosen": chosen, "estimate_seconds": None}
    facts |= {"status": PENDING, "directory": None, "seconds": None, "peak_memory_bytes": None}
    return facts | {"verdict": None, "reason": None, "p_value": None, "stands": None}


def cell_of(row: dict[str, Any]) -> Cell:
    """Return the cell of a row."""
    return Cell(row["kind"], row["recipe"], row["profile"], Context.from_dict(row["context"]))


def next_number(nights: Path, earlier: Sequence[dict[str, Any]], *, when: datetime) -> int:
    """Return the number of the next night: days since 2026 began, and one more for each night of the same date.

    A count of nights would begin anew where their folder was cleared, or not kept by a hosted machine; MLflow's timelines, whose
    steps the numbers are, would refuse it there.
    """
    day = (when.date() - date(2026, 1, 1)).days
    # A night whose document nobody can read has had its number all the same.
    of_today = [path for path in nights.glob(f"{when:%Y-%m-%d}-*") if path.is_dir()]
    return max([day + len(of_today), *(document["number"] + 1 for document in earlier)])


def create_night(nights: Path, *, number: int, when: datetime, facts: dict[str, Any]) -> Night:
    """Create the directory and document of a new night. `facts`: what is known of it before anything runs.

    Raises:
        DirectoryError: the folder cannot be written.
    """
    directory = _new_directory(nights, f"{when:%Y-%m-%d}")
    document = {
        "schema": SCHEMA,
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
    night = Night(directory, document)
    night.save()
    return night


def read_nights(nights: Path) -> tuple[list[Night], list[str]]:
    """Return the nights in the order of their numbers, and a remark for each that cannot be read."""
    found, remarks = [], []
    for path in nights.glob(f"*/{FILE_NAME}"):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["schema"] != SCHEMA:
                raise ValueError(f"schema: found {document['schema']!r}, this Vigil reads {SCHEMA}")
            document["number"], document["created"]
            found.append(Night(path.parent, document))
        except (OSError, ValueError, KeyError, TypeError) as error:
            remarks.append(f"{path}: left out, it cannot be read ({type(error).__name__}: {error})")
    return sorted(found, key=lambda night: night.document["number"]), remarks


def created(document: dict[str, Any]) -> datetime:
    """Return when a night was begun."""
    return datetime.fromisoformat(document["created"]).astimezone(timezone.utc)


@contextlib.contextmanager
def alone(nights: Path) -> Iterator[None]:
    """Be the only nightly at work on these nights. Raises CannotRun with the process id of the other, DirectoryError."""
    try:
        nights.mkdir(parents=True, exist_ok=True)
        lock = open(nights / LOCK_NAME, "a+", encoding="utf-8")  # noqa: SIM115  closed below
    except OSError as error:
        raise DirectoryError(
            f"{nights}: cannot be written ({error.strerror}). Set VIGIL_RUNS_DIR to a directory that can."
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = lock.read().strip() or "that has only just begun"
            raise CannotRun(
                f"{nights}: another nightly is at work here, process {owner}. Wait for it, or end it first."
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
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
