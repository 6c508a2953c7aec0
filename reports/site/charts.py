"""The charts of a cell's page, as plain dicts in plotly's JSON. `charts.js` gives them the colours of the page, light or dark.

Everything that a chart draws stands in the table below it, too. Strings that come from records go through `words.label`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from reports.site.appearance import FAILED, appearance_of
from reports.site.cell_drift import DriftMark
from reports.site.cell_results import CellResult
from reports.site.losses import Curve, Envelope
from reports.site.words import label, moment, number, points
from vigil.documents.night import REPRODUCE, VERIFY
from vigil.tracking.history_rows import SampleRow

Figure = dict[str, Any]
_Edge = tuple[datetime, Any, Any]  # when, low, high

MOST_RESULTS = 400  # beyond, a chart is a carpet; the page says how many are left out
_BAND = "rgba(0,114,178,0.22)"
_BAND_EDGE = "rgba(0,114,178,0.75)"
_LINES = (("#d55e00", "solid"), ("#0072b2", "dash"), ("#cc79a7", "dot"))
_DRIFT, _DRIFT_FIELD = "#d55e00", "rgba(213,94,0,0.12)"
_GREY = "#808080"
_EDGE = {"width": 1, "color": _GREY}  # so that a yellow point is seen on white, and a black one on black
_HALF_DAY = timedelta(hours=12)
_LOWEST, _HIGHEST = 1e-6, 1e12  # where a ratio of zero and an infinite one are drawn on a logarithmic axis


def history_chart(results: Sequence[CellResult], *, mark: DriftMark | None = None) -> Figure | None:
    """Return the metric over time: every seed a point, the band that it was held to, a line where the release changes.

    mark: where a drift began; one that began before the results that are shown is not drawn.
    """
    shown = [result for result in results if result.kind == REPRODUCE and result.is_clean]
    if not shown:
        return None
    runs = [(result, run) for result in shown for run in result.runs]
    valued = [(result, run) for result, run in runs if _one(run.value) is not None]
    without = [(result, run) for result, run in runs if _one(run.value) is None]
    unit, metric = _last(shown, "unit"), _last(shown, "metric")
    data = _band(shown)
    for name in dict.fromkeys(run.verdict for _, run in valued):
        data.append(_points(name, [(result, run) for result, run in valued if run.verdict == name], unit=unit))
    for name in dict.fromkeys(run.verdict for _, run in without):
        data.append(_endings(name, [(result, run) for result, run in without if run.verdict == name]))
    layout = {
        "xaxis": _date_axis("when it ran (UTC)", shown),
        "yaxis": {"title": {"text": label(f"{metric or 'metric'}{f' ({unit})' if unit else ''}")}},
        "yaxis2": {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
    }
    changes = _release_changes(shown)
    if mark is not None:
        shapes, notes = _drift_mark(shown, mark)
        changes = {"shapes": changes["shapes"] + shapes, "annotations": changes["annotations"] + notes}
    return {"data": data, "layout": layout | changes}


def ratio_chart(results: Sequence[CellResult]) -> Figure | None:
    """Return verify's worst tensor over time, on a logarithmic axis: in noise floors, and as a share of what is accepted."""
    clean = [result for result in results if result.kind == VERIFY and result.is_clean]
    shown = [result for result in clean if result.measured and result.measured.worst_ratio is not None]
    if not shown:
        return None
    data = []
    for is_short in (False, True):
        of_form = [result for result in shown if result.is_short == is_short]
        if of_form:
            data.append(_ratios(of_form, "worst_ratio", "worst distance, in noise floors", "#0072b2", "circle"))
            data.append(_ratios(of_form, "worst_score", "worst share of what is accepted", "#d55e00", "diamond"))
    limit = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": 1, "y1": 1}
    layout = {
        "xaxis": _date_axis("when it was verified (UTC)", shown),
        # Without a format plotly writes 0.9 as a small 9 below the 1.
        "yaxis": {"type": "log", "title": {"text": "ratio (log)"}, "tickformat": "~g"},
    }
    changes = _release_changes(shown)
    changes["shapes"].append(limit | {"line": {"color": "#d55e00", "width": 1, "dash": "dash"}})
    return {"data": data, "layout": layout | changes}


