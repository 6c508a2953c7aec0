"""All series together: which of them are findings at a false discovery rate of 5 %, and what is said of each finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from vigil.drift.bits import WORSE, BitChange, moved
from vigil.drift.questions import ExaminedSeries, ReferenceSamples, Since, examine, since, size_of
from vigil.drift.series import CollectedSeries, Series, collect
from vigil.drift.siblings import Points, Siblings, pooled, siblings_of, standardised
from vigil.drift.steps import STAGES, detectable
from vigil.statistics.discoveries import FALSE_DISCOVERIES, adjusted

EVERY = "every framework"  # the name of the pool of all cells
# A cell that others of its framework have left behind by so many days of nights is missed; within a week every cell has its turn.
_DAYS_MISSED = 7.0

# About ten seconds for series of 100 values.
_MOST_PERMUTATIONS = 5_000_000

FindSamples = Callable[[Mapping[str, Any]], "ReferenceSamples | None"]


@dataclass(frozen=True)
class Drift:
    """A series that drifts. `cell` has `cells`, their number, in the place of a recipe where cells were pooled.

    size, low, high: in the unit, without interval (NaN) where values have no spread; size_sd in standard deviations of one run.
    worse: None for a pool, whose metrics may differ, and for a metric of which nobody recorded which way is better.
    p_values: of each question that was asked; p and q: of the series among all.
    """

    label: str
    cell: dict[str, Any]
    what: str
    worse: bool | None
    size: float
    low: float
    high: float
    size_sd: float
    since: Since
    p_values: dict[str, float]
    p: float
    q: float
    siblings: Siblings | None
    moved: BitChange | None


@dataclass(frozen=True)
class Gap:
    """A cell that gives no value any more: the last night with one, tries since, and what the last of them said."""

    label: str
    cell: dict[str, Any]
    last_night: int
    tries: int
    reason: str


@dataclass(frozen=True)
class CellCount:
    """What was looked at of one cell: nights with a value, independent values; p is None for too few values for any test."""

    nights: int
    values: int
    p: float | None


@dataclass(frozen=True)
class DriftReport:
    """What is drifting, what moved, what gives no value, and what was looked at. Nights are numbers into `nights`.

    cells: recipe, profile and context -> what was looked at of it; a cell that never gave a value is not in it.
    pools: framework, or EVERY -> the nights' medians of its cells.
    """

    drifts: tuple[Drift, ...]
    moves: tuple[tuple[dict[str, Any], BitChange], ...]
    gaps: tuple[Gap, ...]
    nights: tuple[str, ...]
    looked_at: dict[str, Any]
    cells: Mapping[tuple[str, str, str], CellCount]
    pools: Mapping[str, Series]

    def as_json(self) -> dict[str, Any]:
        """Return what was found as JSON can hold it."""
        return _plain(
            {
                "drifts": [asdict(each) for each in self.drifts],
                "moved": [{"cell": cell, **asdict(each)} for cell, each in self.moves],
                "gaps": [asdict(each) for each in self.gaps],
                "nights": self.nights,
                "looked_at": self.looked_at,
            }
        )


def detect(
    samples: pd.DataFrame,
    verifications: pd.DataFrame,
    *,
    reference_for: FindSamples,
    include_faults: bool = False,
    all_runs: bool = False,
) -> DriftReport:
    """Return what drifts in a history (the frames of vigil/tracking/history.py).

    Args:
        reference_for: from the cell (recipe, recipe_hash, profile, ...) to its reference, or None.
        include_faults: take runs with a planted fault as if they had none.
        all_runs: take runs of no night too, each as of the night of its day.
    """
    collected = collect(samples, include_faults=include_faults, all_runs=all_runs)
    cells = [examine(series, reference=reference_for(series.cell)) for series in collected.series]
    points = standardised(cells)
    pools = _pools(points)
    everything = cells + [examine(series) for series in pools]
    tested = [each for each in everything if each.p_value is not None]
    q_values = judge(tested)
    moves = moved(collected, verifications, all_runs=all_runs)
    place = {id(each): number for number, each in enumerate(cells)}
    drifts = [
        _drift(each, float(each.p_value), float(q), place.get(id(each)), points, moves.of_series)
        for each, q in zip(tested, q_values, strict=True)
        if each.p_value is not None and q <= FALSE_DISCOVERIES
    ]
    return DriftReport(
        drifts=tuple(sorted(drifts, key=lambda drift: (drift.q, drift.p, drift.label))),
        moves=(*((cells[number].series.cell, found) for number, found in sorted(moves.of_series.items())), *moves.others),
        gaps=tuple(_gaps(collected)),
        nights=collected.nights.names,
        looked_at=_looked_at(collected, cells, tested, drifts),
        cells={
            cell_key(each.series.cell): CellCount(len(each.series.visits), len(each.series.values), each.p_value)
            for each in cells
        },
        pools={pool.cell["framework"]: pool for pool in pools},
    )


def cell_key(cell: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return recipe, profile and context of a cell."""
    return cell["recipe"], cell["profile"], cell["context"]


