"""The dashboard serves what was uploaded, on the loopback interface, and ends with its server."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil
import pytest
import requests

from tests.vigil.tracked import a_record, assert_closes, closed_port, history, runs_in, write_invocation
from vigil.cli import dashboard, sync
from vigil.errors import CannotRun
from vigil.process import guard
from vigil.tracking import upload


def test_dashboard_names_the_server_that_is_there(monkeypatch, capsys):
    """With a tracking server chosen there is nothing to start; its address is printed without the password."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://anna:s3cret@tracker:5000")
    assert dashboard.run(argparse.Namespace(port=5000, report_port=closed_port())) == 0
    assert capsys.readouterr().out == "MLFLOW_TRACKING_URI names this server: http://***@tracker:5000\n"


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


PAGE = "http://***@127.0.0.1:{port}/#/experiments/{id}/runs?workflowType=machine_learning"


def an_experiment(identity: str, name: str, *, is_ours: bool = True) -> dict:
    """Return an experiment as a tracking server tells of it; ours have a saved view."""
    tags = [{"key": "mlflow.sharedViewState.vigil", "value": "{}"}] if is_ours else []
    return {"experiment_id": identity, "name": name, "tags": [{"key": "mlflow.note.content", "value": "n"}, *tags]}


def test_dashboard_says_first_where_drift_is_seen(monkeypatch, capsys, answering):
    """The timelines, their chart, the nights, the recipes, then own files and audits; what is not Vigil's is not named."""
    found = [an_experiment("4", "call-audits"), an_experiment("3", "digits_mlp"), an_experiment("0", "Default", is_ours=False),
             an_experiment("7", "timelines"), an_experiment("5", "own-steps"), an_experiment("6", "batch-norms", is_ours=False),
             an_experiment("8", "nights")]  # fmt: skip
    port = answering(200, json.dumps({"experiments": found}))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://anna:s3cret@127.0.0.1:{port}")
    assert dashboard.run(argparse.Namespace(port=5000, report_port=closed_port())) == 0
    out = capsys.readouterr().out
    assert "s3cret" not in out
    addresses = [line.strip() for line in out.splitlines() if line.startswith("  ")]
    timelines, *others = (PAGE.format(port=port, id=identity) + "&viewStateShareKey=vigil" for identity in (7, 8, 3, 5, 4))
    assert addresses == [timelines, f"{timelines}&compareRunsMode=CHART", *others]
    assert "Steps of your own, the worst first:\n" in out
    assert out.splitlines()[0] == "What drifts or is wrong, the worst first:"


def test_timelines_of_an_earlier_version_have_their_page_without_a_view(monkeypatch, capsys, answering):
    """A link to a view that there is not would end on an error."""
    port = answering(200, json.dumps({"experiments": [an_experiment("7", "timelines", is_ours=False)]}))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    assert dashboard.run(argparse.Namespace(port=5000, report_port=closed_port())) == 0
    assert f"  http://127.0.0.1:{port}/#/experiments/7/runs?workflowType=machine_learning\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "content"),
    [(404, '{"error_code": "RESOURCE_DOES_NOT_EXIST"}'), (200, "<html>a proxy's page</html>"), (200, "[]"), (200, "{}")],
)
def test_dashboard_passes_over_what_is_no_answer_of_mlflows(monkeypatch, capsys, answering, status, content):
    """Only the server itself is named then."""
    port = answering(status, content)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    assert dashboard.run(argparse.Namespace(port=5000, report_port=closed_port())) == 0
    assert capsys.readouterr().out == f"MLFLOW_TRACKING_URI names this server: http://127.0.0.1:{port}\n"


# A server that starts another process and listens there, as MLflow's does.
SERVER = "import socket, subprocess, sys; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); s.set_inheritable(True); "
SERVER += "subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'], close_fds=False)"
PARENT = "import subprocess, sys, time; "
PARENT += "subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, start_new_session=True); time.sleep(60)"


@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_server_ends_with_a_dashboard_that_was_killed_by_force(is_guarded):
    """Nobody can ask it to end then, so its guard does; without the guard it lives on."""
    port = closed_port()
    server = [sys.executable, "-c", SERVER, str(port)]
    command = [sys.executable, "-I", guard.__file__, *server] if is_guarded else server
    with subprocess.Popen([sys.executable, "-c", PARENT, *command]) as parent:
        while not is_open(port):
            time.sleep(0.05)
        (group,) = [process.pid for process in psutil.Process(parent.pid).children()]
        parent.kill()
    try:
        if is_guarded:
            assert_closes(port)
        else:
            time.sleep(0.5)
            assert is_open(port)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def is_open(port: int) -> bool:
    """Return whether something listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_dashboard_refuses_a_taken_port(uri):
    """A port that something else listens on ends with exit code 3 and a way out."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(CannotRun, match="Choose another port with `--port`"):
            dashboard.run(argparse.Namespace(port=taken.getsockname()[1], report_port=closed_port()))


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
    port, report_port = closed_port(), closed_port()
    page = tmp_path / "html" / "index.html"
    page.parent.mkdir()
    page.write_text("the report", encoding="utf-8")
    code = "import argparse, pathlib, sys; from vigil.cli import dashboard; "
    code += f"dashboard.report_directory = lambda: pathlib.Path({str(page.parent)!r}); "
    code += f"sys.exit(dashboard.run(argparse.Namespace(port={port}, report_port={report_port})))"
    root = Path(sync.__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert [process.stdout.readline().strip() for _ in range(2)] == ["The report:", f"http://127.0.0.1:{report_port}/"]
            assert process.stdout.readline() == "  (links in MLflow lead to port 5001)\n"
            assert requests.get(f"http://127.0.0.1:{report_port}/", timeout=10).text == "the report"
            assert process.stdout.readline().startswith(f"MLflow on http://127.0.0.1:{port} shows sqlite:///")  # nothing is in it
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
    assert not is_open(port)
    assert not is_open(report_port)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_beside_a_tracking_server_the_report_alone_is_served(tmp_path, answering, number):
    """Links in MLflow lead there, whoever serves MLflow's pages; it ends with the dashboard, also by force."""
    report_port = closed_port()
    (tmp_path / "index.html").write_text("the report", encoding="utf-8")
    code = "import argparse, pathlib, sys; from vigil.cli import dashboard; "
    code += f"dashboard.report_directory = lambda: pathlib.Path({str(tmp_path)!r}); "
    code += f"sys.exit(dashboard.run(argparse.Namespace(port=5000, report_port={report_port})))"
    environment = os.environ | {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{answering(200, '{}')}"}
    root = Path(sync.__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], cwd=root, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            while "Ctrl-C ends it." not in process.stdout.readline():
                assert process.poll() is None
            assert requests.get(f"http://127.0.0.1:{report_port}/", timeout=10).text == "the report"
        finally:
            process.send_signal(number)
    assert process.returncode == (0 if number == signal.SIGTERM else -signal.SIGKILL)
    assert not is_open(report_port)


def test_a_signal_while_the_first_lines_are_printed_ends_it_as_later(tmp_path, answering, monkeypatch):
    """Whoever starts it reads the last line and may end it before the print has returned."""
    (tmp_path / "index.html").write_text("the report", encoding="utf-8")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{answering(200, '{}')}")
    monkeypatch.setattr(dashboard, "report_directory", lambda: tmp_path)
    monkeypatch.setattr(dashboard, "_say_where_the_report_is", lambda folder, address: signal.raise_signal(signal.SIGTERM))
    port = closed_port()
    assert dashboard.run(argparse.Namespace(port=5000, report_port=port)) == 0
    assert not is_open(port)
