"""History on this machine: two columnar tables and a note of how far they reach, replaced as a whole.

A table is written under a new name; the note, which names both and their hashes, is replaced last. So whoever reads sees the
old state or the new one, and a file that was torn or altered is seen for what it is. The tables before the last are kept for
whoever is still reading them.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import sys
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vigil.errors import CannotRun, DirectoryError
from vigil.paths import cache_directory
from vigil.redaction import redact

SCHEMA = 1
NOTE = "state.json"

_TEXT, _WHOLE, _NUMBER, _TIME = pa.string(), pa.int64(), pa.float64(), pa.timestamp("ms", tz="UTC")
_CELL = {
    "recipe": _TEXT, "recipe_version": _WHOLE, "recipe_hash": _TEXT, "profile": _TEXT, "context": _TEXT, "framework": _TEXT,
    "mode": _TEXT, "precision": _TEXT, "device": _TEXT, "devices": _WHOLE, "determinism": _TEXT, "randomness": _TEXT,
    "release": _TEXT,
}  # fmt: skip
SAMPLES = {
    "invocation_id": _TEXT, "run_id": _TEXT, "night": _TEXT, "created": _TIME, **_CELL, "seed": _WHOLE, "metric": _TEXT,
    "unit": _TEXT, "direction": _TEXT, "value": _NUMBER, "verdict": _TEXT, "reason": _TEXT, "band_low": _NUMBER,
    "band_high": _NUMBER, "fault": _TEXT, "state_sha256": _TEXT, "seconds": _NUMBER,
}  # fmt: skip
VERIFICATIONS = {
    "verify_id": _TEXT, "invocation_id": _TEXT, "night": _TEXT, "created": _TIME, **_CELL, "verdict": _TEXT, "reason": _TEXT,
    "tensors": _NUMBER, "tensors_out": _NUMBER, "worst_ratio": _NUMBER, "worst_score": _NUMBER, "origin_layer": _TEXT,
    "origin_phase": _TEXT, "origin_quantity": _TEXT, "fault": _TEXT, "seconds": _NUMBER,
}  # fmt: skip
# What only the cache needs: by what a run is known over its uploads, which MLflow run it is, and when it was uploaded.
OWN = {"identity": _TEXT, "mlflow_run_id": _TEXT, "uploaded_at": _TEXT}
TABLES = {"samples": SAMPLES, "verifications": VERIFICATIONS}


@dataclass(frozen=True)
class State:
    """How far a cache reaches.

    as_of: when it was last brought up to date (ISO 8601, UTC). watermark: the day up to which uploads have been read, or None
    where no upload says its day. skipped: what was left out, by MLflow run. experiments: those that rows came from.
    """

    as_of: str
    watermark: str | None
    skipped: dict[str, dict[str, str]] = field(default_factory=dict)
    experiments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cached:
    """The tables by name, and their state."""

    state: State
    tables: dict[str, pa.Table]


def table_of(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows as one of the tables, every value checked against its column's type."""
    return pa.Table.from_pylist(rows, schema=schema_of(name))


def schema_of(name: str) -> pa.Schema:
    """Return the columns of a table as they lie in the cache."""
    return pa.schema(TABLES[name] | OWN)


class Cache:
    """The cache of one tracking address."""

    def __init__(self, uri: str) -> None:
        self.uri = redact(_absolute(uri))
        self.directory = cache_directory() / "history" / hashlib.sha256(self.uri.encode()).hexdigest()[:16]

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep others from bringing the cache up to date at one time. Reading needs no leave.

        Raises:
            DirectoryError: there can be no cache at this place.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            lock = open(self.directory / "lock", "w", encoding="utf-8")  # noqa: SIM115 closed below
        except OSError as error:
            raise DirectoryError(
                f"{self.directory}: cannot be written ({error.strerror}). Name another place for it in VIGIL_CACHE_DIR."
            ) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def read(self) -> Cached | None:
        """Return what is cached; None where nothing is, or nothing that can be used, which is then said on standard error."""
        try:
            return self._read()
        except FileNotFoundError:
            if not (self.directory / NOTE).exists():
                return None
            problem = "a table is missing"
        except (ValueError, KeyError, TypeError, AttributeError, OSError, pa.ArrowException) as error:
            problem = str(error) or type(error).__name__
        print(f"vigil: the cached history in {self.directory} cannot be used ({problem:.200}); it is made anew.", file=sys.stderr)
        return None

    def _read(self) -> Cached:
        note = json.loads((self.directory / NOTE).read_text(encoding="utf-8"))
        if note["schema"] != SCHEMA:
            raise ValueError(f"it has schema {note['schema']}, and this is {SCHEMA}")
        tables = {}
        for name in TABLES:
            content = (self.directory / note["files"][name]["name"]).read_bytes()
            if hashlib.sha256(content).hexdigest() != note["files"][name]["sha256"]:
                raise ValueError(f"{note['files'][name]['name']} is not what was written")
            tables[name] = pq.read_table(pa.BufferReader(content)).cast(schema_of(name))
        state = State(**note["state"] | {"experiments": tuple(note["state"]["experiments"])})
        return Cached(state, tables)

    def write(self, cached: Cached) -> None:
        """Replace what is cached. Call it inside `alone`.

        Raises:
            CannotRun: it cannot be written. What was cached stays.
        """
        try:
            self._write(cached)
        except OSError as error:
            raise CannotRun(
                f"{self.directory}: the history cannot be written ({error.strerror}). Make room there, or name another place "
                "in VIGIL_CACHE_DIR."
            ) from error

    def _write(self, cached: Cached) -> None:
        generation = uuid.uuid4().hex[:12]
        files = {}
        for name, table in cached.tables.items():
            path = self.directory / f"{name}-{generation}.parquet"
            pq.write_table(table, path)
            files[name] = {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        before = self._named()
        note = {"schema": SCHEMA, "uri": self.uri, "state": asdict(cached.state), "files": files}
        partial = self.directory / f"{NOTE}.partial"
        partial.write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
        os.replace(partial, self.directory / NOTE)
        kept = before | {each["name"] for each in files.values()}
        for path in self.directory.glob("*.parquet"):
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def _named(self) -> set[str]:
        """Return the files that the note names so far."""
        try:
            note = json.loads((self.directory / NOTE).read_text(encoding="utf-8"))
            return {each["name"] for each in note["files"].values()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return set()


def _absolute(uri: str) -> str:
    """Return the address as it is from everywhere: a SQLite file may be named from the working directory."""
    prefix = "sqlite:///"
    return prefix + str(Path(uri.removeprefix(prefix)).resolve()) if uri.startswith(prefix) else uri
