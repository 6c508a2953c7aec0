"""History on this machine: two columnar tables and a note of how far they reach, replaced as a whole.

A table is written under a new name; the note, which names both and their hashes, is replaced last. So whoever reads sees the
old state or the new one, and a file that was torn or altered is seen for what it is. The tables before the last are kept for
whoever is still reading them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from runners.contract.files import replace_text
from vigil.errors import CannotRun, DirectoryError
from vigil.locks import locked
from vigil.paths import cache_directory
from vigil.redaction import redact
from vigil.tracking.history_rows import TABLES, Values

SCHEMA = 2
NOTE = "state.json"

# What only the cache needs: by what a run is known over its uploads, which MLflow run it is, and when it was uploaded.
OWN = {"identity": pa.string(), "mlflow_run_id": pa.string(), "uploaded_at": pa.string()}


@dataclass(frozen=True)
class CacheState:
    """How far a cache reaches.

    as_of: when it was last brought up to date (ISO 8601, UTC). watermark: the day up to which uploads have been read, or None
    where no upload says its day. skipped: what was left out, by MLflow run. experiments: those that rows came from.
    """

    as_of: str
    watermark: str | None
    skipped: dict[str, dict[str, str]] = field(default_factory=dict)
    experiments: tuple[str, ...] = ()


@dataclass(frozen=True)
class CachedTables:
    """The tables by name, and their state."""

    state: CacheState
    tables: dict[str, pa.Table]


def table_of(name: str, rows: list[Values]) -> pa.Table:
    """Return rows as one of the tables, every value checked against its column's type."""
    return pa.Table.from_pylist(rows, schema=schema_of(name))


def schema_of(name: str) -> pa.Schema:
    """Return the columns of a table as they lie in the cache."""
    return pa.schema(TABLES[name] | OWN)


class HistoryCache:
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
        with contextlib.ExitStack() as stack:
            try:
                self.directory.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locked(self.directory / "lock"))
            except OSError as error:
                raise DirectoryError(
                    f"{self.directory}: cannot be written ({error.strerror}). Name another place for it in VIGIL_CACHE_DIR."
                ) from error
            yield

    def read(self) -> CachedTables | None:
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

    def _read(self) -> CachedTables:
        note = json.loads((self.directory / NOTE).read_text(encoding="utf-8"))
        if note["schema"] != SCHEMA:
            raise ValueError(f"it has schema {note['schema']}, and this is {SCHEMA}")
        tables = {}
        for name in TABLES:
            content = (self.directory / note["files"][name]["name"]).read_bytes()
            if hashlib.sha256(content).hexdigest() != note["files"][name]["sha256"]:
                raise ValueError(f"{note['files'][name]['name']} is not what was written")
            tables[name] = pq.read_table(pa.BufferReader(content)).select(schema_of(name).names).cast(schema_of(name))
        state = CacheState(**note["state"] | {"experiments": tuple(note["state"]["experiments"])})
        return CachedTables(state, tables)

    def write(self, cached: CachedTables) -> None:
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

    def _write(self, cached: CachedTables) -> None:
        generation = uuid.uuid4().hex[:12]
        files = {}
        for name, table in cached.tables.items():
            path = self.directory / f"{name}-{generation}.parquet"
            pq.write_table(table, path)
            files[name] = {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        before = self._named()
        note = {"schema": SCHEMA, "uri": self.uri, "state": asdict(cached.state), "files": files}
        replace_text(self.directory / NOTE, json.dumps(note, indent=1) + "\n")
        kept = before | {file["name"] for file in files.values()}
        for path in self.directory.glob("*.parquet"):
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def _named(self) -> set[str]:
        """Return the files that the note names so far."""
        try:
            note = json.loads((self.directory / NOTE).read_text(encoding="utf-8"))
            return {file["name"] for file in note["files"].values()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return set()


def _absolute(uri: str) -> str:
    """Return the address as it is from everywhere: a SQLite file may be named from the working directory."""
    prefix = "sqlite:///"
    return prefix + str(Path(uri.removeprefix(prefix)).resolve()) if uri.startswith(prefix) else uri
