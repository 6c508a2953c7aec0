"""The pages: written as a whole beside their place, and put there at once."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import plotly.offline

from reports.site import charts, glance, words
from reports.site.appearance import APPEARANCES, appearance_of
from reports.site.cell_drift import CellDrift, SiteDrift, drifts_of
from reports.site.cell_results import KINDS, CellResult, Key, results_of
from reports.site.losses import LEAST, Curve, Envelope, Losses, envelope
from reports.site.power_table import RUNS, powers
from reports.site.published import comparisons
from reports.site.sources import Sources
from reports.site.standing import ReportedCell, cells_of
from vigil.documents.night import REPRODUCE, VERIFY
from vigil.errors import DirectoryError
from vigil.tracking.history_rows import SampleRow, VerificationRow

MARK = '<meta name="generator" content="vigil report">'
_LAST = 25  # rows of the table of what ran last
_MODE = 0o755


@dataclass(frozen=True)
class WrittenSite:
    """What was written, and where to open it."""

    index: Path
    pages: int
    cells: int


def write_site(sources: Sources, out: Path) -> WrittenSite:
    """Write the report to a directory, in the place of an earlier report.

    Raises:
        DirectoryError: the directory holds something else, or cannot be written.
    """
    _check_replaceable(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise DirectoryError(f"{out.parent}: cannot be written ({error.strerror}). Name another place with --out.") from error
    try:
        pages, cells = _write_pages(sources, partial)
        partial.chmod(_MODE)
        _put(partial, out)
    except OSError as error:
        raise DirectoryError(f"{out}: cannot be written ({error.strerror}). Name another place with --out.") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return WrittenSite(out / "index.html", pages, cells)


def environment() -> jinja2.Environment:
    """Return the templates' environment: everything is escaped, and a name that is not there is an error."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "plain": words.plain, "number": words.number, "points": words.points, "moment": words.moment, "duration": words.duration,
        "count": words.count, "shortened": words.shortened, "script_json": words.script_json, "appearance": appearance_of,
    }  # fmt: skip
    made.globals |= {"page_name": page_name, "KINDS": KINDS, "APPEARANCES": APPEARANCES}
    return made


def page_name(key: Key) -> str:
    """Return the file name of a cell's page."""
    return f"{words.file_name(*key)}.html"


def _write_pages(sources: Sources, out: Path) -> tuple[int, int]:
    templates = environment()
    history = sources.history
    results = results_of(history.samples, history.verifications)
    cells = cells_of(sources, results)
    drifts = drifts_of(sources)
    shared = {"sources": sources, "n_cells": len(cells)}

    def write(name: str, template: str, **facts: Any) -> None:
        root = "../" * name.count("/")
        text = templates.get_template(template).render(**shared, **facts, root=root)
        (out / name).write_text(text, encoding="utf-8")

    (out / "cells").mkdir()
    write("style.css", "style.css")
    write("charts.js", "charts.js")
    (out / "plotly.min.js").write_text(plotly.offline.get_plotlyjs(), encoding="utf-8")
    write("index.html", "index.html" if cells else "empty.html", **_index(sources, cells, drifts))
    write("reproduction.html", "reproduction.html", comparisons=comparisons(sources, results))
    write("power.html", "power.html", powers=powers(sources.recipes, sources.rows), run_counts=RUNS)
    losses = Losses(sources.runs)
    reproduced = losses.reproduced(results)
    for cell in cells.values():
        write(f"cells/{page_name(cell.key)}", "cell.html", **_cell(cell, losses, reproduced, drift=drifts.of(cell.key)))
    return len(cells) + 3, len(cells)


def _index(sources: Sources, cells: Mapping[Key, ReportedCell], drifts: SiteDrift) -> dict[str, Any]:
    failures = glance.failures_of(sources, cells)
    judged, chance = glance.expected_by_chance(cells)
    return {
        "columns": glance.columns_of(cells),
        "groups": glance.groups_of(cells),
        "counts": glance.counts_of(cells),
        "attention": glance.attention(cells),
        "drifts": drifts,
        "judged": judged,
        "chance": chance,
        "releases": glance.releases_of(sources, cells),
        "failures": failures,
        "failed_seconds": math.fsum(ended.seconds or 0.0 for ended in failures),
        "left": glance.left_of(sources),
    }


def _cell(
    cell: ReportedCell, losses: Losses, reproduced: Mapping[tuple[str, str, str], Sequence[Curve]], *, drift: CellDrift
) -> dict[str, Any]:
    results = cell.results[-charts.MOST_RESULTS :]
    drawn = losses.newest(cell.results)
    around = _around(drawn, reproduced)
    clean = [result for result in results if result.is_clean]
    nights = {result.night for result in clean if result.kind == REPRODUCE}
    mark = drift.mark if drift.mark and drift.mark.night in nights else None
    return {
        "cell": cell,
        "left_out": len(cell.results) - len(results),
        "history": charts.history_chart(results, mark=mark),
        "mark": mark,
        "drift": drift,
        "ratios": charts.ratio_chart(results),
        "losses": charts.loss_chart(drawn, around),
        "reproductions": [result for result in reversed(clean) if result.kind == REPRODUCE],
        "verifications": [result for result in reversed(clean) if result.kind == VERIFY],
        "curves": [_curve_facts(curve, around) for curve in drawn],
        "around": around,
        "least": LEAST,
        "last": _last(cell.results),
    }


def _around(drawn: Sequence[Curve], reproduced: Mapping[tuple[str, str, str], Sequence[Curve]]) -> Envelope | None:
    if not drawn:
        return None
    row = drawn[0].row
    return envelope(reproduced.get((row.recipe, row.profile, row.recipe_hash), ()), drawn=drawn)


def _curve_facts(curve: Curve, around: Envelope | None) -> dict[str, Any]:
    finite = [value for value in curve.means if math.isfinite(value)]
    return {
        "row": curve.row,
        "steps": curve.steps,
        "width": curve.width,
        "first": float(curve.means[0]),
        "last": float(curve.means[-1]),
        "least": min(finite) if finite else None,
        "broken_at": curve.broken_at,
        "outside": around.outside(curve) if around else None,
        "bins": len(curve.means),
    }


def _last(results: Sequence[CellResult]) -> list[tuple[CellResult, SampleRow | VerificationRow]]:
    """Return what ran last, planted faults too: each run of a reproduction, each verification."""
    rows: list[tuple[CellResult, SampleRow | VerificationRow]] = []
    for result in results:
        rows += [(result, run) for run in result.runs]
        rows += [(result, result.measured)] if result.measured else []
    return rows[: -_LAST - 1 : -1]


def _check_replaceable(out: Path) -> None:
    """Raise unless there is nothing at a place but an earlier report."""
    index = out / "index.html"
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not index.is_file() or MARK not in index.read_text(encoding="utf-8", errors="replace")[:2000]:
        raise DirectoryError(
            f"{out}: holds something that is no report of Vigil, and a report takes the place of what is there. "
            "Name an empty or a new directory with --out."
        )


def _put(partial: Path, out: Path) -> None:
    """Put a directory in the place of another, which is there until then."""
    if not out.exists():
        os.rename(partial, out)
        return
    before = Path(tempfile.mkdtemp(prefix=f".{out.name}-before-", dir=out.parent))
    os.rename(out, before / out.name)
    os.rename(partial, out)
    shutil.rmtree(before, ignore_errors=True)
