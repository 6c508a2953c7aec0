"""Nights in MLflow: a point in the timeline of every cell, and one run for the night itself.

A timeline is a long-lived run whose metric steps are the nights. A point, once there, stays: recording a night again, after an
interruption or beside another process, adds what is missing and alters nothing. A cell that gave no number leaves a gap, and its
verdict in the tags. What drifts is tags as well: it is found later, from all nights, and found anew after each.

A timeline is no process that ended: its status says how its cell stands. FAILED is what is wrong, drifts for the worse or did
not run, and the mark in its name says the same.
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
from vigil.recipes.command_line import cell_command
from vigil.redaction import redact
from vigil.tracking.client import Store, TrackedRun, check_reachable, failures_named
from vigil.tracking.run_entry import (
    NIGHTS_NOTE,
    NOTE,
    ORDER,
    RUN_NAME,
    TIMELINES_NOTE,
    Entry,
    Point,
    Standing,
    cell_tags,
    number_texts,
    report_link,
    report_page,
    texts,
)
from vigil.tracking.uploads import attachments
from vigil.tracking.views import NIGHTS_VIEW, TIMELINES_VIEW

TIMELINES, NIGHTS = "timelines", "nights"
TIMELINE = "vigil.timeline"
NIGHT, NUMBER = "night", "number"
NIGHT_ID, TOKEN = "vigil.night", "vigil.night_token"
SUMMARY = "summary.md"
NONE, WORSE, BETTER, MOVED, NO_VALUE = "none", "worse", "better", "moved", "no value"  # of the tag `drift`
POSITION = "band_position"
POOL, POOLED = "vigil.pool", "pooled"
DRIFT_TAGS = ("drift", "drift_size", "drift_since", "drift_release", "drift_q", "drift_sd", "drift_as_of")
ENDED = "ended"
Cell = tuple[str, str, str]  # recipe, profile, context
# What half a band is taken for in the order of the wrong ones, where others are known by their drift: of 99 % it is 2.6 to 3.
_HALF_BAND_SD = 3.0


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

    @property
    def position(self) -> float | None:
        """Return where the number lies in its band: 0 in the middle, -1 at the worse edge, 1 at the better one."""
        if self.value is None or self.band_low is None or self.band_high is None or not self.band_low < self.band_high:
            return None
        half = 0.5 * (self.band_high - self.band_low)
        position = (self.value - self.band_low - half) / half
        return -position if self.direction == "lower" else position

    @property
    def command(self) -> str:
        """Return the command that looks at this cell again, under the release of that night."""
        release = [f"{self.context.framework}=={self.release}"] if self.release else []
        return cell_command("reproduce", self.recipe.name, self.context, profile=self.recipe.profile, releases=release)

    def numbers(self) -> dict[str, float]:
        """Return the finite numbers by the names they are charted under. An infinite one would hide all others."""
        numbers = {self.metric: self.value, "band_low": self.band_low, "band_high": self.band_high}
        numbers |= {POSITION: self.position, "verify_worst_ratio": self.verify_worst_ratio}
        return {name: float(value) for name, value in numbers.items() if value is not None and math.isfinite(value)}

    def tags(self) -> dict[str, str]:
        """Return what a timeline is filtered by: all that is no number of the night."""
        names = ("release", "verdict", "metric", "unit", "direction", "seeds", "reason")
        known = cell_tags(self.recipe, self.context) | {name: getattr(self, name) for name in names}
        numbers = number_texts(self.value, self.band_low, self.band_high, unit=self.unit)
        # What a night did not give is said: else the number of an earlier one would stand beside this verdict.
        known |= {name: text or "-" for name, text in numbers.items()}
        return texts(known | {"command": self.command, "report": report_page(self.recipe, self.context)})


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
        experiment_id = store.experiment_id(TIMELINES, note=TIMELINES_NOTE, view=TIMELINES_VIEW)
        timelines = _timelines(store, experiment_id)
        for cell in cells:
            _check_number(timelines.get(cell.key), night=night, number=number)
        for cell in cells:
            _end_earlier(store, experiment_id, cell, timelines, night=night, number=number)
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
        run_id, is_complete = store.place(store.experiment_id(NIGHTS, note=NIGHTS_NOTE, view=NIGHTS_VIEW), entry)
        if not is_complete:
            store.finish(run_id, entry)
    return run_id


@dataclass(frozen=True)
class PooledDrift:
    """Cells of a framework, or of all, that drift together and not alone.

    values: night -> the median over the cells, each in standard deviations from its own mean. tags: those of `DRIFT_TAGS` that
    there are.
    """

    framework: str
    cells: int
    values: Mapping[str, float]
    tags: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"{self.framework}, {self.cells} cells pooled"

    def entry(self, nights: Mapping[str, tuple[int, int]]) -> Entry:
        """Return what it becomes. `nights`: of each its number, and its time in milliseconds."""
        known = {nights[night]: value for night, value in self.values.items() if night in nights}
        points = tuple((POOLED, value, time, number) for (number, time), value in sorted(known.items()))
        reason = f"{self.cells} cells drift together, and none of them alone"
        labels = dict.fromkeys(("verdict", "value", "band"), "-") | {"framework": self.framework, "metric": POOLED}
        size = abs(float(self.tags.get("drift_sd", "0")))
        return Entry(
            name=self.name,
            identity={POOL: self.framework},
            labels=texts({**labels, **self.tags, "reason": reason, ORDER: Standing.MOVED.order(size)}),
            note=f"{_drift_told(self.tags)}: {reason}.\n",
            metrics=points,
            status="FINISHED",
            start=points[0][2] if points else 0,
            end=points[-1][2] if points else 0,
            artifact=f"{POOLED}.json",
            text=json.dumps({"cells": self.name, "tags": dict(self.tags), "values": dict(self.values)}, indent=1) + "\n",
            shown={RUN_NAME: Standing.MOVED.mark + self.name, "command": "vigil drift", "report": "index.html"},
        )


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Keep two processes of this machine from each making what both find missing."""
    directory = cache_directory() / "locks"
    directory.mkdir(parents=True, exist_ok=True)
    with locked(directory):
        yield


