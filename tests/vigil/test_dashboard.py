"""The dashboard serves what was uploaded, on the loopback interface, and ends with its server."""

from __future__ import annotations

import argparse
import json
import signal
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.vigil.tracked import a_record, closed_port, history, runs_in, write_invocation
from vigil.cli import dashboard, sync
from vigil.errors import CannotRun
from vigil.tracking import upload


def test_dashboard_names_the_server_that_is_there(monkeypatch, capsys):
    """With a tracking server chosen there is nothing to start; its address is printed without the password."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://anna:s3cret@tracker:5000")
    assert dashboard.run(argparse.Namespace(port=5000)) == 0
    assert capsys.readouterr().out == "MLFLOW_TRACKING_URI names a server: open http://***@tracker:5000\n"


@pytest.fixture
def answering():
    """Return a function that starts a server on loopback with one answer to everything, and returns its port."""
    servers = []

    def answer(status: int, content: str) -> int:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.end_headers()
                self.wfile.write(content.encode())

            def log_message(self, *arguments):
                """Say nothing."""

        servers.append(HTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,)).start()
        return servers[-1].server_port

    yield answer
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "content", "is_shown"),
    [
        (200, '{"experiment": {"experiment_id": "7"}}', True),
        (404, '{"error_code": "RESOURCE_DOES_NOT_EXIST"}', False),
        (200, "<html>a proxy's page</html>", False),
    ],
)
def test_dashboard_says_where_drift_is_seen(monkeypatch, capsys, answering, status, content, is_shown):
    """The page of the timelines is named once there are any; what is no answer of MLflow's is passed over."""
    port = answering(status, content)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://anna:s3cret@127.0.0.1:{port}")
    assert dashboard.run(argparse.Namespace(port=5000)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "s3cret" not in "".join(lines)
    page = f"Numbers over the nights, with their bands: http://***@127.0.0.1:{port}/#/experiments/7/runs?workflowType=machine_learning"
    assert lines[1:2] == ([page] if is_shown else [])
    assert len(lines) == (3 if is_shown else 1)


def test_dashboard_refuses_a_taken_port(uri):
    """A port that something else listens on ends with exit code 3 and a way out."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(CannotRun, match="Choose another port with `--port`"):
            dashboard.run(argparse.Namespace(port=taken.getsockname()[1]))


def test_dashboard_refuses_a_number_that_is_no_port(capsys):
    """A port out of range or not a number is wrong usage: exit 2, with what is allowed."""
    parser = argparse.ArgumentParser()
    dashboard.add_parser(parser.add_subparsers())
    for wrong in ("0", "65536", "-1", "http"):
        with pytest.raises(SystemExit, match="2"):
            parser.parse_args(["dashboard", f"--port={wrong}"])
        assert f"found '{wrong}', allowed are 1 to 65535" in capsys.readouterr().err


def test_dashboard_serves_uploads_and_ends_with_its_server(uri, tmp_path):
    """Through a real server on loopback an upload is whole and held once; SIGTERM ends it and all it started."""
    port = closed_port()
    code = "import argparse, sys; from vigil.cli import dashboard; "
    code += f"sys.exit(dashboard.run(argparse.Namespace(port={port})))"
    root = Path(sync.__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline().startswith(f"MLflow on http://127.0.0.1:{port} shows sqlite:///")
            server = f"http://127.0.0.1:{port}"
            records = [a_record(1), a_record(2, losses=[2.5, "inf", "nan"])]
            directory = write_invocation(tmp_path / "runs" / "first", records=records)
            first = upload(directory, uri=server)
            assert upload(directory, uri=server) == first
            parents, children = runs_in(server)
            assert (len(parents), len(children)) == (1, 2)
            assert [history(server, run.info.run_id, "loss")[-1][0] for run in children] == [2500, 3]
            stored = list((tmp_path / "mlartifacts").rglob("record.json"))
            assert sorted(json.loads(path.read_text())["seed"] for path in stored) == [1, 2]
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
