"""Probes: a script on a release, in an environment of its own. What each came to is stored, and never made twice.

    <cache>/probes/<digest of the script>.jsonl    a line a run, with a digest of its own

A line that was cut off by the end of a process, or by a full disk, is no evidence: the run is made again.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runners.contract.files import digest_of_values
from runners.contract.protocol.faults import file_sha256
from vigil.errors import DirectoryError, EnvironmentFailed
from vigil.locks import locked
from vigil.narrow.outcome import NOT_INSTALLED, OTHERWISE, SECONDS, WRONG, Outcome, fault_argument, is_alike, run_script
from vigil.paths import cache_directory
from vigil.process.environment import describe_machine
from vigil.releases.resolve import Resolved
from vigil.releases.store import Tell, held

FOLDER = "probes"
_DIGITS = 32
# Variables that steer what libraries compute, or which ones are loaded.
_STEERING = re.compile(
    r"(XLA|LIBTPU|JAX|FLAX|TF|TENSORFLOW|KERAS|TORCH|PYTORCH|ATEN|ONEDNN|DNNL|MKL|OMP|KMP|GOMP|OPENBLAS|GOTO|BLIS|VECLIB|NPY|NUMPY"
    r"|NUMBA|NVIDIA|CUDA|CUBLAS|CUDNN|NCCL|TRITON|ROCM|HIP|HSA|MIOPEN|GLIBC|MALLOC|LD_|PYTHON(?!PATH$|HOME$))\w*"
)


@dataclasses.dataclass(frozen=True)
class Subject:
    """What is probed: a script, what it imports first, and what it says of the failure that is looked for.

    like: None: any WRONG is the failure.
    """

    script: Path
    framework: str
    modules: tuple[str, ...]
    like: str | None = None
    fault: Mapping[str, str] | None = None


class Prober:
    """Runs a script in environments, and remembers what came of it. Threads may share one."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        machine = describe_machine()
        # What a processor lacks, it computes otherwise: another one's outcomes are not taken for this one's.
        self._processor = f"{str(machine['hardware']).split(',')[0]}: {machine.get('cpu_flags')}"
        self._fault = str(subject.fault["sha256"]) if subject.fault else ""
        self._variables = digest_of_values(steering_variables(subject.script.read_text(encoding="utf-8")))
        self._path = cache_directory() / FOLDER / f"{file_sha256(subject.script)[:_DIGITS]}.jsonl"
        self._lock = threading.Lock()
        # Ends a script that runs, and lets none begin.
        self.stop = threading.Event()

    def stored(self, key: str) -> list[Outcome]:
        """Return what the runs in an environment, or of a release that has none, came to so far."""
        found = []
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        for line in lines:
            row = _row(line)
            # A line of before the variables were noted may have been made under any.
            if row and all(row.get(name) == value for name, value in self._conditions(key).items()):
                found.append(self._judged(Outcome(row["kind"], row["line"], row["seconds"])))
        return found

    def run(self, resolved: Resolved, runs: int, *, tell: Tell) -> list[Outcome]:
        """Return at least so many outcomes of a release: those that are stored, and more. One that is no evidence ends it.

        Raises:
            EnvironmentFailed: the environment cannot be built, which may pass. DirectoryError: the cache cannot be written.
        """
        outcomes = self.stored(resolved.key)
        if len(outcomes) >= runs or any(not each.is_evidence for each in outcomes):
            return outcomes
        with held(resolved, tell=tell) as python:
            while len(outcomes) < runs and all(each.is_evidence for each in outcomes) and not self.stop.is_set():
                outcomes.append(self.once(python, key=resolved.key))
        return outcomes

    def once(self, python: Path, *, key: str) -> Outcome:
        """Run the script once in an environment, and store what it came to."""
        outcome = run_script(
            self.subject.script, python, modules=self.subject.modules,
            fault=fault_argument(self.subject.fault, self.subject.framework), seconds=SECONDS,
            stop=self.stop,
        )  # fmt: skip
        if not outcome.may_pass:
            self._store(key, outcome)
        return self._judged(outcome)

    def has_none(self, release: str, error: EnvironmentFailed) -> Outcome:
        """Return as an outcome that a release cannot be installed, and store it where no other try can come to more."""
        last = next((line for line in reversed(error.log_tail) if line.strip()), "")
        outcome = Outcome(NOT_INSTALLED, f"{error.reason} {last}".strip(), 0.0)
        if error.is_final:
            self._store(release, outcome)
        return outcome

    def _conditions(self, key: str) -> dict[str, str]:
        """Return under what a run is made: one that was made under anything else says nothing of it."""
        return {"key": key, "processor": self._processor, "fault": self._fault, "variables": self._variables}

    def _judged(self, outcome: Outcome) -> Outcome:
        like = self.subject.like
        is_other = outcome.kind == WRONG and like is not None and not is_alike(like, outcome.line)
        return outcome._replace(kind=OTHERWISE) if is_other else outcome

    def _store(self, key: str, outcome: Outcome) -> None:
        said = {"kind": outcome.kind, "line": outcome.line, "seconds": outcome.seconds}
        row = {**self._conditions(key), **said, "time": round(time.time(), 1)}
        line = json.dumps({**row, "sha256": digest_of_values(row)})
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock, locked(self._path), open(self._path, "a", encoding="utf-8") as file:
                # A line that was cut off must not take this one with it.
                file.write(line + "\n" if self._ends_whole() else "\n" + line + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DirectoryError(
                f"{self._path}: cannot be written ({error.strerror}). Nothing that was found is lost: make room, or set "
                "VIGIL_CACHE_DIR, and give the same command again."
            ) from error

    def _ends_whole(self) -> bool:
        with open(self._path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            if not size:
                return True
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def steering_variables(text: str) -> dict[str, str]:
    """Return the user's variables that may change what a script says: those that steer libraries, and those that it names."""
    named = set(re.findall(r"""["'](\w+)["']""", text))
    return {name: value for name, value in sorted(os.environ.items()) if _STEERING.fullmatch(name) or name in named}


def _row(line: str) -> dict[str, Any] | None:
    """Return a line of the store; None for one that is not whole."""
    try:
        row = json.loads(line)
        digest = row.pop("sha256")
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    return row if digest == digest_of_values(row) else None


def modules_of(text: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return which of some modules a script imports, in their order."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return tuple(name for name in wanted if name in names)
