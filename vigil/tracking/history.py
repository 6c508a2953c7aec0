"""Everything that was measured, over all nights, as two tables: brought up to date from MLflow, cached on this machine.

MLflow takes minutes to tell a hundred thousand runs, so it is asked only for what was uploaded since. That goes by the day of
the upload, not by that of the run: what `vigil sync` brings late is seen. A week before the last upload is looked through again
each time, so a machine whose clock is behind by days is heard, and what was deleted meanwhile goes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from rich.progress import BarColumn, Progress, TextColumn

from vigil.errors import CannotRun
from vigil.redaction import redact
from vigil.terminal import console
from vigil.tracking.client import Store, TrackingUnavailable, tracking_uri
from vigil.tracking.history_cache import CachedTables, CacheState, HistoryCache, table_of
from vigil.tracking.history_rows import TABLES, Page, experiments_of, open_store, read_deleted, read_pages

MARGIN_DAYS = 7  # by which clocks may be wrong
PLAIN_SECONDS = 10.0


@dataclass(frozen=True)
class History:
    """All runs and verifications that are known.

    samples: one row a trained run, with the columns of `SampleRow`; `value` is NaN unless it finished.
    verifications: one row a verification, with the columns of `VerificationRow`.
    as_of: when MLflow was last asked with success.
    skipped: how many runs are left out because a value in MLflow is not what it should be.
    remarks: what a reader must know: an age, what was left out. Show them.
    mlflow_runs: of an id (`invocation_id/run_id`, or `verify_id`) the run in MLflow.
    """

    samples: pd.DataFrame
    verifications: pd.DataFrame
    as_of: datetime | None = None
    skipped: int = 0
    remarks: tuple[str, ...] = ()
    mlflow_runs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadTables(CachedTables):
    """What one reading gave.

    identities: of every run seen, also of those that gave no row. deleted: MLflow runs that are gone.
    """

    identities: set[str]
    deleted: set[str]


def load_history(uri: str | None = None, *, refresh: bool = True, rebuild: bool = False) -> History:
    """Return the history that MLflow holds at `uri` (default: $MLFLOW_TRACKING_URI, or the store in the checkout).

    A tracker that does not answer leaves what is cached, with a remark of its age, also on standard error.

    Args:
        refresh: ask MLflow for what is new. If not, what is cached is returned as it is.
        rebuild: read everything anew. Runs that were deleted more than a week after their upload go only so.

    Raises:
        TrackingUnavailable: MLflow cannot be read, and nothing is cached.
        CannotRun: nothing is cached, and `refresh` is false; or the cache cannot be written.
    """
    uri = uri or tracking_uri()
    cache = HistoryCache(uri)
    if not refresh and not rebuild:
        cached = cache.read()
        if cached is None:
            raise CannotRun(f"no history of {redact(uri)} is cached in {cache.directory}: read it from MLflow once.")
        return _history(cached, [f"as of {cached.state.as_of}, {_age(cached.state)}; MLflow was not asked for later runs"])
    with cache.alone():
        cached = cache.read()
        try:
            newer = _up_to_date(uri, None if rebuild else cached)
        except TrackingUnavailable as error:
            if cached is None or rebuild:
                raise
            remark = f"as of {cached.state.as_of}, {_age(cached.state)}; later runs are missing: {error}"
            print(f"vigil: the history is {remark}", file=sys.stderr)
            return _history(cached, [remark])
        cache.write(newer)
        return _history(newer, [])


def _up_to_date(uri: str, cached: CachedTables | None) -> CachedTables:
    """Return what is cached with what MLflow holds beyond it."""
    now = _now()
    store = open_store(uri)
    days = _days_to_read(store, cached, today=now.date()) if cached else None
    with _told() as on_page:
        deleted = read_deleted(store, days) if days else set()
        read = _collected(read_pages(store, days), deleted=deleted, now=now, on_page=on_page)
    return read if days is None or cached is None else _merged(cached, read, days=days)


def _days_to_read(store: Store, cached: CachedTables, *, today: date) -> dict[str, list[str]] | None:
    """Return the days whose uploads are to be read, each with the MLflow runs known of it; None for everything."""
    if cached.state.watermark is None or not set(cached.state.experiments) <= set(experiments_of(store).values()):
        return None  # nothing says its day; or an experiment is gone, and its runs with it
    last_read, margin = date.fromisoformat(cached.state.watermark), timedelta(days=MARGIN_DAYS)
    known: dict[str, list[str]] = {day: [] for day in _days(last_read - margin, max(today, last_read) + margin)}
    for table in cached.tables.values():
        for day, run_id in zip(_day(table).to_pylist(), table["mlflow_run_id"].to_pylist(), strict=True):
            if covering := _covering(day, known):
                known[covering].append(run_id)
    return known


def _days(first: date, last: date) -> Iterator[str]:
    """Yield every day from first to last; a month that lies between as a whole is one: there was a long pause."""
    day = first
    while day <= last:
        next_month = (day.replace(day=1) + timedelta(days=31)).replace(day=1)
        is_whole = day.day == 1 and next_month <= last
        yield day.isoformat()[: 7 if is_whole else 10]
        day = next_month if is_whole else day + timedelta(days=1)


def _covering(day: str, days: Container[str]) -> str | None:
    """Return the day or the month by which a day is read, or None."""
    return next((period for period in (day[:10], day[:7]) if period in days), None)


def _day(table: pa.Table) -> pa.ChunkedArray:
    return pc.utf8_slice_codeunits(table["uploaded_at"], 0, 10)


def _collected(pages: Iterable[Page], *, deleted: set[str], now: datetime, on_page: Callable[[int], None]) -> ReadTables:
    """Return the pages as tables, each run once."""
    parts: dict[str, list[pa.Table]] = {name: [table_of(name, [])] for name in TABLES}
    skipped: dict[str, dict[str, str]] = {}
    identities: set[str] = set()
    experiments: set[str] = set()
    latest = ""
    for page in pages:
        for name in TABLES:
            parts[name].append(table_of(name, getattr(page, name)))
        skipped |= page.skipped
        identities |= page.identities
        experiments |= page.experiments
        latest = max(latest, page.latest)
        on_page(len(identities))
    # A clock that is ahead must not hide what others upload until then.
    watermark = min(latest[:10], now.date().isoformat()) if latest else None
    state = CacheState(now.isoformat(timespec="seconds"), watermark, skipped, tuple(sorted(experiments)))
    return ReadTables(state, {name: _newest(pa.concat_tables(tables)) for name, tables in parts.items()}, identities, deleted)


def _newest(table: pa.Table) -> pa.Table:
    """Return one row for each identity, by time: the one uploaded last, and of equals the same one every time.

    Two machines may have uploaded one run at one time.
    """
    table = table.sort_by([("uploaded_at", "ascending"), ("mlflow_run_id", "ascending")])
    last = {identity: index for index, identity in enumerate(table["identity"].to_pylist())}
    table = table.take(pa.array(sorted(last.values()), pa.int64()))
    return table.sort_by([("created", "ascending"), ("identity", "ascending")])


def _merged(cached: CachedTables, read: ReadTables, *, days: Iterable[str]) -> CachedTables:
    """Return the cached rows, less what is gone, with what was read."""
    before, after, days = cached.state, read.state, set(days)
    tables = {}
    for name, table in cached.tables.items():
        without_row = read.identities - set(read.tables[name]["identity"].to_pylist())
        is_gone = pc.is_in(table["mlflow_run_id"], pa.array(sorted(read.deleted), pa.string()))
        is_replaced = pc.is_in(table["identity"], pa.array(sorted(without_row), pa.string()))
        kept = table.filter(pc.invert(pc.or_(is_gone, is_replaced)))
        tables[name] = _newest(pa.concat_tables([kept, read.tables[name]]))
    skipped = {
        run_id: facts
        for run_id, facts in before.skipped.items()
        if not _covering(facts["uploaded_at"], days) and facts["identity"] not in read.identities
    }
    state = CacheState(
        as_of=after.as_of,
        watermark=max(after.watermark or "", before.watermark or ""),
        skipped=skipped | after.skipped,
        experiments=tuple(sorted({*before.experiments, *after.experiments})),
    )
    return CachedTables(state, tables)


def _history(cached: CachedTables, remarks: list[str]) -> History:
    """Return what is cached as it is used: without the columns that only the cache needs."""
    frames = {name: table.select(list(TABLES[name])).to_pandas() for name, table in cached.tables.items()}
    if skipped := cached.state.skipped:
        run_id, first = next(iter(sorted(skipped.items())))
        shown = f"MLflow run {run_id}: {first['why']}"
        remarks = [*remarks, f"{len(skipped)} runs are left out because a value is broken ({shown})"]
    runs = {
        identity: run_id
        for table in cached.tables.values()
        for identity, run_id in zip(table["identity"].to_pylist(), table["mlflow_run_id"].to_pylist(), strict=True)
    }
    as_of = datetime.fromisoformat(cached.state.as_of)
    return History(**frames, as_of=as_of, skipped=len(skipped), remarks=tuple(remarks), mlflow_runs=runs)


def _age(state: CacheState) -> str:
    """Return how old a state is, in the largest unit that gives two or more."""
    seconds = (_now() - datetime.fromisoformat(state.as_of)).total_seconds()
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit} old"
    return "just now"


def _now() -> datetime:
    return datetime.now(timezone.utc)


@contextmanager
def _told() -> Iterator[Callable[[int], None]]:
    """Say how many runs have been read: live on a terminal, in a log now and then. A reading that is quick says nothing."""
    drawn = console(stderr=True)
    bar = Progress(
        TextColumn("reading history"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f} runs"),
        console=drawn,
        disable=not drawn.is_terminal,
        transient=True,
    )
    task, said = bar.add_task("", total=None), [time.monotonic()]

    def on_page(count: int) -> None:
        bar.update(task, completed=count)
        if not drawn.is_terminal and time.monotonic() - said[0] > PLAIN_SECONDS:
            said[0] = time.monotonic()
            drawn.print(f"reading history: {count:,} runs")

    with bar:
        yield on_page
