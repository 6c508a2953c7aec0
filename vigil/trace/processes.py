"""One run of a traced script: a fresh process with the user's interpreter, environment and folder, ended with all it started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from runners.contract.trace.records import DONE, EXPERIMENT, OPERATORS, PARTED, RECORDS, Ask
from vigil.errors import CannotRun
from vigil.paths import project_root
from vigil.redaction import redact
from vigil.trace.launch import COMMAND, THREAD

LOG = "log.txt"
# A library starts as many threads as these say.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), "1"
)


class Script(NamedTuple):
    """What is run. seconds: after which a run is ended, None for never."""

    path: Path
    arguments: tuple[str, ...]
    python: Path
    seconds: float | None


class Run(NamedTuple):
    """A run that has ended. problem: why it has not come to its end, None if it has."""

    folder: Path
    problem: str | None
    log: tuple[str, ...]

    @property
    def records(self) -> Path:
        return self.folder / RECORDS

    @property
    def operators(self) -> Path:
        return self.folder / OPERATORS

    @property
    def parted(self) -> Path:
        return self.folder / PARTED

    @property
    def done(self) -> dict[str, Any]:
        return json.loads((self.folder / DONE).read_text(encoding="utf-8"))

    @property
    def experiment(self) -> dict[str, Any] | None:
        file = self.folder / EXPERIMENT
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def run_traced(script: Script, folder: Path, ask: Ask, *, changes: Sequence[str] = (), hash_seed: str | None = None) -> Run:
    """Run a script once, traced, in the folder where the user is."""
    folder.mkdir(parents=True)
    ask.write(folder)
    own = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    own |= _ONE_THREAD if THREAD in changes else {}
    own |= {"PYTHONHASHSEED": hash_seed} if hash_seed is not None else {}
    command = [str(script.python), "-c", COMMAND, str(project_root()), str(folder.resolve()), ",".join(changes)]
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            process = subprocess.Popen(
                [*command, str(script.path), *script.arguments], env=own, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise CannotRun(f"{script.python}: {error.strerror}. Allowed: the interpreter of an environment.") from error
        try:
            code = process.wait(timeout=script.seconds)
            problem = None if code == 0 else _said_by(code)
        except subprocess.TimeoutExpired:
            problem = f"not done after {time.monotonic() - began:.0f} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.seek(0)
        text = redact(log.read())
    (folder / LOG).write_text(text, encoding="utf-8")
    if problem is None and not (folder / DONE).exists():
        problem = "ended before its last line, without an error"
    return Run(folder, problem, tuple(line for line in text.splitlines() if line.strip()))


def _said_by(code: int) -> str:
    return f"ended by signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
