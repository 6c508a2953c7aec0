"""The charts, as SVG in the page: no script draws them, so paper, a phone and a mail show what a desktop does.

Colours are classes of the page's style, so light and dark follow it; each means one thing on every page. A point's title holds
its value, its band and how far it is outside. Strings of records are escaped here, since the result is markup.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from markupsafe import Markup, escape

from reports.site.appearance import FAILED, appearance_of
from reports.site.cell_drift import DriftMark
from reports.site.cell_results import CellResult
from reports.site.losses import Curve, Envelope
from reports.site.words import moment, number, plain, points, shortened
from vigil.documents.night import REPRODUCE, VERIFY
from vigil.documents.verdict import Verdict

MOST_RESULTS = 400  # beyond, a chart is a carpet; the page says how many are left out
_SPARK_NIGHTS = 40
_LOWEST, _HIGHEST = 1e-6, 1e12  # where a ratio of zero and an infinite one are drawn on a logarithmic axis
_LONGEST_LABEL = 60
_MOST_RELEASES = 8
_MOST_TOLD = 40  # points that say their number: those of older nights stand in MLflow, and a report is to be light
_MOST_SEEDS = 60  # results whose seeds are drawn beside their mean
_MOST_SEED_LABELS = 12
_DAY = timedelta(days=1)

_Mark = tuple[datetime, float, str, str]
"""When, the value, the name of an appearance (or `seed`), the title or nothing."""
MeanBands = Callable[[int], float | None]
"""From a number of runs to how wide the band for their mean is, beside the band for one; None where nobody knows."""


@dataclass(frozen=True)
class Judged:
    """A reproduction as it was judged: the mean of its runs, and the band for that mean; None where there is none of either.

    is_one: whether the band is that for one run, for want of knowing the other.
    """

    result: CellResult
    value: float | None
    low: float | None
    high: float | None
    is_one: bool

    @property
    def difference(self) -> float | None:
        """How far it is from the middle of its band."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return self.value - (self.low + self.high) / 2


def judged(result: CellResult, mean_bands: MeanBands) -> Judged:
    """Return a reproduction as it was judged: one run by its band, several by the band for their mean."""
    values = [value for run in result.runs if (value := _one(run.value)) is not None]
    banded = next((run for run in result.runs if _one(run.band_low) is not None and _one(run.band_high) is not None), None)
    value = math.fsum(values) / len(values) if values else None
    if banded is None or banded.band_low is None or banded.band_high is None:
        return Judged(result, value, None, None, True)
    share = mean_bands(len(values)) if len(values) > 1 else 1.0
    middle, half = (banded.band_low + banded.band_high) / 2, (banded.band_high - banded.band_low) / 2 * (share or 1.0)
    return Judged(result, value, middle - half, middle + half, share is None or len(values) < 2)