def judge(tested: Sequence[ExaminedSeries]) -> np.ndarray:
    """Return the q-value of each series (`discoveries.adjusted`), permuting as often as needed. Each has a p-value.

    A p-value by permutation is no smaller than one over their number, so those that few permutations do not settle are permuted
    more often. Where there are so many of them that this would take minutes, a coarser one is small enough: many drift.
    """
    for times in STAGES:
        unsettled = [(series, series.scan) for series in tested if series.scan is not None and not series.scan.settled]
        if times == STAGES[0] or len(unsettled) * times <= _MOST_PERMUTATIONS:
            for series, scan in unsettled:
                scan.permute(times)
                series.refresh()
    return np.array(adjusted([series.p_value for series in tested if series.p_value is not None]))


def _pools(points: Points) -> list[Series]:
    """Return the nights' medians of each framework, and of all where there are several."""
    frameworks = sorted(set(points.framework.tolist()))
    pools = [pooled(points, points.framework == name, name=name, one_timeline=True) for name in frameworks]
    if len(frameworks) > 1:
        pools.append(pooled(points, np.ones(len(points.framework), dtype=bool), name=EVERY, one_timeline=False))
    return [pool for pool in pools if pool is not None]


def _drift(each: ExaminedSeries, p: float, q: float, number: int | None, points: Points, bits: Mapping[int, BitChange]) -> Drift:
    size, low, high = size_of(each)
    cell, began = each.series.cell, since(each)
    if number is None:
        label, size_sd, worse, others = f"{cell['framework']}, {cell['cells']} cells pooled", size, None, None
    else:
        label, size_sd = each.series.label, size / each.spread if each.spread else float("nan")
        worse = (size < 0.0) == (cell["direction"] == "higher") if cell["direction"] in ("higher", "lower") else None
        others = None if began.night is None else siblings_of(number, points, night=began.night, size=size_sd)
    return Drift(
        label=label,
        cell=cell,
        what="dropped" if size < 0.0 else "rose",
        worse=worse,
        size=size,
        low=low,
        high=high,
        size_sd=size_sd,
        since=began,
        p_values=each.p_values,
        p=p,
        q=q,
        siblings=others,
        moved=None if number is None else bits.get(number),
    )


def _gaps(collected: CollectedSeries) -> list[Gap]:
    """Return the cells that were tried since their last value, and those that others of the framework left behind."""
    end, found = len(collected.nights.names) - 1, []
    newest: dict[str, tuple[int, str]] = {}
    for series in collected.series:
        framework = series.cell["framework"]
        newest[framework] = max(newest.get(framework, (-1, "")), (int(series.visits[-1]), str(series.visit_releases[-1])))
    for series in collected.series:
        last = int(series.visits[-1])
        days = (collected.nights.created[end] - collected.nights.created[last]).total_seconds() / 86_400.0
        release = newest[series.cell["framework"]][1]
        if series.attempts:
            found.append(Gap(series.label, series.cell, last, len(series.attempts), series.attempts[-1][1]))
        elif days > _DAYS_MISSED and release != series.visit_releases[-1]:
            reason = f"not run for {days:.0f} days, while others of {series.cell['framework']} ran {release}"
            found.append(Gap(series.label, series.cell, last, 0, reason))
    return found


def _looked_at(
    collected: CollectedSeries, cells: Sequence[ExaminedSeries], tested: Sequence[ExaminedSeries], drifts: Sequence[Drift]
) -> dict[str, Any]:
    testable = [each for each in cells if each.p_value is not None]
    levels = {"alone": FALSE_DISCOVERIES / max(len(tested), 1), "with all others": FALSE_DISCOVERIES}
    seen = {
        name: _median([size for each in testable if (size := _detectable(each, alpha=alpha))]) for name, alpha in levels.items()
    }
    return {
        "cells": len(cells),
        "tested": len(testable),
        "too_short": len(cells) - len(testable),
        "asked": {name: sum(name in each.p_values for each in testable) for name in ("reference", "release", "step")},
        "pools": len(tested) - len(testable),
        "nights": len(collected.nights.names),
        "first_night": collected.nights.names[0] if collected.nights.names else None,
        "last_night": collected.nights.names[-1] if collected.nights.names else None,
        "releases": {
            framework: _in_time([each.series for each in cells if each.series.cell["framework"] == framework])
            for framework in sorted({each.series.cell["framework"] for each in cells})
        },
        "values": int(sum(len(each.series.visits) for each in cells)),
        "independent_values": int(sum(len(each.series.values) for each in cells)),
        "ended_by_a_new_recipe": collected.ended,
        "without_any_value": collected.never,
        "runs_outside_nights": collected.outside_nights,
        "runs_with_fault": collected.with_fault,
        "detectable_sd": seen,
        "false_discovery_rate": FALSE_DISCOVERIES,
        "expected_false": FALSE_DISCOVERIES * len(drifts),
    }


def _detectable(each: ExaminedSeries, *, alpha: float) -> float | None:
    """Return the change with the newest release, in standard deviations, that is found nine times in ten."""
    if each.release is None or each.releases is None or not each.spread:
        return None
    return detectable(each.release, alpha=alpha / len(each.p_values) / each.releases.number) / each.spread


def _in_time(series: Sequence[Series]) -> list[str]:
    """Return the releases that ran, in the order in which they first did."""
    first: dict[str, int] = {}
    for each in series:
        for night, release in zip(each.visits.tolist(), each.visit_releases, strict=True):
            first[str(release)] = min(first.get(str(release), night), night)
    return sorted(first, key=first.__getitem__)


def something_drifts(report: DriftReport) -> bool:
    """Return whether a number drifts, or a cell is worse against float64."""
    return bool(report.drifts) or any(found.what == WORSE for _, found in report.moves)


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if len(values) else None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
