"""What drifts, as `vigil drift` finds it and in its words: for the first page, and for the page and the chart of each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.drift import Line, drift_line, gap_line, moved_line, notes
from reports.site.looks import Key
from reports.site.sources import Sources
from reports.site.verdicts import APPEARANCES, Appearance
from vigil.drift.findings import EVERY, Drift, Report, Seen, cell_key, detect
from vigil.drift.moved import WORSE
from vigil.drift.references import References

_OF_DRIFT = {True: "regressed", False: "better-than-reference", None: "other"}


@dataclass(frozen=True)
class Mark:
    """Where a drift began: the likeliest night, and the nights that it lies between with 90 %, by name."""

    night: str
    low: str
    high: str


@dataclass(frozen=True)
class Finding:
    """One finding. key: the cell, None where the cells of `framework` were pooled. mark: where it began, if that is known."""

    key: Key | None
    framework: str
    appearance: Appearance
    line: Line
    mark: Mark | None = None


@dataclass(frozen=True)
class OfCell:
    """What is known of one cell.

    found: what drifts in it, or is worse against float64. others: that it gives no value any more, or that its numbers moved.
    pooled: findings on it and others together. seen: None for a cell without any value.
    """

    found: Sequence[Finding]
    others: Sequence[Finding]
    pooled: Sequence[Finding]
    seen: Seen | None

    @property
    def mark(self) -> Mark | None:
        """Where its drift began; None where nothing drifts, or has been away from the reference all along."""
        return next((each.mark for each in self.found if each.mark is not None), None)


@dataclass(frozen=True)
class Drifts:
    """All that was found, in the verb's order.

    findings: what drifts, and what is worse against float64: with none of them nothing drifts. gaps: cells that give no value any
    more. moved: cells whose numbers moved otherwise, and how many of each outcome. looked_at, notes: as the verb has them.
    """

    findings: Sequence[Finding]
    gaps: Sequence[Finding]
    moved: Sequence[Finding]
    outcomes: Mapping[str, int]
    looked_at: Mapping[str, object]
    notes: Sequence[str]
    seen: Mapping[Key, Seen]

    def of(self, key: Key) -> OfCell:
        """Return what is known of a cell."""
        framework = key[2].split("-")[0]
        found = [each for each in self.findings if each.key == key]
        others = [each for each in (*self.gaps, *self.moved) if each.key == key]
        pooled = [each for each in self.findings if each.key is None and each.framework in (framework, EVERY)]
        return OfCell(found, others, pooled, self.seen.get(key))


def drifts_of(sources: Sources) -> Drifts:
    """Return what `vigil drift` finds in this history, without its options."""
    history = sources.history
    references = References(lambda name: sources.rows.get(name, ()))
    report = detect(history.samples, history.verifications, reference_for=references)
    moves = [
        Finding(cell_key(cell), cell["framework"], APPEARANCES["regressed" if found.what == WORSE else "unknown"],
                moved_line([(cell, found)]))
        for cell, found in report.moves
    ]  # fmt: skip
    moved = [each for each in moves if each.line.what != WORSE]
    return Drifts(
        findings=[*(_drift(each, report) for each in report.drifts), *(each for each in moves if each.line.what == WORSE)],
        gaps=[
            Finding(cell_key(gap.cell), gap.cell["framework"], APPEARANCES["failed"], gap_line(gap, report.nights))
            for gap in report.gaps
        ],
        moved=moved,
        outcomes=Counter(each.line.what for each in moved),
        looked_at=report.looked_at,
        notes=notes(report, remarks=()),
        seen=report.cells,
    )


def _drift(drift: Drift, report: Report) -> Finding:
    key = None if "cells" in drift.cell else cell_key(drift.cell)
    line, began = drift_line(drift, report.nights), drift.since
    mark = None
    if began.night is not None:
        mark = Mark(*(report.nights[night] for night in (began.night, began.low, began.high)))
    return Finding(key, drift.cell["framework"], APPEARANCES[_OF_DRIFT[drift.worse]], line, mark)