@dataclass
class _Axes:
    """A field in a picture: from values to places. x, y: the ranges of values; y may be logarithmic. mark: half a triangle."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x: tuple[float, float]
    y: tuple[float, float]
    is_log: bool = False
    mark: float = 4.0

    def across(self, value: float) -> float:
        first, last = self.x
        return self.left + (value - first) / ((last - first) or 1.0) * (self.width - self.left - self.right)

    @property
    def span(self) -> float:
        return self.width - self.left - self.right

    def up(self, value: float) -> float:
        low, high = self.y
        if self.is_log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        share = (value - low) / ((high - low) or 1.0)
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)


def history_chart(results: Sequence[CellResult], mean_bands: MeanBands, *, mark: DriftMark | None = None) -> Markup | None:
    """Return the metric over time: what was judged a large point, its seeds small ones, the band that it was held to.

    mark: where a drift began; one that began before the results that are shown is not drawn.
    """
    shown = [each for each in results if each.kind == REPRODUCE and each.is_clean]
    if not shown:
        return None
    rows = [judged(each, mean_bands) for each in shown]
    unit, metric = _last(shown, "unit"), _last(shown, "metric")
    axes = _axes_of(rows, width=520, height=230, left=44, right=10, top=16, bottom=24)
    parts = [_frame(axes, shown, ticks=_ticks(*axes.y)), _drift_field(axes, shown, mark), _band(axes, rows)]
    parts += [_releases(axes, shown)]
    several = [row for row in rows[-_MOST_SEEDS:] if len(row.result.runs) > 1]
    seeds = [
        (row.result.created, run.value, "seed", "")
        for row in several
        for run in row.result.runs
        if run.value is not None and _one(run.value) is not None
    ]
    parts += [_points(axes, seeds), _judged_points(axes, rows, unit)]
    parts += [_drift_line(axes, shown, mark)]
    name = f"{plain(metric) or 'metric'}{f' ({plain(unit)})' if unit else ''}"
    return _picture(axes, parts, label=f"{name} over time, with its band", y_name=shortened(name, _LONGEST_LABEL))


def ratio_chart(results: Sequence[CellResult]) -> Markup | None:
    """Return verify's worst tensor over time, as a multiple of what is accepted: above the line at 1 a tensor is out."""
    clean = [each for each in results if each.kind == VERIFY and each.is_clean and each.measured]
    shown = [each for each in clean if each.measured and _drawable(each.measured.worst_score) is not None]
    if not shown:
        return None
    scores = [_drawable(each.measured.worst_score) or 1.0 for each in shown if each.measured]
    low, high = min(0.1, *scores) / 1.5, max(10.0, *scores) * 1.5
    axes = _Axes(520, 200, 44, 10, 16, 24, _times(shown), (low, high), is_log=True)
    decades = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    step = max(1, math.ceil(len(decades) / 6))
    parts = [_frame(axes, shown, ticks=[10.0**each for each in decades][::step]), _releases(axes, shown)]
    edge, top = axes.up(1.0), axes.up(high)
    parts.append(f'<path class="limit" d="M{axes.left} {edge:.1f}H{axes.width - axes.right}"/>')
    parts.append(f'<rect class="beyond" x="{axes.left}" y="{top:.1f}" width="{axes.span}" height="{edge - top:.1f}"/>')
    marks = []
    for place, (each, score) in enumerate(zip(shown, scores, strict=True)):
        row = each.measured
        if row is None:
            continue
        told = [f"{number(row.worst_score)} of what is accepted", *_facts(each)]
        if row.origin_layer:
            told.insert(1, f"first wrong: {row.origin_layer}")
        name = f"{appearance_of(each.verdict).name}{' short' if each.is_short else ''}"
        marks.append((each.created, score, name, _title(told) if place >= len(shown) - _MOST_TOLD else ""))
    parts.append(_points(axes, marks))
    return _picture(axes, parts, label="The worst tensor of each verification over time", y_name="of what is accepted (log)")


def loss_chart(drawn: Sequence[Curve], around: Envelope | None) -> Markup | None:
    """Return the loss of some runs over steps, before the envelope of the reproduced ones."""
    if not drawn:
        return None
    finite = [value for curve in drawn for value in curve.means if math.isfinite(value)]
    finite += [float(value) for edge in ((around.low, around.high) if around else ()) for value in edge]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    pad = (high - low or 1.0) * 0.05
    last = max(curve.steps for curve in drawn)
    axes = _Axes(520, 210, 44, 10, 16, 24, (0.0, float(last)), (low - pad, high + pad))
    parts = [_grid(axes, _ticks(*axes.y))]
    for step in _ticks(0.0, float(last)):
        parts.append(f'<text class="x" x="{axes.across(step):.1f}" y="{axes.height - 8}">{step:,.0f}</text>')
    if around is not None:
        ends = around.curves[0].ends
        forth = [f"{axes.across(end):.1f} {axes.up(float(value)):.1f}" for end, value in zip(ends, around.high, strict=True)]
        back = [f"{axes.across(end):.1f} {axes.up(float(value)):.1f}" for end, value in zip(ends, around.low, strict=True)]
        title = f"envelope of {len(around.curves)} reproduced runs"
        parts.append(f'<path class="band" d="M{"L".join([*forth, *reversed(back)])}Z"><title>{title}</title></path>')
    for index, curve in enumerate(drawn):
        name = f"{moment(curve.row.created)}, seed {curve.row.seed}, {plain(curve.row.release) or 'release unknown'}"
        name += f": {plain(curve.row.verdict)}"
        title = f"<title>{escape(shortened(name, 200))}</title>"
        for piece in _pieces(curve):
            path = "L".join(f"{axes.across(end):.1f} {axes.up(value):.1f}" for end, value in piece)
            if len(piece) > 1:
                parts.append(f'<path class="loss l{index}" d="M{path}">{title}</path>')
            else:
                x, y = axes.across(piece[0][0]), axes.up(piece[0][1])
                parts.append(f'<circle class="loss l{index}" cx="{x:.1f}" cy="{y:.1f}" r="2">{title}</circle>')
    return _picture(axes, parts, label="Training loss over steps", y_name="training loss, by step")


