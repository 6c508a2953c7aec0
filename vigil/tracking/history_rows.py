"""The rows of history: which columns they have, and how they are read back from what MLflow holds.

One row stands for each trained run, and one for each verification. All that comes from MLflow is text that anybody may have
edited: a run with a value of another type than its column's is left out and named, and spoils no other. A run that is not
complete yet is not there yet.
"""

from __future__ import annotations

import math
import sys
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TypeVar

import pandas as pd
import pyarrow as pa

from vigil.documents.verification import SHORT, WHOLE
from vigil.tracking.client import UPLOADED, UPLOADED_AT, Store, TrackedRun, check_reachable, failures_named
from vigil.tracking.looks import EXPERIMENTS
from vigil.tracking.run_entry import INVOCATION_ID, PARENT_RUN, RUN_ID, VERIFY_ID

RUNG = "verify"  # of a first rung, added to its invocation's id
MOST_NAMED = 4000  # MLflow's parser (sqlparse) takes 10,000 words, of which a name and its comma are two
Values = dict[str, "str | int | float | None"]


@dataclass(frozen=True, kw_only=True)
class CellColumns:
    """What was trained and where: the tags of an identity and a context (`run_entry.cell_tags`). context: its text form."""

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

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the cell: recipe, profile, context."""
        return self.recipe, self.profile, self.context


@dataclass(frozen=True, kw_only=True)
class HistoryRow(CellColumns):
    """The columns of both tables. What comes from MLflow is text that anybody may have edited: so is a verdict here.

    night: None outside of any. created: in UTC. release: of the framework. fault: "none", or the name of the planted one.
    reason: of the verdict, where it is known.
    """

    night: str | None
    created: datetime
    release: str | None
    verdict: str
    reason: str | None
    fault: str
    seconds: float | None


@dataclass(frozen=True, kw_only=True)
class SampleRow(HistoryRow):
    """A trained run. value: None unless it finished. band_low, band_high: of one run, as it was judged."""

    invocation_id: str
    run_id: str
    seed: int
    metric: str | None
    unit: str | None
    direction: str | None
    value: float | None
    band_low: float | None
    band_high: float | None
    state_sha256: str | None


@dataclass(frozen=True, kw_only=True)
class VerificationRow(HistoryRow):
    """A verification: of its own, or before the first seed of an invocation, which it then names.

    form: WHOLE, or SHORT: training steps on margin batches alone, which see less. worst_ratio: the distance of the worst tensor,
    in noise floors. worst_score: the worst share of what is accepted.
    """

    verify_id: str
    invocation_id: str | None
    form: str
    tensors: float | None
    tensors_out: float | None
    worst_ratio: float | None
    worst_score: float | None
    origin_layer: str | None
    origin_phase: str | None
    origin_quantity: str | None


_ARROW = {str: pa.string(), int: pa.int64(), float: pa.float64(), datetime: pa.timestamp("ms", tz="UTC")}
AnyRow = TypeVar("AnyRow", bound=HistoryRow)


def columns_of(row: type[CellColumns]) -> dict[str, pa.DataType]:
    """Return a table's columns, each with its type in Arrow."""
    hints = typing.get_type_hints(row)
    return {each.name: _ARROW[_plain_type(hints[each.name])] for each in fields(row)}


def _plain_type(hint: typing.Any) -> type:
    """Return the type of a column that may be empty."""
    return next(each for each in typing.get_args(hint) if each is not type(None)) if isinstance(hint, types.UnionType) else hint


SAMPLES, VERIFICATIONS = columns_of(SampleRow), columns_of(VerificationRow)
TABLES = {"samples": SAMPLES, "verifications": VERIFICATIONS}
_CELL = columns_of(CellColumns)


