"""The table of a matrix: one row a context, on a terminal or as Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scipy

from reports.tables import markdown_table, print_table
from vigil.process.recording import read_record
from vigil.progress import duration

COLUMNS = ("context", "verdict", "metric", "band", "losses differ by", "first step", "wall time", "reason")
_JUDGED = ("reproduced", "regressed", "better-than-reference")
_FALSE_ALARMS = 0.01
_FALSE_DISCOVERIES = 0.05


@dataclass(frozen=True)
class Cell:
    """One context of a matrix, as it was recorded."""

    invocation: dict[str, Any]
    record: dict[str, Any] | None

    @property
    def verdict(self) -> str:
        """The verdict's name; a cell that was stopped has none, and failed by interruption."""
        return self.invocation["verdict"]["name"] if self.invocation["verdict"] else "failed:interrupted"

    @property
    def losses(self) -> list[float]:
        """The loss of every step of the first seed."""
        return [float(loss) for loss in self.record["losses"]] if self.record else []


def read_cell(invocation: dict[str, Any], directory: Path) -> Cell:
    """Return the cell of an invocation and its first run."""
    runs = invocation["runs"]  # none where there was no environment for the release
    return Cell(invocation, read_record(directory / runs[0]) if runs else None)


def outcome(cell: Cell) -> str:
    """Return one line on how a cell ended."""
    metric = _metric(cell)
    return f"{cell.verdict}{f' {metric}' if metric != '-' else ''} ({duration(cell.invocation['wall_seconds'])})"


def rows(cells: Sequence[Cell]) -> list[tuple[str, ...]]:
    """Return the table's rows, one a cell, in the order given."""
    reference = _median_losses(cells)
    return [
        (
            cell.invocation["context"]["text"],
            cell.verdict,
            _metric(cell),
            _band(cell),
            _distance(cell.losses, reference),
            duration(cell.record["timing"]["first_step_seconds"]) if cell.record else "-",
            duration(cell.invocation["wall_seconds"]),
            _reason(cell),
        )
        for cell in cells
    ]


def notes(cells: Sequence[Cell], *, missing: Sequence[str]) -> list[str]:
    """Return what a reader of the table must know: how to read it, what it expects by chance, what it does not cover."""
    judged = sum(cell.verdict in _JUDGED for cell in cells)
    lines = [
        "losses differ by: the largest relative difference of a step's loss from the median of the fp32, one-device cells "
        "of the same seed; differences grow from step to step, whatever their cause",
        f"{judged} cells judged at {_FALSE_ALARMS:.0%} false alarms each: {judged * _FALSE_ALARMS:.2f} expected by chance",
    ]
    lines += _discoveries(cells)
    return [*lines, f"not covered, because not installed: {', '.join(missing)}"] if missing else lines


def _discoveries(cells: Sequence[Cell]) -> list[str]:
    """Return which cells stand when all that were judged are taken together; each verdict stays what it is.

    Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995) 289, doi:10.1111/j.2517-6161.1995.tb02031.x.
    """
    judged = [cell for cell in cells if cell.verdict in _JUDGED and cell.invocation["verdict"].get("p_value") is not None]
    if not judged:
        return []
    adjusted = scipy.stats.false_discovery_control([cell.invocation["verdict"]["p_value"] for cell in judged])
    found = [
        f"{cell.invocation['context']['text']} (adjusted p {p_value:.2g})"
        for cell, p_value in zip(judged, adjusted, strict=True)
        if p_value <= _FALSE_DISCOVERIES
    ]
    what = f"taken together, at a false discovery rate of {_FALSE_DISCOVERIES:.0%}, the metric of "
    return [what + (f"{', '.join(found)} is outside" if found else f"none of {len(judged)} cells is outside")]


def show(cells: Sequence[Cell], *, missing: Sequence[str]) -> None:
    """Print the table and its notes."""
    recipe = cells[0].invocation["recipe"]
    title = f"{recipe['name']}, profile {recipe['profile']}"
    print_table(title, COLUMNS, rows(cells), notes=notes(cells, missing=missing))


def markdown(cells: Sequence[Cell], *, missing: Sequence[str]) -> str:
    """Return the table as Markdown, with versions, hardware, seed and date."""
    lines = markdown_table(COLUMNS, rows(cells))
    versions = {
        cell.record["context"]["framework"]: cell.record["environment"].get("framework_version") for cell in cells if cell.record
    }
    environment = next((cell.record["environment"] for cell in cells if cell.record), {"python": "-", "hardware": "nothing ran"})
    recipe = cells[0].invocation["recipe"]
    lines += ["", *(f"- {line}" for line in notes(cells, missing=missing))]
    lines += [
        f"- {recipe['name']} v{recipe['version']} ({recipe['hash']}), profile {recipe['profile']}, seeds "
        f"{', '.join(map(str, cells[0].invocation['seeds']))}; "
        f"{', '.join(f'{name} {version}' for name, version in versions.items())}; Python {environment['python']}; "
        f"{environment['hardware']}; {cells[0].invocation['created'][:10]}"
    ]
    return "\n".join(lines) + "\n"


def _median_losses(cells: Sequence[Cell]) -> list[float]:
    """Return the median of each step over the usual cells that finished: one that died after three steps ends no comparison."""
    chosen = [
        cell.losses
        for cell in cells
        if cell.record and cell.record["status"] == "finished" and all(map(math.isfinite, cell.losses))
        and cell.invocation["context"]["precision"] == "fp32" and cell.invocation["context"]["devices"] == 1
    ]  # fmt: skip
    return [statistics.median(step) for step in zip(*chosen, strict=False)]


def _metric(cell: Cell) -> str:
    judged = cell.invocation["verdict"]
    return f"{judged['mean']:.2f}" if judged and judged["mean"] is not None else "-"


def _band(cell: Cell) -> str:
    judged = cell.invocation["verdict"]
    return f"{judged['band']['low']:.1f} to {judged['band']['high']:.1f}" if judged and judged["band"] else "-"


def _distance(losses: Sequence[float], reference: Sequence[float]) -> str:
    if not losses or not reference:
        return "-"
    if not all(map(math.isfinite, losses)):
        return "not finite"  # which `max` would pass over
    return f"{max(_relative(own - usual, usual) for own, usual in zip(losses, reference, strict=False)):.1e}"


def _relative(difference: float, usual: float) -> float:
    """Return a difference as a share; of a loss of zero, which a saturated network has, any is infinitely large."""
    return abs(difference / usual) if usual else math.inf if difference else 0.0


def _reason(cell: Cell) -> str:
    if cell.verdict == "reproduced" or not cell.invocation["verdict"]:
        return ""
    return cell.invocation["verdict"]["reason"]
