"""What drifts, as tags of its cell's timeline in MLflow: short enough for the columns of a table there."""

from __future__ import annotations

import math

from vigil.drift.bits import WORSE, BitChange
from vigil.drift.findings import EVERY, Drift, DriftReport, Gap, cell_key
from vigil.statistics.metric import unit_of_difference
from vigil.tracking import PooledDrift


def timeline_tags(report: DriftReport) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return the tags of each cell that was looked at, by recipe, profile and context.

    Of several findings on one cell the drift of its number is told first, then the distance from float64, then the gap.
    """
    as_of = _as_of(report)
    found = {cell: {"drift": "not tested" if count.p is None else "none"} for cell, count in report.cells.items()}
    found |= {cell_key(gap.cell): _gap(gap, report) for gap in report.gaps}
    found |= {cell_key(cell): _move(change) for cell, change in report.moves if change.what == WORSE}
    found |= {cell_key(drift.cell): _drift(drift, report) for drift in report.drifts if "recipe" in drift.cell}
    return {cell: tags | {"drift_as_of": as_of} for cell, tags in found.items()}


def pooled_drifts(report: DriftReport) -> list[PooledDrift]:
    """Return what drifts in cells pooled, and to its side in none of them; of all frameworks, in the pool of none either."""
    found = []
    for drift in report.drifts:
        framework = drift.cell["framework"]
        if "recipe" not in drift.cell and not any(_explains(other, drift) for other in report.drifts):
            series = report.pools[framework]
            values = {report.nights[night]: float(value) for night, value in zip(series.first, series.values, strict=True)}
            tags = _drift(drift, report) | {"drift_as_of": _as_of(report)}
            found.append(PooledDrift(framework, drift.cell["cells"], values, tags))
    return found


def _explains(other: Drift, pool: Drift) -> bool:
    """Does a cell of a pool, or of the pool of all frameworks that of one, drift to the same side?"""
    framework = pool.cell["framework"]
    is_part = framework == EVERY if "recipe" not in other.cell else framework in (other.cell["framework"], EVERY)
    return other is not pool and is_part and (other.size < 0.0) == (pool.size < 0.0)


def _as_of(report: DriftReport) -> str:
    return report.nights[-1] if report.nights else "-"


def _drift(drift: Drift, report: DriftReport) -> dict[str, str]:
    unit = {"standard deviations": "sd"}.get(drift.cell["unit"], unit_of_difference(drift.cell["unit"]))
    within = f" [{drift.low:+.3g}, {drift.high:+.3g}]" if math.isfinite(drift.low) else ""
    began = drift.since
    tags = {
        "drift": {True: "worse", False: "better", None: "moved"}[drift.worse],
        "drift_size": f"{drift.size:+.3g} {unit}{within}",
        "drift_q": f"{drift.q:.1g}",
    }
    if math.isfinite(drift.size_sd):
        tags["drift_sd"] = f"{drift.size_sd:+.2f}"
    if began.night is None or began.low is None or began.high is None:
        return tags | {"drift_since": "all along", "drift_release": "every one"}
    since = report.nights[began.night]
    if began.low != began.high:
        since += f" ({report.nights[began.low]} to {report.nights[began.high]})"
    is_same = began.release == began.release_before
    return tags | {
        "drift_since": since,
        "drift_release": f"{began.release}, not new" if is_same else f"{began.release_before} -> {began.release}",
    }


def _move(change: BitChange) -> dict[str, str]:
    size = "against float64"
    if change.old is not None and change.new is not None:
        size = f"{change.old.worst_ratio:.3g} -> {change.new.worst_ratio:.3g} {size}"
    release = change.new_release if change.old_release is None else f"{change.old_release} -> {change.new_release}"
    return {"drift": "worse", "drift_size": size, "drift_since": release, "drift_release": release}


def _gap(gap: Gap, report: DriftReport) -> dict[str, str]:
    return {"drift": "no value", "drift_size": gap.reason, "drift_since": report.nights[gap.last_night]}
