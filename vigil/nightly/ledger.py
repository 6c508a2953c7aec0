"""What earlier nights found: which cells are covered, which are due and since when, and which come first.

Read from the nights' documents each time: an index beside them could only come to disagree with them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import datetime

from vigil.documents.failure import Triage
from vigil.documents.night import LEFT, REPRODUCE, CellRow, Night, StandingFinding
from vigil.documents.verdict import Verdict
from vigil.failures.categories import CATEGORIES
from vigil.failures.past import triage_of
from vigil.failures.triage import is_alike
from vigil.nightly.cells import NightCell


@dataclasses.dataclass(frozen=True)
class PastResult:
    """How one night found a cell. `stands`: whether a number outside its band is beyond chance; None where nobody asked.

    pins: the packages that it was looked at with. triage: of a failure. seeds: of its night. judged: among how many numbers.
    """

    night: str
    created: datetime
    verdict: Verdict
    reason: str
    basis: str
    release: str | None
    pins: tuple[str, ...] | None
    stands: bool | None
    seconds: float
    peak_memory_bytes: int | None
    directory: str | None
    triage: Triage | None = None
    seeds: tuple[int, ...] = ()
    judged: int = 0


@dataclasses.dataclass(frozen=True)
class DueCell:
    """A cell that is to be looked at: why, since when, and whether it comes before all that is only due."""

    cell: NightCell
    basis: str
    chosen: str
    since: datetime
    is_urgent: bool


class Ledger:
    """The results of earlier nights, by cell. `nights`: they themselves. `narrowed`: the causes that they narrowed."""

    def __init__(self, nights: Sequence[Night]) -> None:
        """nights: in their order."""
        self.nights = tuple(nights)
        self.results: dict[str, list[PastResult]] = {}
        self.narrowed = {each.cause for night in nights for each in night.narrowed if each.is_done}
        self._waiting: dict[str, datetime] = {}
        self._left: dict[tuple[str, str], datetime] = {}
        for night in nights:
            when = night.when
            for row in night.rows:
                if row.ended_as is not None:
                    self.results.setdefault(row.key, []).append(_result(row, row.ended_as, night, when=when))
                    self._waiting.pop(row.key, None)
                    continue
                self._waiting.setdefault(row.key, when)
                if row.status == LEFT and night.finished:
                    self._left[row.key, row.basis] = when

    def last(self, cell: NightCell, *, basis: str | None = None) -> PastResult | None:
        """Return the last result of a cell, or the last one on a basis."""
        results = self.results.get(cell.key, ())
        return next((result for result in reversed(results) if basis in (None, result.basis)), None)

    def not_fine(self, cell: NightCell, basis: str) -> StandingFinding | None:
        """Return what the last look on a basis found, where that is wrong, could not run or is unknown; None where it is fine."""
        last = self.last(cell, basis=basis)
        if last is None or not (last.verdict.is_undecided or last.verdict.is_failed or last.verdict.is_outside):
            return None
        # Of a number outside its band a night decides whether it stands; a step that is wrong does, its night broken off or not.
        if last.verdict.is_outside and cell.kind == REPRODUCE and not last.stands:
            return None
        return StandingFinding(key=cell.key, night=last.night, verdict=last.verdict, reason=last.reason, directory=last.directory)

    def last_right(self, cell: NightCell) -> PastResult | None:
        """Return the last result of a cell that was reproduced."""
        return next((result for result in reversed(self.results.get(cell.key, ())) if result.verdict is Verdict.REPRODUCED), None)

    def is_covered(self, cell: NightCell, basis: str) -> bool:
        """Has the last look on this basis decided?

        A failure has not, unless the program failed so before; nor has a number outside its band that chance explains.
        """
        result = self.last(cell, basis=basis)
        if result is None:
            return False
        if result.verdict.is_failed:
            return self._fails_always(cell, basis)
        return not (cell.kind == REPRODUCE and result.verdict.is_outside and result.stands is not True)

    def _fails_always(self, cell: NightCell, basis: str) -> bool:
        """Did the last two looks on this basis fail by the same line, of a program that has not changed?"""
        last = [result.triage for result in self.results[cell.key] if result.basis == basis][-2:]
        if len(last) < 2 or last[0] is None or last[1] is None:
            return False
        return CATEGORIES[last[1].category].is_of_program and is_alike(last[0], last[1])

    def due(self, cell: NightCell, basis: str, *, when: datetime) -> DueCell | None:
        """Return why and since when a cell is due, or None for one that is covered."""
        return None if self.is_covered(cell, basis) else self.due_again(cell, basis, when=when)

    def due_again(self, cell: NightCell, basis: str, *, when: datetime) -> DueCell:
        """Return why and since when a cell is due; one that is covered is, because it was asked for."""
        last = self.last(cell)
        if last is None:
            chosen = "never looked at"
        elif self.is_covered(cell, basis):
            chosen = f"asked for again, after night {last.night}"
        elif last.verdict.is_failed:
            chosen = f"{last.verdict} in night {last.night}"
        elif last.basis == basis:
            chosen = f"outside its band in night {last.night}, which chance may explain"
        else:
            chosen = f"its release, recipe, code or reference has changed since night {last.night}"
        since = self._waiting.get(cell.key, when)
        if (when - since).days:
            chosen += f"; waits since {since:%Y-%m-%d}"
        is_urgent = last is not None and (last.verdict.is_failed or last.verdict.is_outside)
        return DueCell(cell, basis, chosen, since, is_urgent)

    def left_today(self, due: DueCell, *, when: datetime) -> bool:
        """Has a finished night of the same UTC date left this cell, on the same basis, to the coming ones?"""
        left = self._left.get((due.cell.key, due.basis))
        return left is not None and left.date() == when.date()

    def outside_before(self, cell: NightCell, *, verdict: Verdict, release: str | None) -> PastResult | None:
        """Return the last look at a reproduction where it was outside on the same side, with the same release."""
        last = self.last(cell)
        is_same = last is not None and last.verdict == verdict and last.verdict.is_outside and last.release == release
        return last if is_same else None

    def since(self, cell: NightCell, verdict: Verdict) -> str | None:
        """Return the first of the last nights that all gave this verdict; None where the last one did not."""
        first = None
        for result in reversed(self.results.get(cell.key, ())):
            if result.verdict != verdict:
                break
            first = result.night
        return first

    def peaks(self, cells: Iterable[NightCell]) -> list[int]:
        """Return the peak memory of every result that has one, in bytes."""
        results = [result for cell in cells for result in self.results.get(cell.key, ())]
        return [result.peak_memory_bytes for result in results if result.peak_memory_bytes]


def _result(row: CellRow, verdict: Verdict, night: Night, *, when: datetime) -> PastResult:
    return PastResult(
        night=night.id,
        created=when,
        verdict=verdict,
        reason=row.reason or "",
        basis=row.basis,
        release=night.release_of(row).version,
        pins=night.release_of(row).pins,
        stands=row.stands,
        seconds=(row.seconds or 0.0) / (max(len(night.seeds), 1) if row.kind == REPRODUCE else 1),
        peak_memory_bytes=row.peak_memory_bytes,
        directory=row.directory,
        triage=triage_of(row) if row.is_failed else None,
        seeds=night.seeds,
        judged=night.verdict.judged if night.verdict else 0,
    )
