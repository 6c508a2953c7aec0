"""How long it takes to have the history at hand: from the cache, and from MLflow when a night has been added.

The cache holds 100 nights x 500 cells, made by `synthetic_history`. The store is a SQLite file of MLflow, filled by SQL with
fewer nights. Prints Markdown. Run from the project root: python benchmarks/history_scale.py [NIGHTS_IN_MLFLOW]
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pandas as pd
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, uninstalled

from benchmarks.synthetic_history import synthetic_history
from vigil.process.environment import describe_machine
from vigil.tracking.client import Store
from vigil.tracking.history import History, load_history
from vigil.tracking.history_cache import CachedTables, CacheState, HistoryCache, schema_of
from vigil.tracking.history_rows import TABLES
from vigil.tracking.run_entry import EXPERIMENT_NOTE
from vigil.tracking.views import RUNS_VIEW

NIGHTS, CELLS = 100, 500
NIGHTS_IN_MLFLOW = 20
REPEATS = 3
TAGS = ("night", "release", "recipe_version", "recipe_hash", "profile", "context", "framework", "mode", "precision", "device",
        "devices", "determinism", "randomness", "fault")  # fmt: skip
SAMPLE_TAGS = ("seed", "metric", "unit", "direction", "verdict", "reason", "state_sha256")


def write_cache(uri: str, history: History) -> Path:
    """Make a history the one that is cached for `uri`; return where."""
    cache = HistoryCache(uri)
    tables = {}
    for name in TABLES:
        frame = getattr(history, name)
        identity = frame["run_id"] if name == "samples" else frame["verify_id"]
        own = {"identity": identity, "mlflow_run_id": identity, "uploaded_at": frame["created"].astype(str)}
        # A naive time becomes one in UTC by the schema; of one with a zone pandas 3.1 warns on this way.
        plain = frame.assign(created=frame["created"].dt.tz_localize(None), **own)
        tables[name] = pa.Table.from_pandas(plain, schema=schema_of(name), preserve_index=False)
    with cache.alone():
        cache.write(CachedTables(CacheState(datetime.now(timezone.utc).isoformat(timespec="seconds"), "2026-01-01"), tables))
    return cache.directory


def fill_store(path: Path, history: History, *, uploaded: datetime) -> int:
    """Insert invocations of one run each into MLflow's tables, night k uploaded k days after `uploaded`; return how many runs."""
    store = Store(f"sqlite:///{path}")
    recipes = sorted(set(history.samples["recipe"]))
    experiments = {name: store.experiment_id(name, note=EXPERIMENT_NOTE, view=RUNS_VIEW) for name in recipes}
    verifications = history.verifications.set_index("invocation_id")
    nights = {night: index for index, night in enumerate(sorted(set(history.samples["night"])))}
    runs, tags, metrics = [], [], []
    for row in history.samples.to_dict("records"):
        at = (uploaded + timedelta(days=nights[row["night"]])).isoformat(timespec="seconds")
        start, experiment = int(row["created"].timestamp() * 1000), experiments[row["recipe"]]
        shared = {name: row[name] for name in TAGS} | {"recipe": row["recipe"], "vigil.invocation_id": row["invocation_id"]}
        shared |= {"vigil.uploaded": "0" * 64, "vigil.uploaded_at": at}
        rung = verifications.loc[row["invocation_id"]]
        parent = shared | {"vigil.run_id": "none", "verify": rung["verdict"], "verify_reason": rung["reason"]}
        child = shared | {"vigil.run_id": row["run_id"]} | {name: row[name] for name in SAMPLE_TAGS}
        numbers = {f"verify_{name}": rung[name] for name in ("worst_ratio", "worst_score", "tensors", "tensors_out", "seconds")}
        child_numbers = {"final_test_accuracy": row["value"], "wall_seconds": row["seconds"]}
        child_numbers |= {name: row[name] for name in ("band_low", "band_high")}
        for kind, labels, found in (("parent", parent, numbers), ("child", child, child_numbers)):
            key = f"{row['invocation_id']}-{kind}"
            runs.append(
                (key, key, "FINISHED", start, start + 60_000, "active", experiment, "UNKNOWN", "", "", "", "", "file:///none")
            )
            tags += [(name, str(value), key) for name, value in labels.items()]
            metrics += [(name, float(value), start, 0, 0, key) for name, value in found.items()]
    with closing(sqlite3.connect(path)) as connection, connection:
        columns = "run_uuid, name, status, start_time, end_time, lifecycle_stage, experiment_id, "
        columns += "source_type, source_name, source_version, entry_point_name, user_id, artifact_uri"
        connection.executemany(f"insert into runs ({columns}) values ({', '.join('?' * 13)})", runs)
        for table in ("tags", "params"):  # an upload writes its labels as both
            connection.executemany(f"insert into {table} (key, value, run_uuid) values (?, ?, ?)", tags)
        columns = "key, value, timestamp, step, is_nan, run_uuid"
        connection.executemany(f"insert into latest_metrics ({columns}) values (?, ?, ?, ?, ?, ?)", metrics)
    return len(runs)


