"""Runners that start from a process which has imported their framework already: an import costs more than a tiny run.

By the hosts of `vigil.process.hosts`, one a framework for each test process. `python -m runners.FRAMEWORK` itself is what
test_start.py and the tests of the command line in tests/verify/test_frameworks.py start.
"""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from vigil.process.execute import LOG_NAME
from vigil.process.hosts import Forked, Host
from vigil.process.side_by_side import available_cores

_hosts: dict[str, Host] = {}


def share_of_cores() -> tuple[int, ...]:
    """Return the cores of this test process's runners: at most two, and under pytest-xdist the worker's own (own_core.py)."""
    return tuple(available_cores()[:2])


def start(framework: str, module: str, *arguments: str, log: Path, is_conducted: bool = False) -> Forked:
    """Run `python -m MODULE ARGUMENTS`, or a script, in a process that has the framework imported."""
    if framework not in _hosts:
        _hosts[framework] = Host(framework, python=Path(sys.executable), cores=share_of_cores())
        atexit.register(_hosts[framework].close)
    return _hosts[framework].start(module, *arguments, log=log, is_conducted=is_conducted)


def ask(framework: str, module: str, *arguments: str, folder: Path) -> str:
    """Return what a module or script prints that has the framework imported. It must end well; `folder` takes its log."""
    log = folder / f"log-{time.monotonic_ns()}.txt"
    exit_code = start(framework, module, *arguments, log=log).wait()
    printed = log.read_text(encoding="utf-8", errors="replace")
    assert exit_code == 0, printed[-3000:]
    return printed


def execute_start(
    run_directory: Path, framework: str, *, python: Path | None, options: Sequence[str], variables: Mapping[str, str]
) -> Forked:
    """Start a runner as the conductor does, in the place of `vigil.process.execute._start`."""
    assert python is None, "a release of its own needs a Python of its own"
    assert not options, "a forked runner takes a run"
    assert not variables, "a forked runner has the environment of its parent"
    log = run_directory / LOG_NAME
    return start(framework, f"runners.{framework}", str(run_directory), log=log, is_conducted=True)
