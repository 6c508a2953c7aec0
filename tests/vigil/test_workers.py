"""Functions called in processes of their own: what comes back, what is told on the way, and that no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError

import numpy  # noqa: F401 - the library whose threads are counted
import psutil
import pytest
from threadpoolctl import threadpool_info

from vigil.errors import CannotRun, UsageError
from vigil.paths import project_root
from vigil.process.workers import Workers


def square(number, tell):
    tell()
    tell()
    return os.getpid(), number * number


def threads(tell):
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def refuse(tell):
    raise UsageError("no such thing")


def end(tell):
    os.kill(os.getpid(), signal.SIGKILL)


def sleep(tell):
    tell()
    time.sleep(600.0)


def tell_always(tell):
    while True:
        tell()


def test_a_process_answers_call_after_call():
    """It is started once; what it tells is heard; it has one thread of BLAS; it ends with those who asked."""
    told = []
    with Workers(lambda: None) as workers:
        (first, nine), (second, sixteen) = (workers.call(square, n, on_progress=lambda: told.append(1)) for n in (3, 4))
        assert (nine, sixteen, len(told)) == (9, 16, 4)
        assert first == second != os.getpid()
        assert set(workers.call(threads)) == {1}
    assert not psutil.pid_exists(first)


def test_an_error_comes_back_as_it_was_raised():
    """With its type and words; the process that raised it is not used again, one that was killed is told of."""
    with Workers(lambda: None) as workers:
        with pytest.raises(UsageError, match="no such thing"):
            workers.call(refuse)
        with pytest.raises(CannotRun, match="exit code -9"):
            workers.call(end)
        assert workers.call(square, 2)[1] == 4


def _workers() -> list[psutil.Process]:
    """Return the processes of this one that calls are made in; other tests have processes here, too."""
    return [each for each in psutil.Process().children() if "vigil.process.workers" in each.cmdline()]


@pytest.mark.parametrize("function", [sleep, tell_always])
def test_a_call_ends_when_it_is_told_to(function):
    """What `check` raises is raised, and the process that would go on is ended, whether it is silent or never is."""
    asked = []

    def check():
        if asked:
            raise CancelledError

    with Workers(check) as workers, pytest.raises(CancelledError):
        workers.call(function, on_progress=lambda: asked.extend(_workers()))
    assert not [process for process in asked if process.is_running()]


def test_a_process_ends_with_the_one_that_started_it():
    """Killed, that one can end nothing itself."""
    script = (
        "import os, signal\nfrom tests.vigil.test_workers import square\nfrom vigil.process.workers import Workers\n"
        "print(Workers(lambda: None).call(square, 2)[0], flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=project_root(), capture_output=True, text=True, timeout=60, check=False
    )
    pid, deadline = int(ended.stdout), time.monotonic() + 30.0
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(pid)
