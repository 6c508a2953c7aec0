"""A process that has imported a framework and forks one for each request: the import costs more than many a verification.

    python -m runners.FRAMEWORK --host DESCRIPTOR CORES

DESCRIPTOR is a socket to whoever asks, CORES a list like 0,2 or nothing. A request is one line of JSON: `module`, `arguments`,
`environment`, `log`, `is_conducted`. Answers are lines: [pid, null] of a process that has started, [pid, exit code] of one that
has ended. No operation of the framework has run before a fork, so that every process is alone with its context, and dies alone.
"""

from __future__ import annotations

import contextlib
import gc
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
import warnings
from collections.abc import Callable
from typing import NoReturn

from runners.contract.protocol.launch import CONDUCTOR_VARIABLE, EXIT_FINISHED, leave

OPTION = "--host"
# Of a fork, what was asked of it.
_asked: dict | None = None
_OF_FORKS = (CONDUCTOR_VARIABLE, "OPENBLAS_NUM_THREADS")


class ForkedProcess:
    """A process that this one has forked, with the part of `subprocess.Popen` that is used of a runner."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while it runs."""
        if self.returncode is None:
            self.returncode = self._look(0.0)
        return self.returncode

    def wait(self, timeout: float = 300.0) -> int:
        """Return the exit code. Raises TimeoutExpired."""
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(["fork", str(self.pid)], timeout)
            self.returncode = self._look(0.05)
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """Send kill -9, unless it has ended."""
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end, unless it has ended."""
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _look(self, seconds: float) -> int | None:
        """Return the exit code, or None if it still runs, after so many seconds at most."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            time.sleep(seconds)
        return os.waitstatus_to_exitcode(status) if pid else None


def fork(module: str, *arguments: str) -> ForkedProcess:
    """Run `python -m MODULE ARGUMENTS` in a fork of this process, which has run no operation yet."""
    pid = os.fork()
    if not pid:
        sys.argv[1:] = arguments
        _run(module)
    return ForkedProcess(pid)


def is_forked() -> bool:
    """Was this process forked by a host?"""
    return _asked is not None


def start_anew() -> None:
    """Begin once more without what was imported, if this process was forked: where a variable is to be there before that."""
    if _asked is not None:
        kept = {name: os.environ[name] for name in _OF_FORKS if name in os.environ}
        command = [sys.executable, "-m", _asked["module"], *_asked["arguments"]]
        os.execve(sys.executable, command, {**_asked["environment"], **kept})


def _serve(connection: socket.socket, cores: list[int], prepare: Callable[[], None]) -> dict | None:
    """Fork a process for every request, and tell when each ends. Return None at the end, and in a fork its request.

    What the system does not let it fork has the number 0.
    """
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    prepare()
    # JAX warns of forks. It has started no thread yet.
    warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called", category=RuntimeWarning)
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
            try:
                pid = os.fork()
            except OSError:
                tell(0, None)
                continue
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (connection, woken, waker):
                    each.close()
                return json.loads(line)
            running.add(pid)
            tell(pid, None)


def _become(request: dict) -> NoReturn:
    """Be the process that was asked for."""
    global _asked
    _asked = request
    os.environ.clear()
    os.environ.update(request["environment"])
    if request["is_conducted"]:
        os.setsid()
        os.environ[CONDUCTOR_VARIABLE] = str(os.getppid())
    with open(request["log"], "ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.argv[1:] = request["arguments"]
    _run(request["module"])


def _run(module: str) -> NoReturn:
    """Run a module or a script and end, as a runner does, without taking down what was imported."""
    exit_code = 1
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # else every fork would draw the same unseeded numbers, and none be told so
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


def main(arguments: list[str], *, prepare: Callable[[], None]) -> NoReturn:
    """Serve until whoever asks has gone, or be the process that was asked for.

    Args:
        arguments: DESCRIPTOR and CORES.
        prepare: imports what every request needs.
    """
    descriptor, cores = arguments
    connection = socket.socket(fileno=int(descriptor))
    if asked := _serve(connection, [int(core) for core in cores.split(",") if core], prepare):
        _become(asked)
    leave(EXIT_FINISHED)