def record_drift(uri: str, found: Mapping[Cell, Mapping[str, str]], *, pools: Sequence[PooledDrift] = ()) -> int:
    """Write into the timelines what was found to drift, and return how many of the cells have one.

    Args:
        found: of each cell that was looked at, those of `DRIFT_TAGS` that there are.
        pools: what drifts in cells pooled and in none of them; each has a timeline as long as it is found.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused. Calling again completes it.
    """
    check_reachable(uri)
    with _alone(), failures_named(uri):
        store = Store(uri)
        if not any(experiment.name == TIMELINES for experiment in store.experiments()):
            return 0
        experiment_id = store.experiment_id(TIMELINES, note=TIMELINES_NOTE, view=TIMELINES_VIEW)
        newest: dict[Cell, TrackedRun] = {}
        for timeline in sorted(_timelines(store, experiment_id).values(), key=lambda each: _number(each) or 0):
            newest[_cell(timeline.tags)] = timeline
        for cell in found.keys() & newest.keys():
            usual = dict.fromkeys(DRIFT_TAGS, "-") | {"drift_size": found[cell].get("drift", "-")}
            tags, timeline = texts(usual | dict(found[cell])), newest[cell]
            _tell(store, experiment_id, timeline.run_id, tags, timeline=timeline, position=timeline.metrics.get(POSITION))
        _record_pools(store, experiment_id, pools)
    return len(found.keys() & newest.keys())


def _record_pools(store: Store, experiment_id: str, pools: Sequence[PooledDrift]) -> None:
    """Bring these pools, and no others, to stand among the timelines. Each value is another one after another night."""
    earlier = {run.run_id for page in store.runs([experiment_id], query=f"tags.`{POOL}` LIKE '%'") for run in page}
    nights = _numbered_nights(store) if pools else {}
    for pool in pools:
        entry = pool.entry(nights)
        run_id, is_complete = store.place(experiment_id, entry)
        if not is_complete:
            link = f"[median of the cells over the nights]({chart_address(experiment_id, run_id, [POOLED])})"
            lines = [f"{link} · {report_link('index.html')}", "", entry.note, "- again: `vigil drift`"]
            store.log(run_id, tags={NOTE: "\n".join(lines)})
            store.finish(run_id, entry)
        earlier.discard(run_id)
    store.delete(earlier)


def _numbered_nights(store: Store) -> dict[str, tuple[int, int]]:
    """Return night -> its number, and its time in milliseconds; of two machines' nights of one id, the first."""
    found: dict[str, tuple[int, int]] = {}
    ids = [experiment.experiment_id for experiment in store.experiments() if experiment.name == NIGHTS]
    for page in store.runs(ids, query=f"tags.`{NIGHT_ID}` LIKE '%'"):
        for run in page:
            number = _number(run)
            if number is not None and run.start is not None:
                found.setdefault(run.tags[NIGHT_ID], (number, run.start))
    return found


def _end_earlier(
    store: Store, experiment_id: str, cell: NightPoint, timelines: Mapping[str, TrackedRun], *, night: str, number: int
) -> None:
    """Say of this cell's timelines from before its recipe changed that they have ended: what was wrong there is so no more."""
    for key, timeline in timelines.items():
        is_earlier = key != cell.key and _cell(timeline.tags) == _cell(cell.tags()) and (_number(timeline) or 0) < number
        if is_earlier and not timeline.tags.get(ENDED):
            tags = {ENDED: f"the recipe has changed before night {night}"}
            _tell(store, experiment_id, timeline.run_id, tags, timeline=timeline, position=timeline.metrics.get(POSITION))


