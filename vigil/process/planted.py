"""Planted faults that a directory of runs speaks of: whose file would be run, and how its runs are marked.

A fault is a Python file, and resuming a directory runs the one that it names. So its checksum must be one that a command of this
user has been given (`vigil.process.consent`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runners.contract.protocol.spec import FILE_NAME, RunSpec
from vigil.documents.invocation import Invocation
from vigil.errors import CannotRun
from vigil.process.recording import read_record, spec_of


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
