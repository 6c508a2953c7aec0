"""MLflow, the only module that imports it, and only inside functions: the import alone takes seconds.

Nothing is logged while a run trains. A finished invocation directory holds all there is, so it is uploaded afterwards,
or later when the tracker was down. What an upload has completed carries `vigil.uploaded`, a hash of all that was sent;
whatever lacks it, or carries another hash, is deleted and made anew: nothing is lost and nothing counted twice.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import logging
import os
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vigil.errors import CannotRun
from vigil.paths import project_root
from vigil.tracking_entry import EXPERIMENT_NOTE, Attachment, Entry, child_entry, parent_entry, redact, verify_entry

UPLOADED = "vigil.uploaded"
NOTE = "mlflow.note.content"
PARENT = "mlflow.parentRunId"
INVOCATION, VERIFICATION = "invocation.json", "verify.json"
PICTURE = "verify.png"
RUN_PICTURES = ("views.png", "masks.png")

METRICS_PER_BATCH = 1000  # the limit of MLflow's log_batch
LONGEST_TAG = 5000  # MLflow's limit for tags is 8000, and was 5000
LONGEST_PARAMETER = 500  # MLflow's limit for parameters is 6000, and was 500
CONNECT_SECONDS = 3
ANSWER_SECONDS = 10
DATABASE_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}

# A tracker that fails must fail soon, and a verdict must not be buried under MLflow's own messages. A user's choice
# for one of these stays.
MLFLOW_DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": str(ANSWER_SECONDS),
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


class TrackingUnavailable(CannotRun):
    """MLflow could not be reached, or refused what it was sent. The run directory still holds everything."""


def tracking_uri() -> str:
    """Return $MLFLOW_TRACKING_URI, or the SQLite store in the checkout."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{project_root() / 'mlflow.db'}"


def artifact_directory(uri: str) -> Path | None:
    """Return where artifacts go for a store in a database, or None when the tracking server decides."""
    if uri.startswith("sqlite:"):
        return _sqlite_file(uri).resolve().parent / "mlartifacts"
    is_database = urlsplit(uri).scheme.split("+")[0] in DATABASE_PORTS
    return project_root() / "mlartifacts" if is_database else None


def check_reachable(uri: str) -> None:
    """Raise TrackingUnavailable within seconds when nothing answers at `uri`, without importing MLflow."""
    with _failures_named(uri):
        parts = urlsplit(uri)
        dialect = parts.scheme.split("+")[0]
        if uri.startswith("sqlite:"):
            _check_sqlite(_sqlite_file(uri))
        elif dialect in ("http", "https"):
            _check_http(uri)
        elif dialect in DATABASE_PORTS and parts.hostname:
            address = (parts.hostname, parts.port or DATABASE_PORTS[dialect])
            socket.create_connection(address, timeout=CONNECT_SECONDS).close()


def upload(directory: Path, *, uri: str | None = None) -> dict[str, str]:
    """Bring MLflow to hold this finished invocation or verification exactly once, and return {uri, experiment, run_id}.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused. Calling again later completes the upload.
        CannotRun: the directory lacks a record, holds a damaged one, or has no verdict yet.
    """
    uri = uri or tracking_uri()
    document = read_document(directory)
    if not document.get("verdict"):
        raise CannotRun(f"{directory}: no verdict yet. Only finished invocations are uploaded.")
    parent, children = _entries(directory, document)
    experiment = document["recipe"]["name"]
    check_reachable(uri)
    with _alone_in(directory), _failures_named(uri):
        client, experiment_id = _open(uri, experiment=experiment)
        parent_id, is_complete = _place(client, experiment_id, parent)
        for child in children:
            child_id, child_is_complete = _place(client, experiment_id, child, parent_id=parent_id)
            if not child_is_complete:
                _finish(client, child_id, child)
        if not is_complete:
            _finish(client, parent_id, parent)
    return {"uri": redact(uri), "experiment": experiment, "run_id": parent_id}


def upload_or_note(directory: Path) -> None:
    """Upload, and write down in the document what became of it.

    A tracker that cannot be reached is noted: the directory is whole without it, and there is `vigil sync`.
    """
    try:
        outcome = upload(directory)
    except CannotRun as error:
        outcome = {"error": redact(str(error))}
    record_tracking(directory, outcome)


def document_path(directory: Path) -> Path:
    """Return where a directory's document is: verify.json of a verification of its own, else invocation.json."""
    invocation, verification = directory / INVOCATION, directory / VERIFICATION
    return verification if verification.is_file() and not invocation.is_file() else invocation


def read_document(directory: Path) -> dict[str, Any]:
    """Return the content of invocation.json or verify.json."""
    return _read_json(document_path(directory))


def record_tracking(directory: Path, tracking: dict[str, str]) -> None:
    """Replace `tracking` in the directory's document, atomically."""
    target = document_path(directory)
    partial = target.with_suffix(".json.partial")
    partial.write_text(json.dumps(read_document(directory) | {"tracking": tracking}, indent=2) + "\n")
    os.replace(partial, target)


def _entries(directory: Path, document: dict[str, Any]) -> tuple[Entry, list[Entry]]:
    """Return what the document and each of its runs become, or raise CannotRun for one that misses a field."""
    is_invocation = document_path(directory).name == INVOCATION
    records = [_read_json(directory / name / "record.json") for name in document["runs"]] if is_invocation else []
    try:
        if not is_invocation:
            return verify_entry(document, attachments=_attachments(directory, [PICTURE])), []
        files = _attachments(directory, [f"verify/{name}" for name in (VERIFICATION, PICTURE)])
        children = [
            child_entry(record, document, attachments=_attachments(directory / name, list(RUN_PICTURES)))
            for name, record in zip(document["runs"], records, strict=True)
        ]
        return parent_entry(document, records, attachments=files), children
    except (KeyError, TypeError) as error:
        raise CannotRun(
            f"{directory}: {document_path(directory).name} or a record.json does not follow its schema "
            f"({type(error).__name__}: {error}). docs/architecture.md lists the fields."
        ) from error