def rows_of(frame: pd.DataFrame, row: type[AnyRow]) -> list[AnyRow]:
    """Return the rows of a table, None for whatever is missing."""
    if frame.empty:
        return []
    names = [each.name for each in fields(row)]
    columns = [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in names]
    return [row(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]


@dataclass
class Page:
    """What some runs became: rows, and those left out, by MLflow run, each with the reason.

    identities: of every run seen, left out or not. latest: the largest time of an upload. experiments: in which there were any.
    """

    samples: list[Values] = field(default_factory=list)
    verifications: list[Values] = field(default_factory=list)
    skipped: dict[str, dict[str, str]] = field(default_factory=dict)
    identities: set[str] = field(default_factory=set)
    latest: str = ""
    experiments: set[str] = field(default_factory=set)


class BrokenValue(ValueError):
    """A value of a run is not of its column's type."""


def experiments_of(store: Store) -> dict[str, str]:
    """Return id -> what an experiment is known again by. One of another store has other times, whatever its name.

    Those of users' own files and of audits hold no rows, and thousands of runs.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused.
    """
    with failures_named(store.uri):
        return {
            experiment.experiment_id: f"{experiment.experiment_id} {experiment.name} {experiment.created}"
            for experiment in store.experiments()
            if experiment.name not in EXPERIMENTS
        }


def open_store(uri: str) -> Store:
    """Return a store that can be read. Raises TrackingUnavailable."""
    check_reachable(uri)
    with failures_named(uri):
        return Store(uri)


def read_pages(store: Store, days: Mapping[str, Sequence[str]] | None) -> Iterator[Page]:
    """Yield what was uploaded on these days, or ever, page by page: all of it at once may not fit in memory.

    Args:
        days: day (`2026-11-22`) or month -> the MLflow runs of then which are known, and need not be told again.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused.
    """
    complete = f"tags.`{UPLOADED}` LIKE '%'"
    queries = [complete] if days is None else [complete + _on_day(day) + _but(known) for day, known in days.items()]
    with failures_named(store.uri):
        experiments = experiments_of(store)
        for query in queries:
            for runs in store.runs(experiments, query=query):
                page = Page()
                for run in runs:
                    if identity := identity_of(run.tags):
                        _add(page, run, identity=identity)
                        page.experiments.add(experiments[run.experiment_id])
                yield page


def read_deleted(store: Store, days: Iterable[str]) -> set[str]:
    """Return the MLflow runs uploaded on these days that have been deleted since.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused.
    """
    gone: set[str] = set()
    with failures_named(store.uri):
        experiments = list(experiments_of(store))
        for day in days:
            for runs in store.runs(experiments, query=f"tags.`{UPLOADED}` LIKE '%'" + _on_day(day), deleted=True):
                gone.update(run.run_id for run in runs)
    return gone


def _on_day(day: str) -> str:
    return f" and tags.`{UPLOADED_AT}` LIKE '{day}%'"


def _but(known: Sequence[str]) -> str:
    """Return the condition that leaves out known runs. MLflow takes ten times as long to tell a run as to pass over it."""
    if not known:
        return ""
    return " and attributes.run_id NOT IN (" + ",".join(f"'{run_id}'" for run_id in known[:MOST_NAMED]) + ")"


def identity_of(tags: Mapping[str, str]) -> str | None:
    """Return what a run is known by over all of its uploads, or None for one that is not Vigil's."""
    if INVOCATION_ID in tags:
        return f"{tags[INVOCATION_ID]}/{tags.get(RUN_ID, '')}"
    return tags.get(VERIFY_ID)


def _add(page: Page, run: TrackedRun, *, identity: str) -> None:
    """Add what a run becomes, or say why it is left out."""
    page.identities.add(identity)
    uploaded_at = run.tags.get(UPLOADED_AT, "")
    try:
        if uploaded_at:
            _check_time(uploaded_at)
        known: Values = {"identity": identity, "mlflow_run_id": run.run_id, "uploaded_at": uploaded_at}
        if VERIFY_ID in run.tags:
            page.verifications.append(_verification(run) | known)
        elif run.tags.get(RUN_ID) != PARENT_RUN:
            page.samples.append(_sample(run) | known)
        elif RUNG in run.tags:
            page.verifications.append(_first_rung(run) | known)
        page.latest = max(page.latest, uploaded_at)
    except BrokenValue as error:
        page.skipped[run.run_id] = {"identity": identity, "uploaded_at": uploaded_at, "why": str(error)}


def _sample(run: TrackedRun) -> Values:
    """Return the row of one trained run."""
    tags, metrics = run.tags, run.metrics
    metric = tags.get("metric") or next((name[6:] for name in metrics if name.startswith("final_")), None)
    value = _number(metrics, f"final_{metric}") if run.status == "FINISHED" else math.nan
    if run.status == "FINISHED" and (f"final_{metric}" not in metrics or math.isinf(value)):
        raise BrokenValue(f"metric final_{metric}: found {metrics.get(f'final_{metric}')}, allowed is a number of a finished run")
    return _common(tags) | {
        "invocation_id": _text(tags, INVOCATION_ID),
        "run_id": _text(tags, RUN_ID),
        "created": _time(run.start),
        "seed": _whole(tags, "seed"),
        "metric": metric,
        "unit": tags.get("unit"),
        "direction": tags.get("direction"),
        "value": value,
        "verdict": _text(tags, "verdict"),
        "reason": tags.get("reason"),
        "band_low": _number(metrics, "band_low"),
        "band_high": _number(metrics, "band_high"),
        "state_sha256": tags.get("state_sha256"),
        "seconds": _number(metrics, "wall_seconds"),
    }


def _verification(run: TrackedRun) -> Values:
    """Return the row of a verification of its own. It carries the time at which it ended."""
    return _common(run.tags) | _measured(run, prefix="") | {
        "verify_id": _text(run.tags, VERIFY_ID),
        "invocation_id": None,
        # Uploads from before nights had short ones do not say.
        "form": run.tags.get("form") or WHOLE,
        "created": _time(run.end),
        "verdict": _text(run.tags, "verdict"),
        "reason": run.tags.get("reason"),
    }  # fmt: skip


def _first_rung(run: TrackedRun) -> Values:
    """Return the row of the verification before the first seed, which stands in the tags of its invocation."""
    invocation = _text(run.tags, INVOCATION_ID)
    return _common(run.tags) | _measured(run, prefix="verify_") | {
        "verify_id": f"{invocation}/{RUNG}",
        "invocation_id": invocation,
        "form": SHORT,
        "created": _time(run.start),
        "verdict": _text(run.tags, RUNG),
        "reason": run.tags.get("verify_reason"),
    }  # fmt: skip


def _measured(run: TrackedRun, *, prefix: str) -> Values:
    """Return what a verification measured, and where it found the origin."""
    numbers = ("tensors", "tensors_out", "worst_ratio", "worst_score", "seconds")
    origin: Values = {f"origin_{key}": run.tags.get(f"origin_{key}") for key in ("layer", "phase", "quantity")}
    return {name: _number(run.metrics, prefix + name) for name in numbers} | origin


def _common(tags: Mapping[str, str]) -> Values:
    """Return what every row has: recipe, context, release, night and fault."""
    values: Values = {name: _whole(tags, name) if kind == _ARROW[int] else _text(tags, name) for name, kind in _CELL.items()}
    return values | {
        # Uploads from before there were nights have the one under another name, and the other not at all.
        "release": tags.get("release") or tags.get("framework_version"),
        "night": tags.get("night") or None,
        "fault": _text(tags, "fault"),
    }


def _text(tags: Mapping[str, str], key: str) -> str:
    if not tags.get(key):
        raise BrokenValue(f"tag {key}: missing or empty")
    return tags[key]


def _whole(tags: Mapping[str, str], key: str) -> int:
    text = _text(tags, key)
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise BrokenValue(f"tag {key}: found {text[:80]!r}, allowed is a whole number")
    return int(text)


def _number(metrics: Mapping[str, float], key: str) -> float:
    """Return a metric, NaN where there is none. MLflow stores infinity as the largest number there is."""
    value = metrics.get(key, math.nan)
    if not isinstance(value, (int, float)):
        raise BrokenValue(f"metric {key}: found {value!r:.80}, allowed is a number")
    return math.copysign(math.inf, value) if abs(value) >= sys.float_info.max else float(value)


def _time(milliseconds: int | None) -> int:
    if not isinstance(milliseconds, int) or not 0 < milliseconds < 253_402_300_800_000:  # the year 10000
        raise BrokenValue(f"time: found {milliseconds!r:.80}, allowed are milliseconds since 1970")
    return milliseconds


def _check_time(text: str) -> None:
    try:
        is_aware = datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        is_aware = False
    if not is_aware:
        raise BrokenValue(f"tag {UPLOADED_AT}: found {text[:80]!r}, allowed is a time in UTC")
