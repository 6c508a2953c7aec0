"""Where MLflow is: its address, whether anything answers there, and how a failure is told without its password."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from vigil.errors import CannotRun
from vigil.paths import project_root
from vigil.redaction import redact

CONNECT_SECONDS = 3
ANSWER_SECONDS = 10
DATABASE_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}


class TrackingUnavailable(CannotRun):
    """MLflow could not be reached, or refused what it was sent. The run directory still holds everything."""


def tracking_uri() -> str:
    """Return $MLFLOW_TRACKING_URI, or the SQLite store in the checkout."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{project_root() / 'mlflow.db'}"


def artifact_directory(uri: str) -> Path | None:
    """Return where artifacts go for a store in a database, or None when the tracking server decides."""
    if uri.startswith("sqlite:"):
        return sqlite_file(uri).resolve().parent / "mlartifacts"
    is_database = urlsplit(uri).scheme.split("+")[0] in DATABASE_PORTS
    return project_root() / "mlartifacts" if is_database else None


def check_reachable(uri: str) -> None:
    """Raise TrackingUnavailable within seconds when nothing answers at `uri`, without importing MLflow."""
    with failures_named(uri):
        parts = urlsplit(uri)
        dialect = parts.scheme.split("+")[0]
        if uri.startswith("sqlite:"):
            _check_sqlite(sqlite_file(uri))
        elif dialect in ("http", "https"):
            _check_http(uri)
        elif dialect in DATABASE_PORTS and parts.hostname:
            address = (parts.hostname, parts.port or DATABASE_PORTS[dialect])
            socket.create_connection(address, timeout=CONNECT_SECONDS).close()


def experiment_page(server: str, name: str) -> str | None:
    """Return the page of an experiment on a tracking server; None where there is none, or the server does not say."""
    import requests

    server = server.rstrip("/")
    try:
        address = server + "/api/2.0/mlflow/experiments/get-by-name"
        answer = requests.get(address, params={"experiment_name": name}, timeout=(CONNECT_SECONDS, ANSWER_SECONDS))
        found = answer.json()["experiment"]["experiment_id"] if answer.ok else None
    except (requests.exceptions.RequestException, ValueError, KeyError, TypeError):
        return None
    # Without the last part MLflow 3 opens an experiment among pages about language models, which are empty here.
    return f"{redact(server)}/#/experiments/{found}/runs?workflowType=machine_learning" if found else None


def sqlite_file(uri: str) -> Path:
    """Return the file of a `sqlite:///` URI."""
    return Path(uri.removeprefix("sqlite:///").split("?")[0])


@contextlib.contextmanager
def failures_named(uri: str) -> Iterator[None]:
    """Turn any failure inside into TrackingUnavailable: a store, an HTTP client or a plugin each raises its own."""
    try:
        yield
    except CannotRun:
        raise
    except Exception as error:
        reason = (redact(f"{type(error).__name__}: {error}").strip().splitlines() or [""])[0][:300]
        # `from None`: the original error may spell out the password that the URI holds.
        raise TrackingUnavailable(
            f"MLflow at {redact(uri)} cannot be used ({reason}). Nothing is lost: run `vigil sync` once it can, "
            "or set MLFLOW_TRACKING_URI to another store."
        ) from None


@contextlib.contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Hold a lock on a directory, so that two processes do not each make what both find missing."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _check_sqlite(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path, timeout=ANSWER_SECONDS)) as connection:
        connection.execute("BEGIN IMMEDIATE")  # MLflow retries an unwritable store for minutes
        connection.rollback()


def _check_http(uri: str) -> None:
    import requests

    # Any answer will do: what MLflow then says of TLS or of rights is more exact than what could be said here.
    with contextlib.suppress(requests.exceptions.SSLError):
        requests.get(uri.rstrip("/") + "/health", timeout=(CONNECT_SECONDS, ANSWER_SECONDS))
