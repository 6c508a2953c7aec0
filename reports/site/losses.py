"""Loss curves from the records of runs on this machine, and the envelope of those that were reproduced.

Reference rows hold no curves, so the envelope is made of reproduced runs whose records lie in the runs directory. A curve is cut
into bins of equal length, each the mean of its steps: 64,000 steps are no chart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reports.site.cell_results import CellResult, Key
from vigil.documents.night import REPRODUCE
from vigil.documents.record import Record
from vigil.documents.verdict import Verdict
from vigil.tracking.history_rows import SampleRow

DRAWN, ENVELOPE, LEAST = 3, 20, 3
_LOOKED_FOR = 80  # how many records are looked for before an envelope is made of those that were found
_BINS = 100


@dataclass(frozen=True)
class Curve:
    """The loss of one run, bin by bin. width: steps in a bin. broken_at: the first step whose loss is not finite."""

    row: SampleRow
    means: np.ndarray
    steps: int
    width: int
    broken_at: int | None

    @property
    def ends(self) -> list[int]:
        """The last step of each bin."""
        return [min((index + 1) * self.width, self.steps) for index in range(len(self.means))]


@dataclass(frozen=True)
class Envelope:
    """The smallest and largest mean of each bin over `curves`."""

    low: np.ndarray
    high: np.ndarray
    curves: tuple[Curve, ...]

    def outside(self, curve: Curve) -> int | None:
        """Return how many bins of a curve are outside; one that is not finite is. None for a run that ended early."""
        if len(curve.means) != len(self.low):
            return None
        return int((~((curve.means >= self.low) & (curve.means <= self.high))).sum())


class Losses:
    """The curves of one runs directory, each read once."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self._read: dict[str, Curve | None] = {}

    def curve(self, row: SampleRow) -> Curve | None:
        """Return the curve of a run, or None where this machine has no sound record of it."""
        if row.run_id not in self._read:
            self._read[row.run_id] = _curve(self.runs, row)
        return self._read[row.run_id]

    def newest(self, results: Sequence[CellResult], *, count: int = DRAWN) -> list[Curve]:
        """Return the curves of the newest clean runs of a cell, of one hash: others are another training."""
        curves = self._first(reversed(_runs(results)), count=count, limit=4 * count)
        return [curve for curve in curves if curve.row.recipe_hash == curves[0].row.recipe_hash]

    def reproduced(self, results: Mapping[Key, Sequence[CellResult]]) -> dict[tuple[str, str, str], list[Curve]]:
        """Return, by recipe, profile and hash, the curves of the newest runs that were reproduced, alone and with the others."""
        rows: dict[tuple[str, str, str], list[SampleRow]] = {}
        for (recipe, profile, _), of_key in results.items():
            for row in _runs([result for result in of_key if result.verdict == Verdict.REPRODUCED]):
                if row.verdict == Verdict.REPRODUCED:
                    rows.setdefault((recipe, profile, row.recipe_hash), []).append(row)
        curves = {}
        for place, of_place in rows.items():
            of_place.sort(key=lambda row: (row.created, row.run_id), reverse=True)
            curves[place] = self._first(of_place, count=ENVELOPE, limit=_LOOKED_FOR)
        return curves

    def _first(self, rows: Iterable[SampleRow], *, count: int, limit: int) -> list[Curve]:
        curves: list[Curve] = []
        for tried, row in enumerate(rows):
            if len(curves) == count or tried == limit:
                break
            curve = self.curve(row)
            curves += [curve] if curve is not None else []
        return curves


def envelope(curves: Sequence[Curve], *, drawn: Sequence[Curve]) -> Envelope | None:
    """Return the envelope of the curves that are not drawn and as long as the longest that is; None for fewer than three."""
    names = {curve.row.run_id for curve in drawn}
    steps = max((curve.steps for curve in drawn), default=0)
    used = [
        curve for curve in curves
        if curve.row.run_id not in names and curve.steps == steps and curve.broken_at is None
    ]  # fmt: skip
    if len(used) < LEAST:
        return None
    means = np.array([curve.means for curve in used])
    return Envelope(means.min(axis=0), means.max(axis=0), tuple(used))


def binned(losses: Sequence[float]) -> tuple[np.ndarray, int]:
    """Return the mean of each bin, and the steps in a bin."""
    values = np.asarray(losses, dtype=float)
    width = max(1, math.ceil(len(values) / _BINS))
    starts = np.arange(0, len(values), width)
    with np.errstate(all="ignore"):
        return np.add.reduceat(values, starts) / np.diff([*starts, len(values)]), width


def _runs(results: Sequence[CellResult]) -> list[SampleRow]:
    return [run for result in results if result.kind == REPRODUCE and result.is_clean for run in result.runs]


def _curve(runs: Path, row: SampleRow) -> Curve | None:
    path = _record_path(runs, row)
    if path is None:
        return None
    # Its losses alone: to check all of every record takes minutes.
    try:  # that there is none, too: a name may be longer than any file's
        record = json.loads(path.read_text(encoding="utf-8"))
        losses = [float(loss) for loss in record["losses"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not losses or record.get("run_id") != row.run_id:
        return None
    means, width = binned(losses)
    broken = next((step for step, loss in enumerate(losses, start=1) if not math.isfinite(loss)), None)
    return Curve(row, means, len(losses), width, broken)


def _record_path(runs: Path, row: SampleRow) -> Path | None:
    """Return where `vigil.runs.carry_out.plan` puts a run's record; None for names that lead elsewhere."""
    invocation, run = row.invocation_id, row.run_id
    name = run.removeprefix(f"{invocation}-")
    if any(part in ("", ".", "..") or "/" in part or "\\" in part or "\0" in part for part in (invocation, name)):
        return None
    return runs / invocation / name / Record.FILE_NAME
