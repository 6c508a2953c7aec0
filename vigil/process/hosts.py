"""Runners that start from a process which has imported their framework already.

There is one host a framework, release and count of cores, and for what is expected of a user's step one of its own.
Every runner still has a process of its own, forked before any operation has run (runners/contract/protocol/host.py).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from runners.contract.protocol import host
from vigil.paths import project_root
from vigil.process.environment import environment_of_runners

_IMPORT_SECONDS = 120.0
# By these OpenMP keeps its threads on cores that it chooses when it is loaded.
_BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")


class HostEnded(RuntimeError):
    """The host is gone: its framework cannot be imported, or it was killed."""


class Forked(host.ForkedProcess):
    """A process that a host has forked."""

    def __init__(self, host: Host, pid: int) -> None:
        super().__init__(pid)
        self._host = host

    def _look(self, seconds: float) -> int | None:
        return self._host.exit_code(self.pid, seconds=seconds)


class Host:
    """A process that has a framework imported, and forks.

    Args:
        python: the interpreter that has the framework.
        cores: those that the framework sees when it is imported, empty for all.
    """

    def __init__(self, framework: str, *, python: Path, cores: Sequence[int] = ()) -> None:
        self._lock = threading.Lock()
        self._started: list[int] = []
        self._ended: dict[int, int] = {}
        self._is_gone = False
        self._rest = b""
        self._socket, theirs = socket.socketpair()
        arguments = [host.OPTION, str(theirs.fileno()), ",".join(map(str, cores))]
        self._process = subprocess.Popen(
            [str(python), "-m", f"runners.{framework}", *arguments],
            cwd=project_root(),
            # NumPy's, which reads it when it is imported: oracles compute with it, each on one core.
            env={**environment_of_runners(project_root()), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # Ctrl-C is the conductor's to pass on
        )
        theirs.close()

    def start(
        self, module: str, *arguments: str, log: Path, is_conducted: bool = True, stop: threading.Event | None = None
    ) -> Forked | None:
        """Run `python -m MODULE ARGUMENTS`, or a script, in a fork of the host; return None where the system refuses a fork.

        Args:
            log: what it prints is appended to this file.
            is_conducted: it leads a process group, and ends when the host does, which ends with this process.
            stop: while the host imports its framework, this ends the wait.

        Raises:
            HostEnded: It is gone, or silent.
            KeyboardInterrupt: `stop` was set. The host is of no use any more.
        """
        request = {"module": module, "arguments": arguments, "log": str(log), "is_conducted": is_conducted}
        request["environment"] = {**os.environ, "PYTHONPATH": str(project_root()), "PYTHONUNBUFFERED": "1"}
        with self._lock:
            try:
                self._socket.sendall(json.dumps(request).encode() + b"\n")
            except OSError as error:
                raise HostEnded(str(error)) from error
            deadline = time.monotonic() + _IMPORT_SECONDS
            while not self._started:
                if self._is_gone or time.monotonic() > deadline:
                    raise HostEnded("it answers no request")
                if stop is not None and stop.is_set():
                    self._is_gone = True  # what it answers now would be taken for the next request's
                    raise KeyboardInterrupt
                self._take_in(0.1)
            pid = self._started.pop()
            return Forked(self, pid) if pid else None

    def exit_code(self, pid: int, *, seconds: float = 0.0) -> int | None:
        """Return the exit code of a fork, or None if it still runs after so many seconds. A host that is gone has killed it."""
        with self._lock:
            if pid not in self._ended:
                self._take_in(seconds)
            return self._ended.get(pid, -signal.SIGKILL if self._is_gone else None)

    def close(self) -> None:
        """End the host, and with it all forks that are conducted; a request that it has not read starts nothing more."""
        self._process.kill()
        self._process.wait()
        with self._lock:  # others may follow its forks
            self._is_gone = True
            self._socket.close()

    def _take_in(self, seconds: float) -> None:
        if self._is_gone or not select.select([self._socket], [], [], seconds)[0]:
            return
        try:
            received = self._socket.recv(4096)
        except ConnectionResetError:  # it ended with a request unread
            received = b""
        self._is_gone = not received
        *lines, self._rest = (self._rest + received).split(b"\n")
        for pid, exit_code in map(json.loads, lines):
            if exit_code is None:
                self._started.append(pid)
                self._ended.pop(pid, None)  # numbers of processes come back
            else:
                self._ended[pid] = exit_code


class Hosts:
    """The hosts of one command: each is started when it is first asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hosts: dict[tuple[str, Path, int | tuple[int, ...], str], Host | None] = {}

    def start(
        self,
        framework: str,
        run_directory: Path,
        *,
        python: Path | None,
        cores: Sequence[int] | None,
        log: Path,
        options: Sequence[str] = (),
        stop: threading.Event | None = None,
        apart: str = "",
    ) -> Forked | None:
        """Start a runner, or return None where there is no host for it: then it is started as any process is.

        Args:
            stop: ends the wait for a host, by KeyboardInterrupt.
            apart: forks of one host are alike in what no two processes share, as the seed of hashes. Runners with another word
                here have another host.
        """
        if sys.platform != "linux":  # frameworks of other systems' own may not be forked
            return None
        # A runner moves to its own cores; how many the framework saw when it was imported stays with it, or which.
        is_bound = any(name in os.environ for name in _BINDING)
        key = framework, python or Path(sys.executable), tuple(cores or ()) if is_bound else len(cores or ()), apart
        with self._lock:
            if key not in self._hosts:
                self._hosts[key] = Host(framework, python=key[1], cores=cores or ())
        opened = self._hosts[key]
        if opened is None:
            return None
        try:
            return opened.start(f"runners.{framework}", *options, str(run_directory), log=log, stop=stop)
        except KeyboardInterrupt:
            self._hosts[key] = None
            opened.close()
            raise
        except HostEnded:
            # Whatever stands in the way, a process of its own says it in its last event.
            self._hosts[key] = None
            opened.close()
            return None

    def close(self) -> None:
        """End all hosts."""
        for opened in self._hosts.values():
            if opened is not None:
                opened.close()


@contextlib.contextmanager
def hosts() -> Iterator[Hosts]:
    """Yield the hosts of a command, which end with it."""
    opened = Hosts()
    try:
        yield opened
    finally:
        opened.close()
