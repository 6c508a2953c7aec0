"""Runners that start from a process which has imported their framework already: an import costs more than a tiny run.

Every run still has a process of its own, forked before any operation has run. Like a runner's, its process is on the run's
cores before the import. `python -m runners.FRAMEWORK` itself is what test_start.py and the tests of the command line in
tests/verify/test_frameworks.py start.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

from runners.contract.data import datasets
from runners.contract.protocol.launch import CONDUCTOR_VARIABLE, leave
from runners.contract.protocol.spec import RunSpec
from vigil.process.execute import LOG_NAME
from vigil.process.side_by_side import available_cores

ROOT = Path(__file__).resolve().parents[2]
DATA = {"name": "generated", "n_train": 60, "n_test": 30}  # of the harness's runs: each fork has them already
_servers: dict[str, _Server] = {}


def share_of_cores() -> tuple[int, ...]:
    """Return the cores of this test process's runners: at most two, and under pytest-xdist the worker's own (own_core.py)."""
    return tuple(available_cores()[:2])


class Forked:
    """A forked process, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, server: _Server, pid: int) -> None:
        self._server, self.pid = server, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while it runs."""
        self._server.read(0.0)
        self.returncode = self._server.ended.get(self.pid)
        return self.returncode

    def wait(self, timeout: float = 300.0) -> int:
        """Return the exit code. Raises TimeoutExpired."""
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(["fork", str(self.pid)], timeout)
            self._server.read(max(0.0, min(1.0, deadline - time.monotonic())))
        return self.returncode

    def kill(self) -> None:
        """Send kill -9, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


class _Server:
    def __init__(self, framework: str) -> None:
        self.ended: dict[int, int] = {}
        self._started: list[int] = []
        self._rest = b""
        self._socket, theirs = socket.socketpair()
        command = [sys.executable, "-m", "tests.runners.fork_server", framework, str(theirs.fileno())]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, env=environment, pass_fds=[theirs.fileno()])
        theirs.close()
        atexit.register(self._stop)

    def start(self, request: dict) -> Forked:
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        while not self._started:
            self.read(1.0)
        return Forked(self, self._started.pop())

    def read(self, seconds: float) -> None:
        """Take in what has started and ended, after so many seconds at most."""
        if not select.select([self._socket], [], [], seconds)[0]:
            return
        received = self._socket.recv(4096)
        assert received, f"the fork server has ended: {self._process.wait(timeout=10)}"
        *lines, self._rest = (self._rest + received).split(b"\n")
        for pid, exit_code in map(json.loads, lines):
            if exit_code is None:
                self._started.append(pid)
            else:
                self.ended[pid] = exit_code

    def _stop(self) -> None:
        self._socket.close()
        self._process.wait(timeout=30)


def start(framework: str, module: str, *arguments: str, log: Path, is_conducted: bool = False) -> Forked:
    """Run `python -m MODULE ARGUMENTS`, or a script, in a process that has the framework imported.

    Args:
        log: what it prints is appended to this file.
        is_conducted: it leads a process group, and ends when the server does, which ends with this process.
    """
    if framework not in _servers:
        _servers[framework] = _Server(framework)
    request = {"module": module, "arguments": arguments, "log": str(log), "is_conducted": is_conducted}
    request["environment"] = dict(os.environ)
    return _servers[framework].start(request)


def ask(framework: str, module: str, *arguments: str, folder: Path) -> str:
    """Return what a module or script prints that has the framework imported. It must end well; `folder` takes its log."""
    log = folder / f"log-{time.monotonic_ns()}.txt"
    exit_code = start(framework, module, *arguments, log=log).wait()
    printed = log.read_text(encoding="utf-8", errors="replace")
    assert exit_code == 0, printed[-3000:]
    return printed


def execute_start(run_directory: Path, framework: str, *, python: Path | None) -> Forked:
    """Start a runner as the conductor does, in the place of `vigil.process.execute._start`."""
    assert python is None, "a release of its own needs a Python of its own"
    log = run_directory / LOG_NAME
    return start(framework, f"runners.{framework}", str(run_directory), log=log, is_conducted=True)


def _serve(framework: str, connection: socket.socket) -> dict | None:
    """Fork a process for every request, and tell when each ends. Return None at the end, and in a fork its request."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, share_of_cores())
    for part in ("train", "verify"):
        importlib.import_module(f"runners.{framework}.{part}")
    if framework == "torch":
        importlib.import_module("torch._dynamo")  # 800 modules that an optimizer imports when it is made, compiled or not
        importlib.import_module("runners.torch.devices")._start_peers = _fork_peers
    datasets.load(DATA, None)
    # A collection would look at a million objects of the imports in every fork, and copy the pages that hold them. Collecting
    # after every 700 new objects took a tenth of a run of JAX op by op, 3.8 s with it and 3.3 s without.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)

    def tell(pid: int, exit_code: int | None) -> None:
        connection.sendall(json.dumps([pid, exit_code]).encode() + b"\n")

    def reap() -> None:
        while running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            running.discard(pid)
            tell(pid, os.waitstatus_to_exitcode(status))

    # A child that ends wakes the loop by a byte.
    running: set[int] = set()
    woken, waker = socket.socketpair()
    waker.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(waker.fileno())
    rest = b""
    while True:
        ready = select.select([connection, woken], [], [])[0]
        if woken in ready:
            woken.recv(4096)
            reap()
        if connection not in ready:
            continue
        received = connection.recv(1 << 16)
        if not received:
            return None
        *lines, rest = (rest + received).split(b"\n")
        for line in lines:
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (connection, woken, waker):
                    each.close()
                return json.loads(line)
            running.add(pid)
            tell(pid, None)


class _Peer:
    """A forked rank, with the part of `subprocess.Popen` that devices.py uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and os.waitpid(self.pid, os.WNOHANG)[0]:
            self.returncode = 0
        return self.returncode

    def wait(self, timeout: float = 60.0) -> None:
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(["fork", str(self.pid)], timeout)
            time.sleep(0.005)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def _fork_peers(spec: RunSpec, run_directory: Path) -> list[_Peer]:
    """Fork the other ranks instead of starting them, in the place of `runners.torch.devices._start_peers`."""
    devices = sys.modules["runners.torch.devices"]
    rendezvous = run_directory.resolve() / f"rendezvous-{os.getpid()}"
    os.environ[devices._RENDEZVOUS] = str(rendezvous)
    peers = []
    for rank in range(1, spec.devices):
        pid = os.fork()
        if not pid:
            sys.argv[1:] = [str(run_directory), str(rank)]
            _run("runners.torch.peer")
        peers.append(_Peer(pid))
    return peers


def _run(module: str) -> NoReturn:
    """Run a module or a script and end, as a runner does, without taking down what was imported."""
    exit_code = 1
    try:
        if module.endswith(".py"):
            runpy.run_path(module, run_name="__main__")
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        exit_code = 0
    except SystemExit as ending:
        exit_code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        leave(exit_code)


def _become(request: dict) -> None:
    """Be the process that was asked for."""
    os.environ.clear()
    os.environ.update(request["environment"])
    if "jax" in sys.modules and os.environ.get("JAX_ENABLE_COMPILATION_CACHE") == "false":
        sys.modules["jax"].config.update("jax_enable_compilation_cache", False)  # JAX read its environment when it was imported
    if request["is_conducted"]:
        os.setsid()
        os.environ[CONDUCTOR_VARIABLE] = str(os.getppid())
    with open(request["log"], "ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.argv[1:] = request["arguments"]
    _run(request["module"])


if __name__ == "__main__":
    if asked := _serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2]))):
        _become(asked)
