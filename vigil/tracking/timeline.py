"""Nights in MLflow: a point in the timeline of every cell, and one run for the night itself.

A timeline is a long-lived run whose metric steps are the nights. A point, once there, stays: recording a night again, after an
interruption or beside another process, adds what is missing and alters nothing. A cell that gave no number leaves a gap, and its
verdict in the tags.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from vigil.documents.context import Context
from vigil.documents.identity import Identity
from vigil.documents.verdict import Verdict
from vigil.errors import CannotRun
from vigil.locks import locked
from vigil.paths import cache_directory
from vigil.redaction import redact
from vigil.tracking.client import NOTE, Store, TrackedRun, check_reachable, failures_named
from vigil.tracking.run_entry import NIGHTS_NOTE, TIMELINES_NOTE, Entry, Point, cell_tags, texts
from vigil.tracking.uploads import attachments

TIMELINES, NIGHTS = "timelines", "nights"
TIMELINE = "vigil.timeline"
NIGHT, NUMBER = "night", "number"
NIGHT_ID, TOKEN = "vigil.night", "vigil.night_token"
SUMMARY = "summary.md"


@dataclass(frozen=True)
class NightPoint:
    """One cell in one night, run without a planted fault: what it is, and the numbers it gave. None: it gave none.

    Args:
        value: the mean of the metric over the night's seeds.
        band_low, band_high: what the reference lets that mean be.
        verify_worst_ratio: the distance of the worst tensor of the first rung, in noise floors.
    """

    recipe: Identity
    context: Context
    release: str | None
    verdict: Verdict
    metric: str
    unit: str
    direction: str
    seeds: int
    value: float | None = None
    band_low: float | None = None
    band_high: float | None = None
    verify_worst_ratio: float | None = None
    reason: str | None = None

    @property
    def key(self) -> str:
        """Return what the timeline of this cell goes by, whatever else is said of it."""
        return json.dumps([self.recipe.name, self.recipe.profile, self.context.text, self.recipe.hash])

    def numbers(self) -> dict[str, float]:
        """Return the finite numbers by the names they are charted under. An infinite one would hide all others."""
        numbers = {self.metric: self.value, "band_low": self.band_low, "band_high": self.band_high}
        numbers |= {"verify_worst_ratio": self.verify_worst_ratio}
        return {name: float(value) for name, value in numbers.items() if value is not None and math.isfinite(value)}

    def tags(self) -> dict[str, str]:
        """Return what a timeline is filtered by: all that is no number of the night."""
        names = ("release", "verdict", "metric", "unit", "direction", "seeds", "reason")
        return texts(cell_tags(self.recipe, self.context) | {name: getattr(self, name) for name in names})


def record_night(uri: str, cells: Sequence[NightPoint], *, night: str, number: int, when: datetime) -> None:
    """Add a night to the timelines of its cells.

    Args:
        night: the night's id.
        number: its step. Nights in order have growing numbers, and no two the same.
        when: the time of its points, with a time zone.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused. Calling again completes the night.
        CannotRun: a cell stands twice in `cells`, or another night has this number.
    """
    if len({cell.key for cell in cells}) != len(cells):
        keys = [cell.key for cell in cells]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise CannotRun(f"night {night}: {twice[0]} is recorded twice. A cell has one point a night: give the mean of its seeds.")
    check_reachable(uri)
    with _alone(), failures_named(uri):
        store = Store(uri)
        experiment_id = store.experiment_id(TIMELINES, note=TIMELINES_NOTE)
        timelines = _timelines(store, experiment_id)
        for cell in cells:
            _check_number(timelines.get(cell.key), night=night, number=number)
        for cell in cells:
            _record(store, experiment_id, cell, timelines.get(cell.key), night=night, number=number, time=_milliseconds(when))


def record_night_summary(
    uri: str,
    directory: Path,
    *,
    night: str,
    token: str | None = None,
    number: int,
    when: datetime,
    seconds: float,
    verdict: str,
    verdicts: Mapping[str, int],
    releases: Mapping[str, str],
    files: Sequence[str] = (SUMMARY, "summary.json", "junit.xml"),
) -> str:
    """Bring MLflow to hold a night's own run exactly once, and return its id. A summary that has changed replaces it.

    Args:
        directory: where the summary lies; those of `files` that it holds become artifacts, and summary.md the description.
        token: what tells it from another machine's night of the same id.
        number: the step that the night has in every timeline.
        verdict: the worst of its cells.
        verdicts: how many cells had which verdict.
        releases: of each framework, what was tested.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused. Calling again completes the run.
        CannotRun: there is no summary.md.
    """
    summary = directory / SUMMARY
    if not summary.is_file():
        raise CannotRun(f"{summary}: missing. A night is recorded once its summary is written.")
    text = redact(summary.read_text(encoding="utf-8"))
    start = _milliseconds(when)
    end = start + round(1000 * seconds)
    numbers = {"cells": sum(verdicts.values()), "seconds": seconds}
    numbers |= {"cells_" + name.replace(":", "_"): count for name, count in verdicts.items()}
    labels = {"night": night, "number": str(number), "verdict": verdict}
    labels |= {"verdicts": ", ".join(f"{count} {name}" for name, count in sorted(verdicts.items()))}
    labels |= {f"release_{name}": release for name, release in releases.items()}
    entry = Entry(
        name=f"night {night}",
        identity={NIGHT_ID: night} | ({TOKEN: token} if token else {}),
        labels=labels,
        note=text,
        metrics=tuple((name, float(value), end, number) for name, value in numbers.items()),
        status="FINISHED",
        start=start,
        end=end,
        artifact=SUMMARY,
        text=text,
        attachments=attachments(directory, [name for name in files if name != SUMMARY]),
    )
    check_reachable(uri)
    with _alone(), failures_named(uri):
        store = Store(uri)
        run_id, is_complete = store.place(store.experiment_id(NIGHTS, note=NIGHTS_NOTE), entry)
        if not is_complete:
            store.finish(run_id, entry)
    return run_id


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Keep two processes of this machine from each making what both find missing."""
    directory = cache_directory() / "locks"
    directory.mkdir(parents=True, exist_ok=True)
    with locked(directory):
        yield


