"""The table of a matrix: one row a context, on a terminal or as Markdown."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.tables import markdown_table, print_table
from vigil.documents.invocation import Invocation
from vigil.documents.judgement import Judgement, shown
from vigil.documents.record import Record
from vigil.documents.verdict import Verdict
from vigil.process.recording import read_record
from vigil.progress import duration
from vigil.statistics.discoveries import FALSE_ALARMS, FALSE_DISCOVERIES, expected_alarms, standing

COLUMNS = ("context", "verdict", "metric", "band", "losses differ by", "first step", "wall time", "reason")


@dataclass(frozen=True)
class MatrixCell:
    """One context of a matrix, as it was recorded, with the record of its first run."""

    invocation: Invocation
    record: Record | None

    @property
    def judged(self) -> Judgement | None:
        return self.invocation.verdict

    @property
    def verdict(self) -> Verdict:
        """The verdict's name; a cell that was stopped has none, and failed by interruption."""
        return self.judged.name if self.judged else Verdict.FAILED_INTERRUPTED

    @property
    def is_judged(self) -> bool:
        """Was its metric beside a band?"""
        return self.verdict.is_judged and not self.is_exact

    @property
    def is_exact(self) -> bool:
        """Was its metric held to a published value's digits alone? Chance has no part in that."""
        judged = self.judged
        return bool(judged and judged.band is None and any(target.exact for target in judged.targets))

    @property
    def losses(self) -> tuple[float, ...]:
        """The loss of every step of the first seed."""
        return self.record.losses if self.record else ()


def read_cell(invocation: Invocation, directory: Path) -> MatrixCell:
    """Return the cell of an invocation and its first run."""
    runs = invocation.runs  # none where there was no environment for the release
    return MatrixCell(invocation, read_record(directory / runs[0]) if runs else None)


def outcome(cell: MatrixCell) -> str:
    """Return one line on how a cell ended."""
    metric = _metric(cell.judged)
    return f"{cell.verdict}{f' {metric}' if metric != '-' else ''} ({duration(cell.invocation.wall_seconds)})"


def rows(cells: Sequence[MatrixCell]) -> list[tuple[str, ...]]:
    """Return the table's rows, one a cell, in the order given."""
    reference = _median_losses(cells)
    return [
        (
            cell.invocation.context.text,
            cell.verdict,
            _metric(cell.judged),
            _band(cell.judged),
            _distance(cell.losses, reference),
            duration(cell.record.timing.first_step_seconds) if cell.record else "-",
            duration(cell.invocation.wall_seconds),
            cell.judged.reason if cell.judged and cell.verdict is not Verdict.REPRODUCED else "",
        )
        for cell in cells
    ]


def notes(cells: Sequence[MatrixCell], *, missing: Sequence[str]) -> list[str]:
    """Return what a reader of the table must know: how to read it, what it expects by chance, what it does not cover."""
    judged = sum(cell.is_judged for cell in cells)
    lines = [
        "losses differ by: the largest relative difference of a step's loss from the median of the fp32, one-device cells "
        "of the same seed; differences grow from step to step, whatever their cause",
        f"{judged} cells judged at {FALSE_ALARMS:.0%} false alarms each: {expected_alarms(judged):.2f} expected by chance",
    ]
    if exact := sum(cell.is_exact for cell in cells):
        lines.append(f"{exact} cells held to printed digits, which chance does not change")
    lines += _discoveries(cells)
    return [*lines, f"not covered, because not installed: {', '.join(missing)}"] if missing else lines


def _discoveries(cells: Sequence[MatrixCell]) -> list[str]:
    """Return which cells stand when all that were judged are taken together; each verdict stays what it is."""
    tested = [
        (cell.invocation.context.text, cell.judged.p_value)
        for cell in cells
        if cell.is_judged and cell.judged and cell.judged.p_value is not None
    ]
    if not tested:
        return []
    outside = standing([p_value for _, p_value in tested])
    names = [f"{tested[place][0]} (adjusted p {p_value:.2g})" for place, p_value in outside.items()]
    what = f"taken together, at a false discovery rate of {FALSE_DISCOVERIES:.0%}, the metric of "
    return [what + (f"{', '.join(names)} is outside" if names else f"none of {len(tested)} cells is outside")]


def show(cells: Sequence[MatrixCell], *, missing: Sequence[str]) -> None:
    """Print the table and its notes."""
    recipe = cells[0].invocation.recipe
    counts = Counter(cell.verdict for cell in cells)
    title = f"{recipe.name}, profile {recipe.profile}: {', '.join(f'{n} {name}' for name, n in sorted(counts.items()))}"
    print_table(title, COLUMNS, rows(cells), notes=notes(cells, missing=missing))


def markdown(cells: Sequence[MatrixCell], *, missing: Sequence[str]) -> str:
    """Return the table as Markdown, with versions, hardware, seed and date."""
    lines = markdown_table(COLUMNS, rows(cells))
    records = [cell.record for cell in cells if cell.record]
    versions = {record.context.framework: record.environment.get("framework_version") for record in records}
    environment = records[0].environment if records else {"python": "-", "hardware": "nothing ran"}
    first = cells[0].invocation
    lines += ["", *(f"- {line}" for line in notes(cells, missing=missing))]
    lines += [
        f"- {first.recipe}, seeds {', '.join(map(str, first.seeds))}; "
        f"{', '.join(f'{name} {version}' for name, version in versions.items())}; Python {environment['python']}; "
        f"{environment['hardware']}; {first.created[:10]}"
    ]
    return "\n".join(lines) + "\n"


def _median_losses(cells: Sequence[MatrixCell]) -> list[float]:
    """Return the median of each step over the usual cells that finished: one that died after three steps ends no comparison."""
    usual = [
        cell.losses
        for cell in cells
        if cell.record and cell.record.status == "finished" and all(map(math.isfinite, cell.losses))
        and cell.invocation.context.precision == "fp32" and cell.invocation.context.devices == 1
    ]  # fmt: skip
    return [statistics.median(step) for step in zip(*usual, strict=False)]


def _metric(judged: Judgement | None) -> str:
    return shown(judged.mean, judged.unit) if judged and judged.mean is not None else "-"


def _band(judged: Judgement | None) -> str:
    if judged is None:
        return "-"
    if judged.band is None:
        exact = (target.value for target in judged.targets if target.exact and target.exact.metric == judged.metric)
        return next((f"{value:g} exactly" for value in exact), "-")
    low, high = judged.band.low, judged.band.high
    return f"{low:.1f} to {high:.1f}" if judged.unit == "percent" else f"{low:.4g} to {high:.4g}"


def _distance(losses: Sequence[float], reference: Sequence[float]) -> str:
    if not losses or not reference:
        return "-"
    if not all(map(math.isfinite, losses)):
        return "not finite"  # which `max` would pass over
    return f"{max(_relative(own - usual, usual) for own, usual in zip(losses, reference, strict=False)):.1e}"


def _relative(difference: float, usual: float) -> float:
    """Return a difference as a share; of a loss of zero, which a saturated network has, any is infinitely large."""
    return abs(difference / usual) if usual else math.inf if difference else 0.0