def sparkline(results: Sequence[CellResult], mean_bands: MeanBands, *, kind: str, begin: str | None) -> Markup | None:
    """Return a cell's last nights in small: its metric in its band, or the worst tensor of its verifications.

    begin: the night at which something began, where that is known.
    """
    shown = [each for each in results if each.kind == kind and each.is_clean][-_SPARK_NIGHTS:]
    if len(shown) < 2:
        return None
    size: dict[str, Any] = {"width": 230, "height": 54, "left": 4, "right": 4, "top": 5, "bottom": 5, "mark": 3.0}
    if kind == REPRODUCE:
        rows = [judged(each, mean_bands) for each in shown]
        if all(row.value is None for row in rows):
            return None
        axes = _axes_of(rows, **size)
        parts = [_band(axes, rows)]
        unit = _last(shown, "unit")
        marks = _judged_points(axes, rows, unit)
    else:
        scores = [_drawable(each.measured.worst_score) if each.measured else None for each in shown]
        known = [score for score in scores if score is not None]
        if not known:
            return None
        axes = _Axes(**size, x=_times(shown), y=(min(0.2, *known) / 1.3, max(2.0, *known) * 1.3), is_log=True)
        edge, foot = axes.up(1.0), axes.height - axes.bottom
        parts = [f'<rect class="band" x="{axes.left}" y="{edge:.1f}" width="{axes.span}" height="{foot - edge:.1f}"/>']
        held = [(each, score) for each, score in zip(shown, scores, strict=True) if score is not None]
        titles = [_title([f"{number(score)} of what is accepted", *_facts(each)]) for each, score in held]
        names = [appearance_of(each.verdict).name for each, _ in held]
        marks = _points(
            axes,
            [(each.created, score, name, title) for (each, score), name, title in zip(held, names, titles, strict=True)],
        )
    first = next((each.created for each in shown if begin is not None and each.night == begin), None)
    if first is not None:
        parts.append(f'<path class="since" d="M{axes.across(first.timestamp()) - 3:.1f} 1V{axes.height - 1}"/>')
    body = Markup("".join([*parts, marks]))
    label = f"The last {len(shown)} results"
    return Markup(f'<svg class="spark" viewBox="0 0 {axes.width} {axes.height}" role="img" aria-label="{label}">{body}</svg>')


def difference_chart(
    differences: Mapping[int, float], *, mean: float, interval: tuple[float, float] | None, appearance: str, unit: str
) -> Markup | None:
    """Return how far each seed moved between two releases, and their mean with its interval: the shade is that, all along.

    appearance: the name of the one that the mean is drawn in.
    """
    held = [value for value in (*differences.values(), mean, *(interval or ())) if math.isfinite(value)]
    if not differences or not math.isfinite(mean):
        return None
    low, high = min(0.0, *held), max(0.0, *held)
    pad = (high - low or 1.0) * 0.08
    axes = _Axes(520, 210, 62, 10, 16, 24, (-0.5, len(differences) + 0.5), (low - pad, high + pad))
    parts = [_grid(axes, _ticks(*axes.y))]
    if interval is not None and all(map(math.isfinite, interval)):
        top, foot = axes.up(interval[1]), axes.up(interval[0])
        title = _title([f"interval of the mean: {interval[0]:+.4g} to {interval[1]:+.4g} {plain(unit)}"])
        size = f'width="{axes.span}" height="{max(foot - top, 1.0):.1f}"'
        parts.append(f'<rect class="band" x="{axes.left}" y="{top:.1f}" {size}>{title}</rect>')
    parts.append(f'<path class="release" d="M{axes.left} {axes.up(0.0):.1f}H{axes.width - axes.right}"/>')
    every = math.ceil(len(differences) / _MOST_SEED_LABELS)
    named = [(f"seed {seed}", value, "neutral") for seed, value in differences.items()] + [("mean", mean, appearance)]
    for place, (name, value, looks) in enumerate(named):
        x, is_mean = axes.across(place), place == len(differences)
        if is_mean or place % every == 0:
            label = name if is_mean or len(differences) <= every * _MOST_SEED_LABELS // 2 else name.removeprefix("seed ")
            parts.append(f'<text class="x" x="{x:.1f}" y="{axes.height - 8}">{escape(label)}</text>')
        if math.isfinite(value):
            title = _title([f"{name}: {value:+.4g} {plain(unit)}"])
            shape, path = _shape_of(x, axes.up(value), looks, size=axes.mark)
            parts.append(f'<path class="{shape}" d="{path}">{title}</path>')
    return _picture(axes, parts, label="NEW - OLD, seed by seed", y_name=f"NEW - OLD ({plain(unit)})")