def _record(
    store: Store, experiment_id: str, cell: NightPoint, timeline: TrackedRun | None, *, night: str, number: int, time: int
) -> None:
    """Add one night to one timeline."""
    last = _number(timeline)
    if timeline is None:
        name = f"{cell.recipe.name} {cell.recipe.profile} {cell.context}"
        run_id = store.make_run(experiment_id, name=name, start=time, tags=cell.tags() | {TIMELINE: cell.key})
    else:
        run_id = timeline.run_id
    if timeline is None or timeline.status == "RUNNING":
        store.end_run(run_id, end=time)
    points = list(_points(cell, number=number, time=time))
    if last is None or number > last:
        # First that this night has begun, then its points: whoever finds the number looks which points are there.
        note = _note(experiment_id, run_id, cell)
        store.log(run_id, tags=cell.tags() | {NIGHT: night, NUMBER: str(number), NOTE: note})
    else:
        points = [point for point in points if number not in store.steps(run_id, point[0])]
    if number == last:
        store.log(run_id, points=points, tags=cell.tags() | {NOTE: _note(experiment_id, run_id, cell)})
    elif points:
        store.log(run_id, points=points)


def _timelines(store: Store, experiment_id: str) -> dict[str, TrackedRun]:
    """Return the timelines by key; of two that other machines have made at one time, the first."""
    timelines: dict[str, TrackedRun] = {}
    for page in store.runs([experiment_id], query=f"tags.`{TIMELINE}` LIKE '%'"):
        for run in page:
            key = run.tags[TIMELINE]
            earlier = timelines.get(key)
            if earlier is None or (run.start or 0, run.run_id) < (earlier.start or 0, earlier.run_id):
                timelines[key] = run
    return timelines


def _check_number(timeline: TrackedRun | None, *, night: str, number: int) -> None:
    """Raise where this night has another number, or another night has this one."""
    if timeline is None or _number(timeline) is None:
        return
    last = timeline.tags.get(NIGHT)
    if (last == night) != (_number(timeline) == number):
        raise CannotRun(
            f"night {night} cannot have the number {number}: in the timeline {timeline.run_id} {_number(timeline)} is the night "
            f"{last}. Each night has a number of its own, and keeps it."
        )


def _number(timeline: TrackedRun | None) -> int | None:
    text = timeline.tags.get(NUMBER, "") if timeline else ""
    return int(text) if text.isdecimal() else None


def _points(cell: NightPoint, *, number: int, time: int) -> Iterator[Point]:
    for name, value in cell.numbers().items():
        yield name, value, time, number


def _note(experiment_id: str, run_id: str, cell: NightPoint) -> str:
    """Return what a person reads above a timeline: where its chart is, and how the last night ended."""
    shown = [cell.metric, "band_low", "band_high"]
    link = chart_address(experiment_id, run_id, shown)
    worst = chart_address(experiment_id, run_id, ["verify_worst_ratio"])
    unit = f" ({cell.unit}, {cell.direction} is better)"
    lines = [f"**{cell.verdict}** with {cell.context.framework} {cell.release or '(release unknown)'}", ""]
    lines += [redact(cell.reason), ""] if cell.reason else []
    return "\n".join([*lines, f"- [{cell.metric} with its band]({link}){unit}", f"- [worst tensor of a step]({worst})"])


def chart_address(experiment_id: str, run_id: str, metrics: Sequence[str]) -> str:
    """Return the address, below MLflow's root, of its chart of some metrics of one run over their steps."""
    parameters: dict[str, object] = {
        "runs": [run_id],
        "metric": metrics[0],
        "experiments": [experiment_id],
        "plot_metric_keys": list(metrics),
        "plot_layout": {"autosize": True},
        "x_axis": "step",
        "y_axis_scale": "linear",
        "line_smoothness": 1,
        "show_point": True,
        "deselected_curves": [],
        "last_linear_y_axis_range": [],
    }
    plain = ("x_axis", "y_axis_scale")
    values = {key: str(value) if key in plain else json.dumps(value) for key, value in parameters.items()}
    return "#/metric?" + "&".join(f"{key}={quote(value)}" for key, value in values.items())


def _milliseconds(when: datetime) -> int:
    if when.tzinfo is None:
        raise CannotRun(f"night: {when} has no time zone. Give a time in UTC.")
    return round(when.timestamp() * 1000)