def of_nights(history: History, first: int, last: int) -> History:
    """Return the part of a history from one night to before another."""
    nights = sorted(set(history.samples["night"]))[first:last]
    return History(*(frame[frame["night"].isin(nights)] for frame in (history.samples, history.verifications)))


def timed(work: Callable[[], History]) -> tuple[str, History]:
    """Return seconds, by the clock and of one core, and the result. The first kind grows with whatever else is under way."""
    begun, used = time.monotonic(), time.process_time()
    result = work()
    return f"{time.monotonic() - begun:.1f} s | {time.process_time() - used:.1f} s", result


def of_cache(folder: Path) -> Iterator[list[str]]:
    """Yield rows of the table: reading what is cached."""
    history = synthetic_history(NIGHTS, CELLS, seed=0)
    uri = f"sqlite:///{folder / 'none.db'}"
    directory = write_cache(uri, history)
    size = sum(path.stat().st_size for path in directory.glob("*.parquet")) / 2**20
    for _ in range(REPEATS):
        seconds, found = timed(lambda: load_history(uri, refresh=False))
        assert len(found.samples) == NIGHTS * CELLS
        assert found.samples["value"].equals(history.samples["value"])
        yield [f"read the cache, {NIGHTS} nights x {CELLS} cells ({size:.1f} MiB)", f"{len(found.samples):,}", seconds]


def of_mlflow(folder: Path, nights: int) -> Iterator[list[str]]:
    """Yield rows of the table: a first reading from MLflow, one when nothing is new, one when a night has been added."""
    history = synthetic_history(nights + 1, CELLS, seed=0)
    path = folder / "mlflow.db"
    uri, begin = f"sqlite:///{path}", datetime.now(timezone.utc) - timedelta(days=nights)
    count = fill_store(path, of_nights(history, 0, nights), uploaded=begin)
    seconds, found = timed(lambda: load_history(uri))
    assert len(found.samples) == nights * CELLS
    yield [f"first reading from MLflow, {nights} nights x {CELLS} cells", f"{count:,}", seconds]
    seconds, again = timed(lambda: load_history(uri))
    pd.testing.assert_frame_equal(again.samples, found.samples)
    yield ["refresh, nothing new", "0", seconds]
    count = fill_store(path, of_nights(history, nights, nights + 1), uploaded=begin + timedelta(days=nights))
    seconds, found = timed(lambda: load_history(uri))
    assert len(found.samples) == (nights + 1) * CELLS
    yield ["refresh, a night has been added", f"{count:,}", seconds]


def main(nights: int) -> None:
    machine = describe_machine()
    versions = f"Python {machine['python']}, " + ", ".join(f"{module.__name__} {module.__version__}" for module in (pd, pa))
    print(f"{datetime.now(timezone.utc):%Y-%m-%d}; {machine['hardware']}; {versions}; SQLite {sqlite3.sqlite_version}\n")
    print("| what | runs read | time | of one core |\n|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        os.environ["VIGIL_CACHE_DIR"] = name
        for rows in (of_cache(Path(name)), of_mlflow(Path(name), nights)):
            for row in rows:
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else NIGHTS_IN_MLFLOW)
