"""Through a tracking server all is as with a file: uploads, history, timelines, and nothing lost when it stops.

The server keeps its runs in SQLite; with VIGIL_TEST_STORE=postgresql://... in a fresh database there instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.vigil.test_timeline import OTHER, POINT, WHEN, a_night, points
from tests.vigil.tracked import a_record, an_invocation, closed_port, write_invocation
from vigil.cli.dashboard import server_command
from vigil.tracking import TrackingUnavailable, experiment_pages, record_night, record_night_summary, upload
from vigil.tracking.history import load_history

pytestmark = pytest.mark.slow  # each start of the server takes MLflow some seconds


@contextlib.contextmanager
def serving(store: str, *, port: int, artifacts: Path) -> Iterator[str]:
    """Serve a store on loopback, and end the server with all that it started."""
    quiet = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true", "PYTHONWARNINGS": "ignore"}
    command = [*server_command("http://", port=port), "--artifacts-destination", str(artifacts)]
    environment = os.environ | quiet | {"MLFLOW_BACKEND_STORE_URI": store}
    server = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        deadline = time.monotonic() + 120
        while server.poll() is None and time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait(30)


def bring(folder: Path, name: str, server: str) -> Path:
    """Upload an invocation of one seed."""
    record = a_record(1, invocation_id=name, run_id=f"{name}-seed1")
    directory = write_invocation(
        folder / name, invocation=an_invocation(invocation_id=name, seeds=[1], runs=["seed1"]), records=[record]
    )
    upload(directory, uri=server)
    return directory


def test_a_server_holds_what_a_file_holds_and_may_stop_half_way(uri, tmp_path, monkeypatch):
    """Runs, a late upload and nights come back once; while it is down the cache answers, and afterwards all is made up."""
    store, port = os.environ.get("VIGIL_TEST_STORE", uri), closed_port()
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    with serving(store, port=port, artifacts=tmp_path / "artifacts") as server:
        assert "timelines" not in experiment_pages(server)
        first = bring(tmp_path, "first", server)
        assert load_history(server).samples["invocation_id"].tolist() == ["first"]
        bring(tmp_path, "late", server)
        record_night(server, [POINT], **a_night(1))
        record_night(server, [POINT], **a_night(1, when=WHEN + timedelta(hours=2)))
        history = load_history(server)
        assert history.samples["invocation_id"].tolist() == ["first", "late"]
        assert history.samples["value"].tolist() == [82.5, 82.5]
        page = experiment_pages(server)["timelines"]
        assert page.startswith(f"{server}/#/experiments/")
        assert page.endswith("&viewStateShareKey=vigil")
    (tmp_path / "summary.md").write_text("# A night")
    night = a_night(2) | {"seconds": 1.0, "verdict": "reproduced", "verdicts": {"reproduced": 2}, "releases": {"jax": "1"}}
    with pytest.raises(TrackingUnavailable):
        record_night(server, [POINT, OTHER], **a_night(2))
    with pytest.raises(TrackingUnavailable):
        record_night_summary(server, tmp_path, **night)
    (first / "seed1" / "record.json").write_text(
        json.dumps(a_record(1, invocation_id="first", run_id="first-seed1", metric=a_record(1)["metric"] | {"value": 80.0}))
    )
    with pytest.raises(TrackingUnavailable):
        upload(first, uri=server)
    down = load_history(server)
    assert down.samples["value"].tolist() == [82.5, 82.5]
    assert "later runs are missing" in down.remarks[0]
    with serving(store, port=port, artifacts=tmp_path / "artifacts") as server:
        upload(first, uri=server)
        for _ in range(2):
            record_night(server, [POINT, OTHER], **a_night(2))
            record_night_summary(server, tmp_path, **night)
        assert points(server)["test_accuracy"] == [(1, 88.5), (2, 88.5)]
        history = load_history(server)
        values = zip(history.samples["invocation_id"], history.samples["value"], strict=True)
        assert sorted(values) == [("first", 80.0), ("late", 82.5)]
        assert "nights" in experiment_pages(server)