def _axes_of(rows: Sequence[Judged], **size: Any) -> _Axes:
    """Return axes that hold every value, its seeds and its band, with some room."""
    held = [each for row in rows for each in (row.value, row.low, row.high) if each is not None]
    held += [run.value for row in rows for run in row.result.runs if _one(run.value) is not None and run.value is not None]
    low, high = (min(held), max(held)) if held else (0.0, 1.0)
    pad = (high - low or abs(high) or 1.0) * 0.06
    return _Axes(**size, x=_times([row.result for row in rows]), y=(low - pad, high + pad))


def _times(results: Sequence[CellResult]) -> tuple[float, float]:
    """Return the first and the last time; around a single result a day."""
    first, last = min(each.created for each in results), max(each.created for each in results)
    if first == last:
        first, last = first - _DAY / 2, last + _DAY / 2
    return first.timestamp(), last.timestamp()


def _picture(axes: _Axes, parts: Iterable[str], *, label: str, y_name: str) -> Markup:
    title = f'<text class="name" x="2" y="10">{escape(y_name)}</text>'
    body = "".join(parts)
    return Markup(
        f'<svg class="plot" viewBox="0 0 {axes.width} {axes.height}" role="img" aria-label="{escape(shortened(label, 120))}">'
        f"{title}{body}</svg>"
    )


def _frame(axes: _Axes, results: Sequence[CellResult], *, ticks: Sequence[float]) -> str:
    """Return the grid, and days along the foot."""
    first, last = axes.x
    many = 5 if last - first > 4 * _DAY.total_seconds() else 2
    days = []
    for index in range(many):
        at = first + (last - first) * index / (many - 1)
        anchor = {0: "first", many - 1: "last"}.get(index, "x")
        day = datetime.fromtimestamp(at, tz=results[0].created.tzinfo)
        days.append(f'<text class="{anchor}" x="{axes.across(at):.1f}" y="{axes.height - 8}">{day:%b} {day.day}</text>')
    return _grid(axes, ticks) + "".join(days)


def _grid(axes: _Axes, ticks: Sequence[float]) -> str:
    lines = "".join(f"M{axes.left} {axes.up(tick):.1f}H{axes.width - axes.right}" for tick in ticks)
    labels = "".join(f'<text class="y" x="{axes.left - 4}" y="{axes.up(tick) + 3:.1f}">{tick:g}</text>' for tick in ticks)
    return f'<path class="grid" d="{lines}"/>{labels}'