def _date_axis(title: str, results: Sequence[CellResult]) -> Figure:
    """Return an axis of dates; around a single result plotly would show two milliseconds, so it is given a day."""
    axis: Figure = {"type": "date", "title": {"text": title}}
    first, last = min(result.created for result in results), max(result.created for result in results)
    if first == last:
        axis["range"] = [_stamp(first - _HALF_DAY), _stamp(last + _HALF_DAY)]
    return axis


def _ratios(results: Sequence[CellResult], name: str, title: str, colour: str, symbol: str) -> Figure:
    """Return one number of each verification; the short ones are no line, for they see less than those beside them."""
    is_short = results[0].is_short
    values: list[float | None] = [getattr(result.measured, name) for result in results]
    return {
        "type": "scatter",
        "mode": "markers" if is_short else "lines+markers",
        "name": f"{title} (short)" if is_short else title,
        "x": [_stamp(result.created) for result in results],
        "y": [_drawable(value) for value in values],
        "text": [_hover(result, number(value)) for result, value in zip(results, values, strict=True)],
        "hoverinfo": "text",
        "line": {"color": colour, "width": 1},
        "marker": {"color": colour, "symbol": f"{symbol}-open" if is_short else symbol, "size": 7},
    }


def loss_chart(drawn: Sequence[Curve], around: Envelope | None) -> Figure | None:
    """Return the loss of some runs over steps, before the envelope of the reproduced ones."""
    if not drawn:
        return None
    data: list[Figure] = []
    if around is not None:
        ends = around.curves[0].ends
        line = {"color": _BAND_EDGE, "width": 1}
        edge: Figure = {"type": "scatter", "mode": "lines", "x": ends, "hoverinfo": "skip", "line": line}
        data.append(edge | {"y": _finite(around.low), "name": "envelope, low", "showlegend": False})
        name = f"envelope of {len(around.curves)} reproduced runs"
        data.append(edge | {"y": _finite(around.high), "name": name, "fill": "tonexty", "fillcolor": _BAND})
    for curve, (colour, dash) in zip(drawn, _LINES, strict=False):
        name = f"{moment(curve.row.created)}, seed {curve.row.seed}, {curve.row.release or 'release unknown'}"
        values = _finite(curve.means)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": label(f"{name}: {curve.row.verdict}"),
                "x": curve.ends,
                "y": values,
                "text": [f"step {end}: {number(value)}" for end, value in zip(curve.ends, values, strict=True)],
                "hoverinfo": "text+name",
                "line": {"color": colour, "dash": dash, "width": 2},
                "connectgaps": False,
            }
        )
    layout = {"xaxis": {"title": {"text": "training step"}}, "yaxis": {"title": {"text": "training loss"}}}
    return {"data": data, "layout": layout}


def _band(results: Sequence[CellResult]) -> list[Figure]:
    """Return the two edges of the band that each result was held to, as steps; a gap where there was none."""
    edges = []
    for result in results:
        run = next((run for run in result.runs if run.band_low is not None and run.band_high is not None), None)
        edges.append((result.created, _one(run.band_low) if run else None, _one(run.band_high) if run else None))
    if all(low is None for _, low, _ in edges):
        return []
    # plotly fills between two lines across a gap, so each stretch without one is a pair of lines of its own.
    traces: list[Figure] = []
    for stretch in _stretches(edges):
        if len(stretch) == 1:  # a line of one point is not seen
            stretch = [(stretch[0][0] - _HALF_DAY, *stretch[0][1:]), (stretch[0][0] + _HALF_DAY, *stretch[0][1:])]
        when = [_stamp(at) for at, _, _ in stretch]
        edge = {
            "type": "scatter",
            "mode": "lines",
            "x": when,
            "line": {"color": _BAND_EDGE, "width": 1, "shape": "hv"},
            "hoverinfo": "skip",
            "legendgroup": "band",
        }
        is_first = not traces
        traces.append(edge | {"y": [low for _, low, _ in stretch], "name": "band, low", "showlegend": False})
        name = "band for one run, as it was judged"
        high = {"y": [high for _, _, high in stretch], "name": name, "showlegend": is_first}
        traces.append(edge | high | {"fill": "tonexty", "fillcolor": _BAND})
    return traces


