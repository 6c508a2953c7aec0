"""Timelines: for every cell one long-lived run in MLflow whose metric steps are the nights.

A point, once there, stays: recording a night again, after an interruption or beside another process, adds what is missing and
alters nothing. A cell that gave no number leaves a gap, and its verdict in the tags.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from urllib.parse import quote

from vigil.errors import CannotRun
from vigil.paths import cache_directory
from vigil.redaction import redact
from vigil.tracking.address import alone_in, check_reachable, failures_named
from vigil.tracking.client import NOTE, Held, Point, Store
from vigil.tracking.notes import TIMELINES_NOTE

TIMELINES = "timelines"
TIMELINE = "vigil.timeline"
NIGHT, NUMBER = "night", "number"


@dataclass(frozen=True)
class NightPoint:
    """One cell in one night, run without a planted fault: what it is, and the numbers it gave. None: it gave none.

    Args:
        context: the short text form.
        value: the mean of the metric over the night's seeds.
        band_low, band_high: what the reference lets that mean be.
        verify_worst_ratio: the distance of the worst tensor of the first rung, in noise floors.
    """

    recipe: str
    recipe_version: int
    recipe_hash: str
    profile: str
    context: str
    framework: str
    mode: str
    precision: str
    device: str
    devices: int
    determinism: str
    randomness: str
    release: str | None
    verdict: str
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
        return json.dumps([self.recipe, self.profile, self.context, self.recipe_hash])

    def numbers(self) -> dict[str, float]:
        """Return the finite numbers by the names they are charted under. An infinite one would hide all others."""
        found = {self.metric: self.value, "band_low": self.band_low, "band_high": self.band_high}
        found |= {"verify_worst_ratio": self.verify_worst_ratio}
        return {name: float(value) for name, value in found.items() if value is not None and math.isfinite(value)}

    def tags(self) -> dict[str, str]:
        """Return what a timeline is filtered by: all that is no number of the night."""
        numbers = ("value", "band_low", "band_high", "verify_worst_ratio")
        return {key: redact(str(value)) for key, value in asdict(self).items() if key not in numbers and value is not None}


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
    lock = cache_directory() / "locks"
    lock.mkdir(parents=True, exist_ok=True)
    with alone_in(lock), failures_named(uri):
        store = Store(uri)
        experiment_id = store.experiment_id(TIMELINES, note=TIMELINES_NOTE)
        held = _timelines(store, experiment_id)
        for cell in cells:
            _check_number(held.get(cell.key), night=night, number=number)
        for cell in cells:
            _record(store, experiment_id, cell, held.get(cell.key), night=night, number=number, time=_milliseconds(when))


def _record(store: Store, experiment_id: str, cell: NightPoint, held: Held | None, *, night: str, number: int, time: int) -> None:
    """Add one night to one timeline."""
    last = _number(held)
    if held is None:
        name = f"{cell.recipe} {cell.profile} {cell.context}"
        run_id = store.make_run(experiment_id, name=name, start=time, tags=cell.tags() | {TIMELINE: cell.key})
    else:
        run_id = held.run_id
    if held is None or held.status == "RUNNING":
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


def _timelines(store: Store, experiment_id: str) -> dict[str, Held]:
    """Return the timelines by key; of two that other machines have made at one time, the first."""
    found: dict[str, Held] = {}
    for page in store.runs([experiment_id], query=f"tags.`{TIMELINE}` LIKE '%'"):
        for run in page:
            key = run.tags[TIMELINE]
            earlier = found.get(key)
            if earlier is None or (run.start or 0, run.run_id) < (earlier.start or 0, earlier.run_id):
                found[key] = run
    return found


def _check_number(held: Held | None, *, night: str, number: int) -> None:
    """Raise where this night has another number, or another night has this one."""
    if held is None or _number(held) is None:
        return
    last = held.tags.get(NIGHT)
    if (last == night) != (_number(held) == number):
        raise CannotRun(
            f"night {night} cannot have the number {number}: in the timeline {held.run_id} {_number(held)} is the night {last}. "
            "Each night has a number of its own, and keeps it."
        )


def _number(held: Held | None) -> int | None:
    text = held.tags.get(NUMBER, "") if held else ""
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
    lines = [f"**{cell.verdict}** with {cell.framework} {cell.release or '(release unknown)'}", ""]
    lines += [redact(cell.reason), ""] if cell.reason else []
    return "\n".join([*lines, f"- [{cell.metric} with its band]({link}){unit}", f"- [worst tensor of a step]({worst})"])


def chart_address(experiment_id: str, run_id: str, metrics: Sequence[str]) -> str:
    """Return the address, below MLflow's root, of its chart of some metrics of one run over their steps."""
    parameters = {
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
    texts = {key: value if key in ("x_axis", "y_axis_scale") else json.dumps(value) for key, value in parameters.items()}
    return "#/metric?" + "&".join(f"{key}={quote(text)}" for key, text in texts.items())


def _milliseconds(when: datetime) -> int:
    if when.tzinfo is None:
        raise CannotRun(f"night: {when} has no time zone. Give a time in UTC.")
    return round(when.timestamp() * 1000)