def _ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers between two."""
    raw = (high - low) / 4
    if not raw > 0 or not math.isfinite(raw):
        return [low]
    unit = 10 ** math.floor(math.log10(raw))
    step = unit * next(each for each in (1, 2, 5, 10) if each * unit >= raw * 0.999)
    return [round(index * step, 12) for index in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _band(axes: _Axes, rows: Sequence[Judged]) -> str:
    """Return the band that each result was held to, as steps; a gap where there was none."""
    pieces, stretch = [], []
    for row in [*rows, None]:
        if row is not None and row.low is not None and row.high is not None:
            stretch.append((axes.across(row.result.created.timestamp()), axes.up(row.low), axes.up(row.high)))
            continue
        if stretch:
            pieces.append(_steps(axes, stretch))
        stretch = []
    return f'<path class="band" d="{"".join(pieces)}"/>' if pieces else ""


def _steps(axes: _Axes, stretch: Sequence[tuple[float, float, float]]) -> str:
    """Return a band as one closed line; places where it does not change are left out."""
    half = (axes.width - axes.left - axes.right) / 80
    left, right = max(axes.left, stretch[0][0] - half), min(axes.width - axes.right, stretch[-1][0] + half)
    upper, lower = [f"M{left:.1f} {stretch[0][2]:.1f}"], [f"H{left:.1f}"]
    for (_, low, high), (x, next_low, next_high) in pairwise(stretch):
        if (low, high) != (next_low, next_high):
            upper.append(f"H{x:.1f}V{next_high:.1f}")
            lower.append(f"H{x:.1f}V{low:.1f}")
    return f"{''.join(upper)}H{right:.1f}V{stretch[-1][1]:.1f}{''.join(reversed(lower))}Z"


def _judged_points(axes: _Axes, rows: Sequence[Judged], unit: str | None) -> str:
    """Return what was judged as points; one without a number lies at the foot as a cross. The newest say their numbers."""
    marks, crosses = [], []
    for place, row in enumerate(rows):
        result, is_told = row.result, place >= len(rows) - _MOST_TOLD
        if row.value is None:
            x, y = axes.across(result.created.timestamp()), axes.height - axes.bottom - 3
            title = _title([plain(result.verdict), *_facts(result)])
            crosses.append(f'<path class="p-{FAILED}" d="M{x - 2.5:.1f} {y - 2.5:.1f}l5 5m0 -5l-5 5">{title}</path>')
        else:
            title = _title(_told(row, unit)) if is_told else ""
            marks.append((result.created, row.value, _of_metric(result), title))
    return _points(axes, marks) + "".join(crosses)


def _of_metric(result: CellResult) -> str:
    """Return how the metric was found: a step that is wrong makes a result worse whose number is in its band."""
    name = appearance_of(result.verdict).name
    is_inside = name == Verdict.REGRESSED and all(run.verdict == Verdict.REPRODUCED for run in result.runs)
    return Verdict.REPRODUCED.value if is_inside else name


def _told(row: Judged, unit: str | None) -> list[str]:
    """Return what a point says: its number, its band and how far it is from the middle of that."""
    runs = [run for run in row.result.runs if _one(run.value) is not None]
    what = f"mean of {len(runs)} runs" if len(runs) > 1 else f"seed {runs[0].seed}"
    told = [f"{what}: {points(row.value, unit)}"]
    if row.low is not None and row.high is not None and row.difference is not None:
        whose = " for one run" if row.is_one and len(runs) > 1 else ""
        told += [f"band{whose} {points(row.low, unit)} to {points(row.high, unit)}, {row.difference:+.3g} from its middle"]
    return [*told, *_facts(row.result)]


def _points(axes: _Axes, marks: Sequence[_Mark]) -> str:
    """Return points: strokes without length and with round ends, the shortest that there is. Those without a title are one path.

    What is worse points down and what is better up, so that no colour is needed to tell.
    """
    told: list[str] = []
    silent: dict[str, list[str]] = {}
    for when, value, name, title in marks:
        shape, path = _shape_of(axes.across(when.timestamp()), axes.up(value), name, size=axes.mark)
        if title:
            told.append(f'<path class="{shape}" d="{path}">{title}</path>')
        else:
            silent.setdefault(shape, []).append(path)
    return "".join([*(f'<path class="{shape}" d="{"".join(paths)}"/>' for shape, paths in silent.items()), *told])


def _shape_of(x: float, y: float, name: str, *, size: float) -> tuple[str, str]:
    """Return the class and the path of a point that looks as an appearance does."""
    side = {Verdict.REGRESSED.value: 1, Verdict.BETTER.value: -1}.get(name.split()[0])
    if side is None:
        return f"p p-{name}", f"M{x:.1f} {y:.1f}h0"
    return f"p-{name}", f"M{x - size:.1f} {y - side * size * 0.7:.1f}h{2 * size:.1f}L{x:.1f} {y + side * size:.1f}Z"


def _title(told: Sequence[str]) -> str:
    return f"<title>{escape(shortened('; '.join(plain(each) for each in told if each), 200))}</title>"


def _facts(result: CellResult) -> list[str]:
    verdict = "" if result.verdict == Verdict.REPRODUCED else result.verdict
    return [f"night {result.night}" if result.night else moment(result.created), result.release or "", verdict]


def _releases(axes: _Axes, results: Sequence[CellResult]) -> str:
    """Return a line, with the release, at the first result of every release but the first; of many only the last are named."""
    changes: list[tuple[float, str]] = []
    before = None
    for result in results:
        if result.release is not None and result.release != before:
            changes.append((axes.across(result.created.timestamp()), plain(result.release)))
            before = result.release
    parts = [f"M{x:.1f} {axes.top}V{axes.height - axes.bottom}" for x, _ in changes[1:]]
    lines = f'<path class="release" d="{"".join(parts)}"/>' if parts else ""
    names = "".join(
        f'<text class="release" transform="translate({min(x + 3, axes.width - 8):.1f} {axes.top + 2}) rotate(90)">'
        f"{escape(shortened(name, 20))}</text>"
        for x, name in changes[-_MOST_RELEASES:]
    )
    return lines + names


def _first_of(results: Sequence[CellResult], night: str) -> datetime | None:
    return next((each.created for each in results if each.night == night), None)


def _drift_field(axes: _Axes, results: Sequence[CellResult], mark: DriftMark | None) -> str:
    """Return a field over the nights at which a drift may have begun."""
    if mark is None or mark.low == mark.high:
        return ""
    low, high = _first_of(results, mark.low), _first_of(results, mark.high)
    if low is None or high is None:
        return ""
    left, right = axes.across(low.timestamp()), axes.across(high.timestamp())
    height = axes.height - axes.top - axes.bottom
    return f'<rect class="drift-field" x="{left:.1f}" y="{axes.top}" width="{right - left:.1f}" height="{height}"/>'


def _drift_line(axes: _Axes, results: Sequence[CellResult], mark: DriftMark | None) -> str:
    here = _first_of(results, mark.night) if mark is not None else None
    if here is None:
        return ""
    x = axes.across(here.timestamp())
    return f'<path class="drift" d="M{x:.1f} {axes.top}V{axes.height - axes.bottom}"><title>the drift began here</title></path>'


def _pieces(curve: Curve) -> list[list[tuple[int, float]]]:
    """Return the stretches of a curve that are finite."""
    pieces: list[list[tuple[int, float]]] = [[]]
    for end, value in zip(curve.ends, curve.means, strict=True):
        if math.isfinite(value):
            pieces[-1].append((end, float(value)))
        else:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _last(results: Sequence[CellResult], name: str) -> str | None:
    return next((getattr(run, name) for result in reversed(results) for run in result.runs if getattr(run, name)), None)


def _drawable(value: float | None) -> float | None:
    """Return where a ratio stands on a logarithmic axis: one of zero at the foot, an infinite one at the head."""
    if value is None or math.isnan(value):
        return None
    return min(max(value, _LOWEST), _HIGHEST)


def _one(value: float | None) -> float | None:
    """Return a number, or None for one that is missing or not finite."""
    return value if value is not None and math.isfinite(value) else None


def strip(states: Sequence[Mapping[str, str]]) -> Markup:
    """Return nights side by side, each in the colour of the worst that was found: name of an appearance, title."""
    width = 8
    cells = "".join(
        f'<rect class="f-{state["name"]}" x="{index * width}" y="0" width="{width - 1}" height="12">'
        f"<title>{escape(shortened(state['title'], 200))}</title></rect>"
        for index, state in enumerate(states)
    )
    label = f"The last {len(states)} nights"
    return Markup(
        f'<svg class="strip" width="{len(states) * width}" height="12" viewBox="0 0 {max(len(states), 1) * width} 12" role="img" '
        f'aria-label="{label}">{cells}</svg>'
    )