def _stretches(edges: Sequence[_Edge]) -> list[list[_Edge]]:
    stretches: list[list[_Edge]] = [[]]
    for edge in edges:
        if edge[1] is None:
            stretches.append([])
        else:
            stretches[-1].append(edge)
    return [stretch for stretch in stretches if stretch]


def _points(verdict: str, runs: Sequence[tuple[CellResult, SampleRow]], *, unit: str | None) -> Figure:
    appearance = appearance_of(verdict)
    colour = _GREY if appearance.name == FAILED else appearance.light[0]  # its field is black, or white: nothing on the same page
    return {
        "type": "scatter",
        "mode": "markers",
        "name": label(verdict),
        "x": [_stamp(run.created) for _, run in runs],
        "y": [run.value for _, run in runs],
        "text": [_hover(result, f"seed {run.seed}: {points(run.value, unit)}, {run.verdict}") for result, run in runs],
        "hoverinfo": "text",
        "marker": {"color": colour, "symbol": appearance.symbol, "size": 8, "line": _EDGE},
    }


def _endings(verdict: str, runs: Sequence[tuple[CellResult, SampleRow]]) -> Figure:
    """Return the runs without a number, along the foot of the chart: their height says nothing."""
    return _points(verdict, runs, unit=None) | {
        "name": label(f"{verdict} (no number)"),
        "y": [0.02] * len(runs),
        "yaxis": "y2",
        "text": [_hover(result, f"seed {run.seed}: {run.verdict}") for result, run in runs],
    }


def _release_changes(results: Sequence[CellResult]) -> Figure:
    """Return a vertical line, with the release, at the first result of every release but the one before it."""
    shapes, notes, before = [], [], None
    for result in results:
        if result.release is None or result.release == before:
            continue
        if before is not None:
            line = {"type": "line", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": "#808080", "dash": "dot"}}
            shapes.append(line | {"x0": _stamp(result.created), "x1": _stamp(result.created)})
        notes.append(
            {
                "x": _stamp(result.created),
                "y": 1,
                "xref": "x",
                "yref": "paper",
                "text": label(result.release),
                "showarrow": False,
                "textangle": -90,
                "xanchor": "left",
                "yanchor": "top",
                "font": {"size": 11},
            }
        )
        before = result.release
    return {"shapes": shapes, "annotations": notes}


def _drift_mark(results: Sequence[CellResult], mark: DriftMark) -> tuple[list[Figure], list[Figure]]:
    """Return a line with a word at the first result of the night at which a drift began, and a field over the nights around it.

    The line is broad and solid: it often lies under the dotted one of a release.
    """
    first: dict[str, str] = {}
    for result in results:
        if result.night is not None:
            first.setdefault(result.night, _stamp(result.created))
    if mark.night not in first:
        return [], []
    here = first[mark.night]
    along = {"xref": "x", "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    shapes = [along | {"type": "line", "x0": here, "x1": here, "line": {"color": _DRIFT, "width": 3}}]
    if mark.low != mark.high and {mark.low, mark.high} <= set(first):
        field = {"type": "rect", "x0": first[mark.low], "x1": first[mark.high], "fillcolor": _DRIFT_FIELD, "line": {"width": 0}}
        shapes.append(along | field)
    note = {"x": here, "y": 0, "xref": "x", "yref": "paper", "text": "drift", "showarrow": False, "textangle": -90, "xshift": -2}
    return shapes, [note | {"xanchor": "right", "yanchor": "bottom", "font": {"size": 11}}]


def _hover(result: CellResult, what: str) -> str:
    parts = [moment(result.created), what, result.release or "release unknown", f"night {result.night}" if result.night else ""]
    return "<br>".join(label(part) for part in parts if part)


def _last(results: Sequence[CellResult], name: str) -> str | None:
    return next((getattr(run, name) for result in reversed(results) for run in result.runs if getattr(run, name)), None)


def _drawable(value: float | None) -> float | None:
    """Return where a ratio stands on a logarithmic axis: one of zero at the foot, an infinite one at the head."""
    if value is None or math.isnan(value):
        return None
    return min(max(value, _LOWEST), _HIGHEST)


def _one(value: float | None) -> float | None:
    """Return a number as JSON knows it."""
    return value if value is not None and math.isfinite(value) else None


def _finite(values: Iterable[float]) -> list[float | None]:
    """Return numbers as JSON knows them, to six digits."""
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]


def _stamp(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}"
