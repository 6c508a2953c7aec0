"""What earlier nights found: which cells are covered, which are due and since when, and which come first.

Read from the nights' documents each time: an index beside them could only come to disagree with them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from vigil.nightly.cells import REPRODUCE, Cell
from vigil.nightly.document import DONE, LEFT, created
from vigil.references.judgement import BETTER, FAILED, REGRESSED

OUTSIDE = (REGRESSED, BETTER)


@dataclasses.dataclass(frozen=True)
class Look:
    """How one night found a cell. `stands`: whether a number outside its band is beyond chance; None where nobody asked."""

    night: str
    created: datetime
    verdict: str
    reason: str
    basis: str
    release: str | None
    stands: bool | None
    seconds: float
    peak_memory_bytes: int | None
    directory: str | None

    @property
    def is_failed(self) -> bool:
        return self.verdict.startswith(FAILED)

    @property
    def is_outside(self) -> bool:
        return self.verdict in OUTSIDE


@dataclasses.dataclass(frozen=True)
class Due:
    """A cell that is to be looked at: why, since when, and whether it comes before all that is only due."""

    cell: Cell
    basis: str
    chosen: str
    since: datetime
    is_urgent: bool


class Ledger:
    """All looks of earlier nights, by cell."""

    def __init__(self, documents: Sequence[dict[str, Any]]) -> None:
        """documents: in the order of their nights."""
        self.looks: dict[str, list[Look]] = {}
        self._waiting: dict[str, datetime] = {}
        self._left: dict[tuple[str, str], datetime] = {}
        for document in documents:
            when, n_seeds = created(document), max(len(document.get("seeds") or ()), 1)
            for row in document["cells"]:
                key = row["key"]
                if row["status"] == DONE:
                    self.looks.setdefault(key, []).append(_look(row, document, when=when, n_seeds=n_seeds))
                    self._waiting.pop(key, None)
                    continue
                self._waiting.setdefault(key, when)
                if row["status"] == LEFT and document["finished"]:
                    self._left[key, row["basis"]] = when

    def last(self, cell: Cell, *, basis: str | None = None) -> Look | None:
        """Return the last look at a cell, or the last one on a basis."""
        looks = self.looks.get(cell.key, ())
        return next((look for look in reversed(looks) if basis in (None, look.basis)), None)

    def is_covered(self, cell: Cell, basis: str) -> bool:
        """Has the last look on this basis decided? A failure has not, nor has a number outside its band that chance explains."""
        look = self.last(cell, basis=basis)
        if look is None or look.is_failed:
            return False
        return not (cell.kind == REPRODUCE and look.is_outside and look.stands is not True)

    def due(self, cell: Cell, basis: str, *, when: datetime, is_again: bool = False) -> Due | None:
        """Return why and since when a cell is due, or None for one that is covered."""
        last = self.last(cell)
        if self.is_covered(cell, basis):
            if not is_again:
                return None
            chosen = f"asked for again, after night {last.night}"
        elif last is None:
            chosen = "never looked at"
        elif last.is_failed:
            chosen = f"{last.verdict} in night {last.night}"
        elif last.basis == basis:
            chosen = f"outside its band in night {last.night}, which chance may explain"
        else:
            chosen = f"its release, recipe, code or reference has changed since night {last.night}"
        since = self._waiting.get(cell.key, when)
        if (when - since).days:
            chosen += f"; waits since {since:%Y-%m-%d}"
        is_urgent = last is not None and (last.is_failed or last.is_outside)
        return Due(cell, basis, chosen, since, is_urgent)

    def left_today(self, due: Due, *, when: datetime) -> bool:
        """Has a finished night of the same UTC date left this cell, on the same basis, to the coming ones?"""
        left = self._left.get((due.cell.key, due.basis))
        return left is not None and left.date() == when.date()

    def was_outside(self, cell: Cell, *, verdict: str, release: str | None) -> bool:
        """Was the last look at a reproduction outside on the same side, with the same release?"""
        last = self.last(cell)
        return last is not None and last.verdict == verdict and last.is_outside and last.release == release

    def peaks(self, cells: Iterable[Cell]) -> list[int]:
        """Return the peak memory of every look that is known, in bytes."""
        looks = [look for cell in cells for look in self.looks.get(cell.key, ())]
        return [look.peak_memory_bytes for look in looks if look.peak_memory_bytes]


def _look(row: dict[str, Any], document: dict[str, Any], *, when: datetime, n_seeds: int) -> Look:
    release = document["releases"].get(row["context"]["framework"], {})
    return Look(
        night=document["id"],
        created=when,
        verdict=row["verdict"],
        reason=row["reason"] or "",
        basis=row["basis"],
        release=release.get("version"),
        stands=row["stands"],
        seconds=(row["seconds"] or 0.0) / (n_seeds if row["kind"] == REPRODUCE else 1),
        peak_memory_bytes=row["peak_memory_bytes"],
        directory=row["directory"],
    )
