"""A script that shows one failure, run once: right, wrong in the way that is looked for, wrong otherwise, or no evidence.

A script prints a line that begins with RIGHT or WRONG, and ends in exit code 0 or 1. Both must agree: an uncaught exception ends
in exit code 1 as well, and a search that takes any such end for the failure blames innocent releases.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from vigil.paths import project_root
from vigil.redaction import redact

RIGHT, WRONG, OTHERWISE = "right", "wrong", "wrong otherwise"
# No evidence of anything: the script ended in an error, the framework or a library does not start, or there is no environment.
FAILED, NOT_STARTED, NOT_INSTALLED = "another failure", "cannot start", "cannot be installed"
EVIDENCE = (RIGHT, WRONG, OTHERWISE)
SECONDS = 300.0
_LONGEST = 400
_POLL_SECONDS = 0.5
_NUMBERS = re.compile(r"\bgot (\S+) expected (\S+)")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Warning)\b")
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_OF_MACHINE = re.compile(
    r"No space left on device|Disk quota exceeded|MemoryError|[Cc]annot allocate memory|bad_alloc|RESOURCE_EXHAUSTED: Out of"
)
# How many times as large an error may be on another release, and be the same failure.
_ALIKE = 4.0
# The framework is imported first, so that what it lacks here is told from what the script does. A variable that was set for the
# script stays as it is when the script sets it itself, and flags of XLA come to the script's own: else a switch would be tried
# that is not there, and said to hide nothing.
_LAUNCHER = """
import importlib, json, os, runpy, sys
script, modules, prelude, fault, variables = sys.argv[1:6]
sys.argv = [script]
variables = json.loads(variables)
change, remove = os._Environ.__setitem__, os._Environ.__delitem__
def changed(environ, name, value):
    own = value + " " if name == "XLA_FLAGS" else ""
    change(environ, name, own + variables[name] if name in variables else value)
def removed(environ, name):
    changed(environ, name, "") if name in variables else remove(environ, name)
os._Environ.__setitem__, os._Environ.__delitem__ = changed, removed
for name in filter(None, modules.split(",")):
    try:
        importlib.import_module(name)
    except BaseException as error:
        print("CANNOT START", name, type(error).__name__, *str(error).strip().splitlines()[:1])
        raise SystemExit(3)
if fault:
    root, framework, path, digest = fault.split("|")
    sys.path.insert(0, root)
    from runners.contract.protocol import faults
    faults.install({"path": path, "sha256": digest}, framework)