def _attachments(directory: Path, names: list[str]) -> tuple[Attachment, ...]:
    paths = [directory / name for name in names]
    return tuple(
        Attachment(name, hashlib.sha256(path.read_bytes()).hexdigest(), str(path))
        for name, path in zip(names, paths, strict=True)
        if path.is_file()
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise CannotRun(f"{path}: missing. The invocation is not complete; continue it with `vigil resume`.") from None
    except json.JSONDecodeError as error:
        raise CannotRun(f"{path}: not JSON at line {error.lineno}: {error.msg}. The file is damaged.") from error


def _sqlite_file(uri: str) -> Path:
    return Path(uri.removeprefix("sqlite:///").split("?")[0])


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


@contextlib.contextmanager
def _failures_named(uri: str) -> Iterator[None]:
    """Turn any failure inside into TrackingUnavailable: a store, an HTTP client or a plugin each raises its own."""
    try:
        yield
    except TrackingUnavailable:
        raise
    except Exception as error:
        reason = redact(f"{type(error).__name__}: {error}").strip().splitlines()[0][:300]
        # `from None`: the original error may spell out the password that the URI holds.
        raise TrackingUnavailable(
            f"MLflow at {redact(uri)} cannot be used ({reason}). Nothing is lost: run `vigil sync` once it can, "
            "or set MLFLOW_TRACKING_URI to another store."
        ) from None


@contextlib.contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Hold a lock on the directory, so that two uploads of it at one time do not each make the runs."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _client(uri: str) -> Any:
    for name, value in MLFLOW_DEFAULTS.items():
        os.environ.setdefault(name, value)
    from mlflow.tracking import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.WARNING)
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)
    return MlflowClient(tracking_uri=uri)


def _open(uri: str, *, experiment: str) -> tuple[Any, str]:
    """Return a client and the id of the experiment; both are made where they are missing."""
    is_file = uri.startswith("sqlite:")  # two processes that make the tables of one new file break each other
    with _alone_in(_sqlite_file(uri).resolve().parent) if is_file else contextlib.nullcontext():
        client = _client(uri)
        return client, _experiment_id(client, experiment, uri=uri)


def _experiment_id(client: Any, name: str, *, uri: str) -> str:
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        directory = artifact_directory(uri)
        location = (directory / name).as_uri() if directory else None
        try:
            return client.create_experiment(name, artifact_location=location, tags={NOTE: EXPERIMENT_NOTE})
        except MlflowException:
            found = client.get_experiment_by_name(name)
            if found is None:  # else another upload made it in between
                raise
    if found.lifecycle_stage != "active":
        raise TrackingUnavailable(
            f"MLflow at {redact(uri)}: the experiment {name} was deleted. Bring it back with `mlflow experiments "
            f"restore --experiment-id {found.experiment_id}`, or remove it for good with `mlflow gc`."
        )
    return found.experiment_id


def _place(client: Any, experiment_id: str, entry: Entry, *, parent_id: str | None = None) -> tuple[str, bool]:
    """Return the MLflow run of this entry and whether it is complete, after deleting every other copy of it."""
    query = " and ".join(f"tags.`{key}` = '{value}'" for key, value in entry.identity.items())
    found = client.search_runs([experiment_id], filter_string=query)
    complete = [run for run in found if run.data.tags.get(UPLOADED) == entry.content_hash()][:1]
    for run in found:
        if run not in complete:
            client.delete_run(run.info.run_id)
    if not complete:
        return _create(client, experiment_id, entry, parent_id=parent_id), False
    kept = complete[0]
    if parent_id and kept.data.tags.get(PARENT) != parent_id:
        client.set_tag(kept.info.run_id, PARENT, parent_id)
    return kept.info.run_id, True


def _create(client: Any, experiment_id: str, entry: Entry, *, parent_id: str | None) -> str:
    from mlflow.entities import Metric, Param

    tags = entry.labels | entry.identity | {NOTE: entry.note} | ({PARENT: parent_id} if parent_id else {})
    tags = {key: value[:LONGEST_TAG] for key, value in tags.items()}
    created = client.create_run(experiment_id, start_time=entry.start, tags=tags, run_name=entry.name)
    run_id = created.info.run_id
    parameters = [Param(key, value[:LONGEST_PARAMETER]) for key, value in entry.labels.items()]
    client.log_batch(run_id, params=parameters, synchronous=True)
    metrics = [Metric(*metric) for metric in entry.metrics]
    for start in range(0, len(metrics), METRICS_PER_BATCH):
        client.log_batch(run_id, metrics=metrics[start : start + METRICS_PER_BATCH], synchronous=True)
    client.log_text(run_id, entry.text, entry.artifact)
    for each in entry.attachments:
        _attach(client, run_id, each)
    return run_id


def _attach(client: Any, run_id: str, attachment: Attachment) -> None:
    folder = attachment.name.rpartition("/")[0] or None
    if attachment.name.endswith(".json"):  # its command line or its log may hold a URI with a password
        client.log_text(run_id, redact(Path(attachment.path).read_text(encoding="utf-8")), attachment.name)
    else:
        client.log_artifact(run_id, attachment.path, folder)


def _finish(client: Any, run_id: str, entry: Entry) -> None:
    client.set_terminated(run_id, status=entry.status, end_time=entry.end)
    client.set_tag(run_id, UPLOADED, entry.content_hash())  # last of all: its presence means that nothing is missing
