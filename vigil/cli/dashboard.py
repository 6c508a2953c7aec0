"""`vigil dashboard`: MLflow's own pages on the local store, and the report beside them, on this machine only, until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from vigil.cli.report_server import HOST, INDEX, serve_report
from vigil.errors import CannotRun
from vigil.paths import report_directory
from vigil.process import guard
from vigil.redaction import redact
from vigil.tracking import (
    EXPERIMENTS,
    NIGHTS,
    REPORT_PORT,
    TIMELINES,
    VIEW_PARAMETER,
    artifact_directory,
    check_reachable,
    experiment_pages,
    make_tables,
    tracking_uri,
)

START_SECONDS = 120
STOP_SECONDS = 10
SHOWN_RECIPES = 5
CHARTS = "&compareRunsMode=CHART"


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("dashboard", help="show the runs in MLflow on 127.0.0.1")
    parser.add_argument("--port", type=_port, default=5000, help="default: 5000")
    parser.add_argument(
        "--report-port",
        type=_port,
        default=REPORT_PORT,
        help=f"for the pages of `vigil report` (default: {REPORT_PORT}, to which links in MLflow lead)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C; of a tracking server that is already there name the pages, and serve the report alone."""
    uri, folder = tracking_uri(), report_directory()
    if uri.startswith(("http://", "https://")):
        _say_where_to_look(uri)
        print(f"MLFLOW_TRACKING_URI names this server: {redact(uri)}")
        if not (folder / INDEX).is_file():
            return 0
        # Interrupted from the first line on: whoever reads the last one may end it while that is printed.
        with (
            _signals_interrupt(),
            serve_report(folder, port=arguments.report_port) as report,
            contextlib.suppress(KeyboardInterrupt),
        ):
            _say_where_the_report_is(folder, report)
            print("Ctrl-C ends it.", flush=True)
            threading.Event().wait()
        return 0
    _check_free(arguments.port)
    check_reachable(uri)
    make_tables(uri)
    with _signals_interrupt(), serve_report(folder, port=arguments.report_port) as report:
        server = subprocess.Popen(
            [sys.executable, "-I", guard.__file__, *server_command(uri, port=arguments.port)],
            env=_environment(uri),
            stdin=subprocess.PIPE,
            stdout=sys.stderr,
            start_new_session=True,
        )
        try:
            _wait_until_up(server, port=arguments.port)
            _say_where_to_look(f"http://{HOST}:{arguments.port}")
            _say_where_the_report_is(folder, report)
            print(f"MLflow on http://{HOST}:{arguments.port} shows {redact(uri)}. Ctrl-C ends it.", flush=True)
            server.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            _end(server)
    raise CannotRun(f"mlflow server ended by itself, exit code {server.returncode}. Its own message stands above.")


def _say_where_to_look(server: str) -> None:
    """Name the pages, the one first that shows what drifts or is wrong."""
    pages = experiment_pages(server)
    own = {kind.title: pages.pop(name) for name, kind in EXPERIMENTS.items() if VIEW_PARAMETER in pages.get(name, "")}
    if timelines := pages.pop(TIMELINES, None):
        print(f"What drifts or is wrong, the worst first:\n  {timelines}")
        print(f"The ten worst as a chart over the nights, each within its band:\n  {timelines}{CHARTS}")
    if nights := pages.pop(NIGHTS, None):
        print(f"The nights:\n  {nights}")
    recipes = {name: page for name, page in pages.items() if VIEW_PARAMETER in page}
    for name in list(recipes)[:SHOWN_RECIPES]:
        print(f"Runs of {name}:\n  {recipes[name]}")
    for title, page in own.items():
        print(f"{title}, the worst first:\n  {page}")
    sys.stdout.flush()


def _say_where_the_report_is(folder: Path, address: str) -> None:
    """Name its address, and what is missing for it."""
    print(f"The report:\n  {address}")
    if not (folder / INDEX).is_file():
        print(f"  (nothing is in {folder} yet: `vigil report` writes it)")
    if not address.endswith(f":{REPORT_PORT}/"):
        print(f"  (links in MLflow lead to port {REPORT_PORT})")


def server_command(uri: str, *, port: int) -> list[str]:
    """Return the command line of the server: one worker, this machine only, MLflow's own security settings."""
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]
    command += ["--uvicorn-opts", "--log-level warning"]
    artifacts = artifact_directory(uri)
    return command + (["--artifacts-destination", str(artifacts)] if artifacts else [])


def _environment(uri: str) -> dict[str, str]:
    """Return this environment with the store in it, and without the job runner's seven idle processes.

    The store is not an argument because every user of a machine can read those, and its URI may hold a password.
    """
    quiet = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_LOGGING_LEVEL": "WARNING",
        "PYTHONWARNINGS": "ignore",
    }
    return quiet | os.environ | {"MLFLOW_BACKEND_STORE_URI": uri}


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"found {text!r}, allowed are 1 to 65535")
    return int(text)


def _check_free(port: int) -> None:
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CannotRun(
                f"{HOST}:{port} cannot be listened on ({error.strerror}). Choose another port with `--port`, or PORT= with make."
            ) from error


def _wait_until_up(server: subprocess.Popen, *, port: int) -> None:
    """Return when the port answers; leave the rest to `run` when the server ends first."""
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None:
        with contextlib.closing(socket.socket()) as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        if time.monotonic() > deadline:
            raise CannotRun(f"mlflow server did not answer on {HOST}:{port} within {START_SECONDS} s.")
        time.sleep(0.2)


@contextlib.contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Let a closed terminal and `kill` end the server as Ctrl-C does: it lives in a session of its own."""
    chosen = (signal.SIGTERM, signal.SIGHUP)
    earlier = [signal.signal(number, signal.default_int_handler) for number in chosen]
    try:
        yield
    finally:
        for number, handler in zip(chosen, earlier, strict=True):
            signal.signal(number, handler)


def _end(server: subprocess.Popen) -> None:
    """End the server and what it started: first by request, then by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(STOP_SECONDS)
