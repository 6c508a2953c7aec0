"""Start a runner, follow its events, and end it when it hangs. What comes back says how the process ended, whatever happened."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from runners.contract.protocol.events import FILE_NAME as EVENTS_NAME
from runners.contract.protocol.events import EventReader
from runners.contract.protocol.launch import CONDUCTOR_VARIABLE
from vigil.documents.failure import HungProcess
from vigil.paths import project_root
from vigil.process.environment import environment_of_runners
from vigil.process.hosts import Forked, Hosts
from vigil.process.memory_kills import memory_kills
from vigil.process.stacks import hung_processes, remove_stacks

HEARTBEAT_TIMEOUT_SECONDS = 120.0
PROGRESS_TIMEOUT_SECONDS = 900.0
LOG_NAME = "log.txt"
# A step, or a checkpoint, that is under way may end first.
_GRACE_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a runner's process ended: its exit code (negative: a signal), or what made the conductor end it.

    processes: of a hang, what each process was doing. earlier_events: how many events were there before it started, those of
    earlier attempts. memory_kills: how many processes the kernel killed for memory in this cgroup while it ran, others' beside it
    too.
    """

    exit_code: int | None
    hang: str | None = None
    processes: tuple[HungProcess, ...] = ()
    is_interrupted: bool = False
    earlier_events: int = 0
    memory_kills: int = 0


def execute(
    run_directory: Path,
    framework: str,
    *,
    on_event: Callable[[dict], None],
    heartbeat_timeout: float = HEARTBEAT_TIMEOUT_SECONDS,
    progress_timeout: float = PROGRESS_TIMEOUT_SECONDS,
    stop: threading.Event | None = None,
    python: Path | None = None,
    hosts: Hosts | None = None,
    cores: Sequence[int] | None = None,
    grace: float = _GRACE_SECONDS,
    options: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    apart: str = "",
) -> Ending:
    """Run `python -m runners.<framework> RUN_DIR` to its end.

    A runner hangs when it has been silent for `heartbeat_timeout` seconds, or has made no progress for `progress_timeout`;
    its processes are then asked for their stacks, and it is ended with all its children. On Ctrl-C, or when `stop` is set (a
    worker thread sees no Ctrl-C), the runner is asked to end and has `grace` seconds to write its last event.

    Args:
        python: the interpreter, whose environment has the framework; the one that runs this unless given.
        hosts: of processes that have the framework imported already; without, the runner is started anew.
        cores: those that the runner will be on, None for all.
        options: of the runner's command line, before RUN_DIR.
        variables: of its environment, besides those of every runner. A host has its own.
        apart: which host it is, of several, see `Hosts.start`.
    """
    reader = EventReader(run_directory)
    earlier = len(reader.new())
    for name in (LOG_NAME, EVENTS_NAME):  # what a framework prints, or fails with, may name a store with its password
        (run_directory / name).touch(mode=0o600)
    kills = memory_kills()
    forked = None
    if hosts:
        log = run_directory / LOG_NAME
        try:
            forked = hosts.start(
                framework, run_directory, python=python, cores=cores, log=log, options=options, stop=stop, apart=apart
            )
        except KeyboardInterrupt:
            return Ending(None, is_interrupted=True, earlier_events=earlier)
    process = forked or _start(run_directory, framework, python=python, options=options, variables=variables or {})
    watch = _Silence(heartbeat_timeout=heartbeat_timeout, progress_timeout=progress_timeout)
    try:
        while process.poll() is None:
            for event in reader.new():
                watch.see(event)
                on_event(event)
            if hang := watch.hang():
                return Ending(None, hang=hang, processes=hung_processes(run_directory, group=process.pid), earlier_events=earlier)
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            time.sleep(0.1)
        return Ending(process.returncode, earlier_events=earlier, memory_kills=memory_kills() - kills)
    except KeyboardInterrupt:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(timeout=grace)
        return Ending(process.poll(), is_interrupted=True, earlier_events=earlier)
    finally:
        _end_group(process)
        remove_stacks(run_directory)
        for event in reader.new():
            on_event(event)


def _start(
    run_directory: Path, framework: str, *, python: Path | None, options: Sequence[str], variables: Mapping[str, str]
) -> subprocess.Popen:
    environment = {**environment_of_runners(project_root()), CONDUCTOR_VARIABLE: str(os.getpid()), **variables}
    with open(run_directory / LOG_NAME, "ab") as log:
        return subprocess.Popen(
            [str(python or sys.executable), "-m", f"runners.{framework}", *options, str(run_directory)],
            cwd=project_root(),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


class _Silence:
    """Tells a hang from long work: a heartbeat must come, and the progress that it reports must move."""

    def __init__(self, *, heartbeat_timeout: float, progress_timeout: float) -> None:
        self._heartbeat_timeout, self._progress_timeout = heartbeat_timeout, progress_timeout
        self._heard = self._moved = time.monotonic()
        self._progress = -1
        self._phase = "start"

    def see(self, event: dict) -> None:
        self._heard = time.monotonic()
        self._phase = event.get("phase", self._phase)
        if event["kind"] != "heartbeat" or event["progress"] != self._progress:
            self._moved = self._heard
            self._progress = event.get("progress", self._progress)

    def hang(self) -> str | None:
        now = time.monotonic()
        if now - self._heard > self._heartbeat_timeout:
            return f"no sign of life for {self._heartbeat_timeout:.0f} s in phase {self._phase}"
        if now - self._moved > self._progress_timeout:
            return f"no progress for {self._progress_timeout:.0f} s in phase {self._phase}"
        return None


def _end_group(process: subprocess.Popen | Forked) -> None:
    # The runner leads a process group of its own, so its number is the group's; children may outlive the leader.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