exec(prelude)
runpy.run_path(script, run_name="__main__")
"""


class Outcome(NamedTuple):
    """What one run of a script came to. line: what it said, or the line of its log that decides.

    may_pass: it is no evidence for a reason of the machine's, as a full disk: another run may say something.
    """

    kind: str
    line: str
    seconds: float
    may_pass: bool = False

    @property
    def is_evidence(self) -> bool:
        return self.kind in EVIDENCE


def run_script(
    script: Path,
    python: Path,
    *,
    modules: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    prelude: str = "",
    fault: str = "",
    like: str | None = None,
    seconds: float = SECONDS,
    stop: threading.Event | None = None,
) -> Outcome:
    """Run a script in a fresh process of an interpreter, in a folder of its own.

    Args:
        modules: imported first; where one cannot be, the outcome is NOT_STARTED.
        variables: of the environment, besides the user's; the script cannot set them otherwise.
        prelude: Python that is carried out after the imports and before the script.
        fault: a planted fault, as `fault_argument` makes it.
        like: what the script says of the failure that is looked for; None: any WRONG is it.
        seconds: after which it is ended, with all that it has started.
        stop: ends it, too.
    """
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    # A program from a cache of the user's would show neither the release nor the switch that it is run with.
    own["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    command = [str(python), "-c", _LAUNCHER, str(script.resolve()), ",".join(modules), prelude, fault]
    command.append(json.dumps(dict(variables or {})))
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="vigil-") as folder,
        open(Path(folder) / "log.txt", "w+", encoding="utf-8", errors="replace") as log,
    ):
        try:
            process = subprocess.Popen(
                command, cwd=folder, env={**quiet, **own, **(variables or {})}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return Outcome(NOT_STARTED, f"{python}: {error.strerror}", time.monotonic() - began, may_pass=True)
        try:
            while (code := _waited(process, _POLL_SECONDS)) is None and time.monotonic() - began < seconds:
                if stop and stop.is_set():
                    return Outcome(FAILED, "stopped", time.monotonic() - began, may_pass=True)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if code is None:
            return Outcome(FAILED, f"not done after {seconds:.0f} s", time.monotonic() - began, may_pass=True)
        log.seek(0)
        # Where an environment lies on this machine is nothing that a report should say.
        home = str(Path(python).absolute().parent.parent)
        # What is cut first may be half a secret that nobody knows for one.
        lines = [redact(line.rstrip().replace(home, "..."))[:_LONGEST] for line in log.read().splitlines() if line.strip()]
    return outcome_of(code, lines, like=like, seconds=round(time.monotonic() - began, 2))


def _waited(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(timeout=seconds)
    return None


def outcome_of(code: int, lines: Sequence[str], *, like: str | None = None, seconds: float = 0.0) -> Outcome:
    """Return what an exit code and the lines of a log say."""
    said = next((line for line in reversed(lines) if re.match(r"(RIGHT|WRONG|CANNOT START)\b", line)), None)
    may_pass = -code in _FROM_OUTSIDE or any(_OF_MACHINE.search(line) for line in lines)
    if said and said.startswith("CANNOT START") and code == 3:
        return Outcome(NOT_STARTED, said.removeprefix("CANNOT START "), seconds, may_pass)
    if said and said.startswith("RIGHT") and code == 0:
        return Outcome(RIGHT, said, seconds)
    if said and said.startswith("WRONG") and code == 1:
        return Outcome(WRONG if like is None or is_alike(like, said) else OTHERWISE, said, seconds)
    if code < 0:
        last = f"ended by signal {signal.Signals(-code).name}"
    elif said is None and code in (0, 1) and not _is_error(lines):
        last = "says neither RIGHT nor WRONG"
    else:
        # JAX says more after the line of the exception.
        raised = [line for line in lines if _EXCEPTION.match(line)]
        last = (raised or lines or [f"exit code {code}, and nothing said"])[-1]
    return Outcome(FAILED, last, seconds, may_pass)


def _is_error(lines: Sequence[str]) -> bool:
    return any(line.startswith("Traceback (most recent call last)") for line in lines)


def is_alike(like: str, said: str) -> bool:
    """Do two lines tell of the same failure: errors of one sign, neither of them more than four times the other?

    Lines without two numbers are of the same failure: the script alone knows what it looks for.

    >>> is_alike("WRONG got 1.5 expected 1.0", "WRONG got 1.6 expected 1.0")
    True
    >>> is_alike("WRONG got 1.5 expected 1.0", "WRONG got 0.5 expected 1.0")
    False
    """
    one, other = _error_in(like), _error_in(said)
    if one is None or other is None:
        return True
    if not (math.isfinite(one) and math.isfinite(other)):
        return str(one) == str(other)
    return one * other > 0 and max(abs(one), abs(other)) <= _ALIKE * min(abs(one), abs(other))


def like_of(lines: Sequence[str]) -> str | None:
    """Return the line that tells a failure from others; None where its own runs do not tell of one, so that any WRONG is it."""
    is_one = all(is_alike(one, other) for one, other in itertools.combinations(lines, 2))
    return lines[0] if lines and is_one else None


def _error_in(line: str) -> float | None:
    found = _NUMBERS.search(line)
    try:
        return float(found[1]) - float(found[2]) if found else None
    except ValueError:
        return None


def fault_argument(fault: Mapping[str, str] | None, framework: str) -> str:
    """Return what `run_script` takes of a planted fault."""
    return "|".join((str(project_root()), framework, fault["path"], fault["sha256"])) if fault else ""
