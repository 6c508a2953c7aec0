"""What drifts, as `vigil drift` finds it and in its words: for the first page, and for the page and the chart of each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reports.drift_table import DriftRow, drift_line, gap_line, moved_line, notes
from reports.site.appearance import APPEARANCES, FAILED, OTHER, Appearance
from reports.site.cell_results import Key
from reports.site.sources import Sources
from reports.site.standing import framework_of
from vigil.documents.verdict import Verdict
from vigil.drift.bits import WORSE
from vigil.drift.findings import EVERY, CellCount, Drift, DriftReport, cell_key, detect
from vigil.drift.reference_samples import References

_OF_DRIFT = {True: Verdict.REGRESSED.value, False: Verdict.BETTER.value, None: OTHER}
_OF_MOVE = {True: Verdict.REGRESSED.value, False: Verdict.UNKNOWN.value}


@dataclass(frozen=True)
class DriftMark:
    """Where a drift began: the likeliest night, and the nights that it lies between with 90 %, by name."""

    night: str
    low: str
    high: str


@dataclass(frozen=True)
class DriftLine:
    """One finding. key: the cell, None where the cells of `framework` were pooled. mark: where it began, if that is known.

    drift: None for numbers that moved, and for a cell that gives none.
    """

    key: Key | None
    framework: str
    appearance: Appearance
    line: DriftRow
    mark: DriftMark | None = None
    drift: Drift | None = None

    @property
    def word(self) -> str:
        """What it is, in the one word that every page has for it."""
        if self.drift is not None:
            return {True: "worse", False: "better", None: self.drift.what}[self.drift.worse]
        return "wrong step" if self.line.what == WORSE else self.line.what


@dataclass(frozen=True)
class CellDrift:
    """What is known of one cell.

    found: what drifts in it, or is worse against float64. others: that it gives no value any more, or that its numbers moved.
    pooled: findings on it and others together. seen: None for a cell without any value.
    """

    found: Sequence[DriftLine]
    others: Sequence[DriftLine]
    pooled: Sequence[DriftLine]
    seen: CellCount | None

    @property
    def mark(self) -> DriftMark | None:
        """Where its drift began; None where nothing drifts, or has been away from the reference all along."""
        return next((each.mark for each in self.found if each.mark is not None), None)


@dataclass(frozen=True)
class SiteDrift:
    """All that was found, in the verb's order.

    findings: what drifts, and what is worse against float64: with none of them nothing drifts. gaps: cells that give no value any
    more. moved: cells whose numbers moved otherwise, and how many of each outcome. looked_at, notes: as the verb has them.
    """

    findings: Sequence[DriftLine]
    gaps: Sequence[DriftLine]
    moved: Sequence[DriftLine]
    outcomes: Mapping[str, int]
    looked_at: Mapping[str, Any]
    notes: Sequence[str]
    seen: Mapping[Key, CellCount]

    @cached_property
    def by_key(self) -> Mapping[Key, Sequence[DriftLine]]:
        """The findings of each cell."""
        return _by_key(self.findings)

    @cached_property
    def gaps_by_key(self) -> Mapping[Key, Sequence[DriftLine]]:
        """That a cell gives no value any more."""
        return _by_key(self.gaps)

    @cached_property
    def moved_by_key(self) -> Mapping[Key, Sequence[DriftLine]]:
        """The cells whose numbers moved and are not worse."""
        return _by_key(self.moved)

    def of(self, key: Key) -> CellDrift:
        """Return what is known of a cell."""
        framework = framework_of(key)
        found = self.by_key.get(key, ())
        others = [*self.gaps_by_key.get(key, ()), *self.moved_by_key.get(key, ())]
        pooled = [each for each in self.findings if each.key is None and each.framework in (framework, EVERY)]
        return CellDrift(found, others, pooled, self.seen.get(key))


def drifts_of(sources: Sources) -> SiteDrift:
    """Return what `vigil drift` finds in this history, without its options."""
    history = sources.history
    references = References(lambda name: sources.rows.get(name, ()))
    report = detect(history.samples, history.verifications, reference_for=references)
    moves = [
        DriftLine(cell_key(cell), cell["framework"], APPEARANCES[_OF_MOVE[move.what == WORSE]], moved_line([(cell, move)]))
        for cell, move in report.moves
    ]
    moved = [each for each in moves if each.line.what != WORSE]
    return SiteDrift(
        findings=[*(_drift(each, report) for each in report.drifts), *(each for each in moves if each.line.what == WORSE)],
        gaps=[
            DriftLine(cell_key(gap.cell), gap.cell["framework"], APPEARANCES[FAILED], gap_line(gap, report.nights))
            for gap in report.gaps
        ],
        moved=moved,
        outcomes=Counter(each.line.what for each in moved),
        looked_at=report.looked_at,
        notes=notes(report, remarks=()),
        seen=report.cells,
    )


def _drift(drift: Drift, report: DriftReport) -> DriftLine:
    key = None if "cells" in drift.cell else cell_key(drift.cell)
    line, began = drift_line(drift, report.nights), drift.since
    mark = None
    if began.night is not None and began.low is not None and began.high is not None:
        mark = DriftMark(night=report.nights[began.night], low=report.nights[began.low], high=report.nights[began.high])
    return DriftLine(key, drift.cell["framework"], APPEARANCES[_OF_DRIFT[drift.worse]], line, mark, drift)


def _by_key(lines: Sequence[DriftLine]) -> dict[Key, list[DriftLine]]:
    found: dict[Key, list[DriftLine]] = {}
    for each in lines:
        if each.key is not None:
            found.setdefault(each.key, []).append(each)
    return found
