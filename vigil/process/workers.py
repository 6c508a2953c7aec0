"""Functions called in processes of their own, where threads of one would wait for each other.

NumPy lets go of the interpreter in every operation, and asks for it again. On a batch of four images operations take
microseconds: of a ResNet-14 two threads drew no more than one (bf16, 59 ms a draw; alone 46). A process lives until `Workers`
is left, or until what started it ends, whose end of the pipe closes then.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from vigil.errors import CannotRun
from vigil.paths import project_root

_CHECK_SECONDS = 0.1
# Arrays are made and dropped by the hundred. What malloc gives back to the system comes again page by page: a fifth of a draw on
# 64 images of a ResNet-14 (0.83 processor seconds, and 0.66 with this). Other systems than Linux read none of it.
_KEEP_MEMORY = "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=4294967296"


class _Returned(NamedTuple):
    value: Any


class _Raised(NamedTuple):
    error: Exception
    where: str


class _Worker:
    """One process, and this end of its pipe."""

    def __init__(self) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "vigil.process.workers", str(theirs.fileno())],
            cwd=project_root(),
            env={"GLIBC_TUNABLES": _KEEP_MEMORY, **os.environ, "PYTHONPATH": str(project_root())},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # Ctrl-C is for what started it, which ends it
        )
        theirs.close()

    def call(self, function: Callable, arguments: tuple, *, on_progress: Callable[[], None], check: Callable[[], None]) -> Any:
        try:
            self._pipe.send((function, arguments))
            while True:
                check()
                if not self._pipe.poll(_CHECK_SECONDS):
                    continue
                found = self._pipe.recv()
                if isinstance(found, _Returned):
                    return found.value
                if isinstance(found, _Raised):
                    raise found.error from RuntimeError(found.where)
                on_progress()
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            raise CannotRun(
                f"a process of the oracle ended before its answer (exit code {self._process.wait()}). "
                "If that is -9, the system may have run out of memory: close what else is running, and try again."
            ) from error

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._pipe.close()


class Workers:
    """Processes that functions are called in, each started when no other is free; left, they end at once.

    Args:
        check: called ten times a second, and whenever something is told; what it raises ends the call, and the process.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self._check, self._lock = check, threading.Lock()
        self._free: list[_Worker] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for worker in self._free:
            worker.end()

    def call(self, function: Callable, *arguments: Any, on_progress: Callable[[], None] = lambda: None) -> Any:
        """Return function(*arguments, tell): at each call of `tell`, on_progress is called here. Any thread may ask."""
        with self._lock:
            worker = self._free.pop() if self._free else _Worker()
        try:
            found = worker.call(function, arguments, on_progress=on_progress, check=self._check)
        except BaseException:
            worker.end()
            raise
        with self._lock:
            self._free.append(worker)
        return found


def _serve(pipe: Connection) -> None:
    """Make the calls that come by the pipe, until its other end is closed."""
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            # A core each. Not before the call is read: that imports the libraries which have the threads.
            with threadpool_limits(1, user_api="blas"):
                found = function(*arguments, lambda: pipe.send(None))
            pipe.send(_Returned(found))
        except BrokenPipeError:
            return
        except Exception as error:
            pipe.send(_Raised(error, traceback.format_exc()))


if __name__ == "__main__":
    # By its own name, which both ends know the classes by.
    from vigil.process import workers

    workers._serve(Connection(int(sys.argv[1])))
