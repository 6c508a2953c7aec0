"""MLflow: where it is, whether anything answers there, and its client behind a few plain words.

The only module that imports it, and only inside functions: the import alone takes seconds. Everything that goes in or comes out
is a plain value, so whoever uses a store needs to know nothing of MLflow.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
import os
import socket
import sqlite3
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vigil.errors import CannotRun
from vigil.locks import locked
from vigil.paths import project_root
from vigil.redaction import redact
from vigil.tracking.run_entry import EARLIER_NOTES, NOTE, RUN_NAME, Attachment, Entry, Point
from vigil.tracking.views import KEY, TAG, View

UPLOADED = "vigil.uploaded"
UPLOADED_AT = "vigil.uploaded_at"
PARENT = "mlflow.parentRunId"

CONNECT_SECONDS = 3
ANSWER_SECONDS = 10
DATABASE_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
METRICS_PER_BATCH = 1000  # the limit of MLflow's log_batch
RUNS_PER_PAGE = 500
EXPERIMENTS = 1000
VIEW_PARAMETER = f"&viewStateShareKey={KEY}"
LOCK_SECONDS = 30
REQUEST_SECONDS = 30  # a page took 11 s on a machine with eight times as much to do as it has cores
LONGEST_TAG = 5000  # MLflow's limit for tags is 8000, and was 5000
LONGEST_PARAMETER = 500  # MLflow's limit for parameters is 6000, and was 500

# One that is not there at all is told before MLflow is asked. Of one that fails later MLflow must not try for minutes, and a
# verdict must not be buried under its messages. A user's choice for one of these stays.
MLFLOW_DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": str(REQUEST_SECONDS),
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


def experiment_pages(server: str) -> dict[str, str]:
    """Return the page of each experiment on a tracking server, the last changed first; none where the server does not say."""
    import requests

    server = server.rstrip("/")
    order = {"max_results": str(EXPERIMENTS), "order_by": "last_update_time DESC"}
    try:
        answer = requests.get(
            server + "/api/2.0/mlflow/experiments/search", params=order, timeout=(CONNECT_SECONDS, ANSWER_SECONDS)
        )
        found = answer.json().get("experiments", []) if answer.ok else []
        return {one["name"]: redact(server) + _page(one["experiment_id"], one.get("tags", [])) for one in found}
    except (requests.exceptions.RequestException, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _page(experiment_id: str, tags: Iterable[Mapping[str, str]]) -> str:
    """Return the address of an experiment's page below the server, with the view that is saved there."""
    # Without this parameter MLflow 3 opens an experiment among pages about language models, which are empty here.
    page = f"/#/experiments/{experiment_id}/runs?workflowType=machine_learning"
    return page + (VIEW_PARAMETER if any(tag["key"] == TAG + KEY for tag in tags) else "")


def sqlite_file(uri: str) -> Path:
    """Return the file of a `sqlite:///` URI. Raises TrackingUnavailable where it names none."""
    path = uri.removeprefix("sqlite:").removeprefix("//").removeprefix("/").split("?")[0]
    if not path or ":memory:" in path or "mode=memory" in uri:
        raise TrackingUnavailable(
            f"MLFLOW_TRACKING_URI: found {redact(uri)}, which keeps nothing: it lies in memory, and ends with this command. "
            "Allowed: sqlite:///FILE, or the address of a tracking server."
        )
    return Path(path)


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


@dataclass(frozen=True)
class Experiment:
    """`created` is in milliseconds since 1970, or None."""

    experiment_id: str
    name: str
    created: int | None


@dataclass(frozen=True)
class TrackedRun:
    """A run as MLflow has it; `metrics` are the last values. Times are milliseconds since 1970, or None."""

    run_id: str
    experiment_id: str
    status: str
    start: int | None
    end: int | None
    tags: Mapping[str, str]
    metrics: Mapping[str, float]


