"""Planted faults that a directory of runs speaks of: whose file would be run, and how its runs are marked.

A fault is a Python file, and resuming a directory runs the one that it names. So its checksum must be one that a command of this
user has been given: those are remembered in the cache directory, where no directory of runs reaches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from runners.contract.protocol.spec import FILE_NAME, RunSpec
from vigil.documents.invocation import Invocation
from vigil.errors import CannotRun, VigilError
from vigil.paths import cache_directory
from vigil.process.recording import read_record, spec_of


def remember(sha256: str) -> None:
    """Note that a command of this user named a file with this checksum. Where there is no cache, it is asked about later."""
    with contextlib.suppress(OSError, VigilError):
        path = _path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def is_own(sha256: str) -> bool:
    """Has a command of this user named a file with this checksum?"""
    with contextlib.suppress(OSError, ValueError, VigilError):
        return _path(sha256).is_file()
    return False


def faults_of(directory: Path, runs: Sequence[str]) -> list[dict[str, str]]:
    """Return the fault files that resuming these runs would execute, each once. Raises CannotRun for a spec that is damaged."""
    specs = (_spec(directory / name) for name in runs)
    found = {spec.fault["sha256"]: spec.fault for spec in specs if spec and spec.fault}
    return list(found.values())


def with_mark(directory: Path, invocation: Invocation) -> Invocation:
    """Return the invocation marked with the fault that any of its documents has: its own, a spec or a record.

    Raises:
        CannotRun: They have different ones, so that the directory was put together.
    """
    records = (read_record(directory / name) for name in invocation.runs)
    names = {invocation.fault, *(fault["name"] for fault in faults_of(directory, invocation.runs))}
    names = names | {record.fault.name for record in records if record and record.fault}
    marks = sorted(name for name in names if name is not None)
    if len(marks) > 1:
        raise CannotRun(f"{directory}: found different planted faults, {' and '.join(marks)}. Start a new invocation.")
    return invocation.replace(fault=marks[0]) if marks and invocation.fault is None else invocation


def _spec(run_directory: Path) -> RunSpec | None:
    if not (run_directory / FILE_NAME).exists():
        return None
    spec = spec_of(run_directory)
    if spec.fault is not None and not {"path", "name", "sha256"} <= spec.fault.keys():
        raise CannotRun(f"{run_directory / FILE_NAME}: fault: not a path, a name and a checksum. Start a new invocation.")
    return spec


def _path(sha256: str) -> Path:
    if not sha256.isalnum():
        raise ValueError(f"{sha256!r} is no checksum")
    return cache_directory() / "faults" / sha256