def _cell(tags: Mapping[str, str]) -> Cell:
    return tags.get("recipe", ""), tags.get("profile", ""), tags.get("context", "")


def _record(
    store: Store, experiment_id: str, cell: NightPoint, timeline: TrackedRun | None, *, night: str, number: int, time: int
) -> None:
    """Add one night to one timeline."""
    last = _number(timeline)
    if timeline is None:
        run_id = store.make_run(experiment_id, name=_cell_name(cell.tags()), start=time, tags=cell.tags() | {TIMELINE: cell.key})
    else:
        run_id = timeline.run_id
    points, tags = list(_points(cell, number=number, time=time)), cell.tags()
    if last is None or number > last:
        # First that this night has begun, then its points: whoever finds the number looks which points are there.
        tags |= {NIGHT: night, NUMBER: str(number)}
        tags |= {ENDED: ""} if timeline and ENDED in timeline.tags else {}
        _tell(store, experiment_id, run_id, tags, timeline=timeline, position=cell.position, end=time)
        store.log(run_id, points=points)
        return
    points = [point for point in points if number not in store.steps(run_id, point[0])]
    if number == last:
        _tell(store, experiment_id, run_id, tags, timeline=timeline, position=cell.position, end=time)
    if points:
        store.log(run_id, points=points)


def _tell(
    store: Store,
    experiment_id: str,
    run_id: str,
    tags: Mapping[str, str],
    *,
    timeline: TrackedRun | None,
    position: float | None,
    end: int | None = None,
) -> None:
    """Write new tags, and what all tags together make of a timeline: its name, note, place in the table, and status."""
    before = timeline.tags if timeline else {}
    known = {**before, **tags}
    standing = _standing(known)
    known |= {
        RUN_NAME: standing.mark + _cell_name(known),
        NOTE: _note(experiment_id, run_id, known),
        ORDER: standing.order(_size(known, position)),
    }
    if changed := {key: value for key, value in known.items() if before.get(key) != value}:
        store.log(run_id, tags=changed)
    if timeline is None or timeline.status != standing.status:
        store.end_run(run_id, end=end or (timeline.end if timeline else None), status=standing.status)


def _standing(tags: Mapping[str, str]) -> Standing:
    """Return how a cell stands."""
    drift, word = tags.get("drift", NONE), tags["verdict"]
    # A word of a later version may say anything but that all is well; that it failed it says by how it begins.
    known = Verdict.FAILED_CRASH if word.startswith("failed:") else Verdict.UNKNOWN
    with contextlib.suppress(ValueError):
        known = Verdict(word)
    by_drift = {WORSE: Standing.WRONG, BETTER: Standing.MOVED, MOVED: Standing.MOVED, NO_VALUE: Standing.OPEN}
    return Standing.FINE if tags.get(ENDED) else max(Standing.of(known), by_drift.get(drift, Standing.FINE))


def _size(tags: Mapping[str, str], position: float | None) -> float:
    """Return how far a cell is off, in standard deviations of a run: by its drift, or by its place in the band."""
    try:
        drift = abs(float(tags.get("drift_sd", "-")))
    except ValueError:
        drift = 0.0
    place = 0.0 if position is None else _HALF_BAND_SD * abs(position)
    return max(size for size in (drift, place) if not math.isnan(size))


def _cell_name(tags: Mapping[str, str]) -> str:
    """Return a timeline's name. What differs stands first: MLflow cuts names."""
    return f"{tags['context']} {tags['recipe']} {tags['profile']}" + (" (recipe changed since)" if tags.get(ENDED) else "")


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


def _note(experiment_id: str, run_id: str, tags: Mapping[str, str]) -> str:
    """Return what a person reads above a timeline: how the last night ended, what drifts, where its charts are, what to run."""
    link = chart_address(experiment_id, run_id, [tags["metric"], "band_low", "band_high"])
    worst = chart_address(experiment_id, run_id, ["verify_worst_ratio"])
    links = f"[{tags['metric']} with its band]({link}) · [worst tensor of a step]({worst}) · {report_link(tags['report'])}"
    lines = [links, "", f"**{tags['verdict']}** with {tags['framework']} {tags.get('release', '(release unknown)')}", ""]
    if tags.get("drift", NONE) in (WORSE, BETTER, MOVED, NO_VALUE):
        lines += [_drift_told(tags), ""]
    lines += [tags["reason"], ""] if "reason" in tags else []
    lines += [f"- {tags['metric']}: {tags['unit']}, {tags['direction']} is better"]
    return "\n".join([*lines, f"- again: `{tags['command']}`", "- the page of the report is there while `vigil dashboard` runs"])


def _drift_told(tags: Mapping[str, str]) -> str:
    told = f"{tags['drift_size']} since {tags['drift_since']}, release {tags['drift_release']}, q = {tags['drift_q']}"
    return f"drift: **{tags['drift']}**, {told} (looked at after night {tags['drift_as_of']})"


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