class Store:
    """A connection to MLflow at one address. Failures are whatever MLflow raises: callers wrap them in `failures_named`."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        make_tables(uri)
        self._client: Any = _connect(uri)

    def experiments(self) -> list[Experiment]:
        """Return every experiment that is not deleted."""
        experiments: list[Experiment] = []
        token = None
        while True:
            page = self._client.search_experiments(page_token=token)
            experiments += [Experiment(one.experiment_id, one.name, one.creation_time) for one in page]
            token = page.token
            if not token:
                return experiments

    def experiment_id(self, name: str, *, note: str, view: View) -> str:
        """Return the id of an experiment, which is made with this note where it is missing, and which has this saved view."""
        from mlflow.exceptions import MlflowException

        with _alone_in_file(self.uri):
            experiment = self._client.get_experiment_by_name(name)
            if experiment is None:
                directory = artifact_directory(self.uri)
                location = (directory / name).as_uri() if directory else None
                try:
                    return self._client.create_experiment(name, artifact_location=location, tags={NOTE: note} | view.tags())
                except MlflowException:
                    experiment = self._client.get_experiment_by_name(name)
                    if experiment is None:  # else another upload made it in between
                        raise
        if experiment.lifecycle_stage != "active":
            raise TrackingUnavailable(
                f"MLflow at {redact(self.uri)}: the experiment {name} was deleted. Bring it back with `mlflow experiments "
                f"restore --experiment-id {experiment.experiment_id}`, or remove it for good with `mlflow gc`."
            )
        if hashlib.sha256(experiment.tags.get(NOTE, "").encode()).hexdigest() in EARLIER_NOTES:  # it explains other tags
            self._client.set_experiment_tag(experiment.experiment_id, NOTE, note)
        for key, value in view.tags().items():
            if experiment.tags.get(key) != value:
                self._client.set_experiment_tag(experiment.experiment_id, key, value)
        return experiment.experiment_id

    def place(self, experiment_id: str, entry: Entry, *, parent_id: str | None = None) -> tuple[str, bool]:
        """Return the MLflow run of this entry and whether it is complete, after deleting every other copy of it."""
        query = " and ".join(f"tags.`{key}` = '{value}'" for key, value in entry.identity.items())
        copies = self._client.search_runs([experiment_id], filter_string=query)
        complete = [run for run in copies if run.data.tags.get(UPLOADED) == entry.content_hash()][:1]
        for run in copies:
            if run not in complete:
                self._client.delete_run(run.info.run_id)
        if not complete:
            return self._create(experiment_id, entry, parent_id=parent_id), False
        kept = complete[0]
        if late := {key: value for key, value in entry.shown.items() if key not in kept.data.tags}:  # a person's words stay
            self.log(kept.info.run_id, tags=late)
        if parent_id and kept.data.tags.get(PARENT) != parent_id:
            self._client.set_tag(kept.info.run_id, PARENT, parent_id)
        return kept.info.run_id, True

    def delete(self, run_ids: Iterable[str]) -> None:
        """Delete runs; MLflow can bring them back."""
        for run_id in run_ids:
            self._client.delete_run(run_id)

    def finish(self, run_id: str, entry: Entry) -> None:
        """Say how a run ended, and that nothing of it is missing."""
        self._client.set_terminated(run_id, status=entry.status, end_time=entry.end)
        # Last of all, and both in one write: a reader that goes by the time must not find the one without the other.
        self.log(run_id, tags={UPLOADED_AT: now().isoformat(timespec="seconds"), UPLOADED: entry.content_hash()})

    def runs(self, experiment_ids: Iterable[str], *, query: str = "", deleted: bool = False) -> Iterator[list[TrackedRun]]:
        """Yield pages of the runs that are not deleted, or of those that are, oldest first, each run once.

        A page begins at the start time that the last one ended with, not at a count of runs: one that is deleted or made
        while the pages are read moves no other out of sight.
        """
        from mlflow.entities import ViewType

        ids, token, since = list(experiment_ids), None, None
        seen: set[str] = set()
        while ids:
            since_then = f"attributes.start_time >= {since}" if since is not None else ""
            conditions = [condition for condition in (query, since_then) if condition]
            page = self._client.search_runs(
                ids,
                filter_string=" and ".join(conditions),
                run_view_type=ViewType.DELETED_ONLY if deleted else ViewType.ACTIVE_ONLY,
                max_results=RUNS_PER_PAGE,
                order_by=["attributes.start_time ASC"],
                page_token=token,
            )
            yield [_tracked_run(run) for run in page if run.info.run_id not in seen]
            seen.update(run.info.run_id for run in page)
            if not page.token:
                return
            last = page[-1].info.start_time
            token = page.token if last == since else None  # a whole page of one millisecond can only be counted through
            since = last

    def make_run(self, experiment_id: str, *, name: str, start: int, tags: Mapping[str, str]) -> str:
        """Return the id of a new run."""
        texts = {key: value[:LONGEST_TAG] for key, value in tags.items()}
        return self._client.create_run(experiment_id, start_time=start, tags=texts, run_name=name).info.run_id

    def end_run(self, run_id: str, *, end: int | None, status: str) -> None:
        """Say that nothing is under way in a run, and how it stands. Points can still be added."""
        self._client.set_terminated(run_id, status=status, end_time=end)

    def log(self, run_id: str, *, points: Iterable[Point] = (), tags: Mapping[str, str] | None = None) -> None:
        """Write points, then tags, in one request."""
        from mlflow.entities import Metric, RunTag

        self._client.log_batch(
            run_id,
            metrics=[Metric(*point) for point in points],
            tags=[RunTag(key, value[:LONGEST_TAG]) for key, value in (tags or {}).items()],
            synchronous=True,
        )

    def steps(self, run_id: str, metric: str) -> set[int]:
        """Return the steps at which a metric of a run has a point."""
        return {point.step for point in self._client.get_metric_history(run_id, metric)}

    def held(self, run_ids: Sequence[str]) -> set[str]:
        """Return those of these runs that the store has ever seen, also those that were deleted there since."""
        from mlflow.entities import ViewType

        found: set[str] = set()
        ids = [one.experiment_id for one in self._client.search_experiments(view_type=ViewType.ALL, max_results=EXPERIMENTS)]
        possible = [run_id for run_id in run_ids if run_id.isalnum()] if ids else []
        for start in range(0, len(possible), RUNS_PER_PAGE):
            some = ", ".join(f"'{run_id}'" for run_id in possible[start : start + RUNS_PER_PAGE])
            query = f"attributes.run_id IN ({some})"
            page = self._client.search_runs(ids, filter_string=query, run_view_type=ViewType.ALL, max_results=RUNS_PER_PAGE)
            found.update(run.info.run_id for run in page)
        return found

    def _create(self, experiment_id: str, entry: Entry, *, parent_id: str | None) -> str:
        from mlflow.entities import Metric, Param

        tags = entry.labels | entry.identity | {NOTE: entry.note} | entry.shown | ({PARENT: parent_id} if parent_id else {})
        run_id = self.make_run(experiment_id, name=entry.shown.get(RUN_NAME, entry.name), start=entry.start, tags=tags)
        parameters = [Param(key, value[:LONGEST_PARAMETER]) for key, value in entry.labels.items()]
        self._client.log_batch(run_id, params=parameters, synchronous=True)
        metrics = [Metric(*metric) for metric in entry.metrics]
        for start in range(0, len(metrics), METRICS_PER_BATCH):
            self._client.log_batch(run_id, metrics=metrics[start : start + METRICS_PER_BATCH], synchronous=True)
        self._client.log_text(run_id, entry.text, entry.artifact)
        for attachment in entry.attachments:
            self._attach(run_id, attachment)
        return run_id

    def _attach(self, run_id: str, attachment: Attachment) -> None:
        folder = attachment.name.rpartition("/")[0] or None
        if attachment.name.endswith(".json"):  # its command line or its log may hold a URI with a password
            text = redact(Path(attachment.path).read_text(encoding="utf-8"))
            self._client.log_text(run_id, text, attachment.name)
        else:
            self._client.log_artifact(run_id, attachment.path, folder)


def make_tables(uri: str) -> None:
    """Give a SQLite file without tables those of MLflow, all of them or none; leave any other store as it is.

    MLflow makes them in dozens of steps, and never again opens a file that was left between two of them. So they are made
    elsewhere and copied in one transaction, which SQLite takes back when it is broken off.

    Raises:
        TrackingUnavailable: the file cannot be written.
    """
    if not uri.startswith("sqlite:"):
        return
    path = sqlite_file(uri)
    with (
        failures_named(uri),
        _alone_in_file(uri),
        contextlib.closing(sqlite3.connect(path, timeout=LOCK_SECONDS)) as store,
    ):
        if store.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return
        with tempfile.TemporaryDirectory() as directory:
            made = Path(directory) / path.name
            _connect(f"sqlite:///{made}")
            with contextlib.closing(sqlite3.connect(made)) as source:
                source.backup(store)


def now() -> datetime:
    """Return the time at which an upload is complete."""
    return datetime.now(timezone.utc)


def _alone_in_file(uri: str) -> contextlib.AbstractContextManager[int | None]:
    """Two processes that each make what both find missing in one file break each other."""
    return locked(sqlite_file(uri).resolve().parent) if uri.startswith("sqlite:") else contextlib.nullcontext()


def import_ahead() -> None:
    """Import MLflow on a thread, while other processes compute: it takes seconds, for which a verdict would wait.

    Not where warnings are errors, as in many tests: a thread cannot set them aside for itself, and SQLAlchemy refuses for
    good what one of them broke off.
    """
    if any(action == "error" for action, *_ in warnings.filters):
        return

    def work() -> None:
        with contextlib.suppress(Exception):  # which whoever needs it meets, and tells
            _import_client()
            if tracking_uri().startswith("sqlite:"):
                importlib.import_module("mlflow.store.tracking.sqlalchemy_store")

    threading.Thread(target=work, name="import-mlflow", daemon=True).start()


def _import_client() -> Any:
    for name, value in MLFLOW_DEFAULTS.items():
        os.environ.setdefault(name, value)
    from mlflow.tracking import MlflowClient

    return MlflowClient


def _connect(uri: str) -> Any:
    """Return MLflow's client of a store; the tables of one in a file are made where they are missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow, when first used, uses what other packages call deprecated
        MlflowClient = _import_client()
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)
        return MlflowClient(tracking_uri=uri)


def _tracked_run(run: Any) -> TrackedRun:
    info, data = run.info, run.data
    return TrackedRun(
        run_id=info.run_id,
        experiment_id=info.experiment_id,
        status=info.status,
        start=info.start_time,
        end=info.end_time,
        tags=data.tags,
        metrics=data.metrics,
    )
