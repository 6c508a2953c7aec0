"""One row of the table: a framework in a mode and a precision, measured in processes of its own."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.throughput.alternate import BARE_RECIPES, RESULT_NAME, TURNS_NAME, bare_module, steps_needed
from benchmarks.throughput.rounds import Throughput, summarise
from runners.contract.protocol.events import EventReader
from runners.contract.protocol.spec import RunSpec, write_spec
from vigil.documents.context import Context
from vigil.errors import CannotRun
from vigil.paths import project_root
from vigil.process.build_spec import build_spec
from vigil.recipes.loading import identity_of, load_recipe

PROFILE = "quick"
STARTS = 3
_LOG_NAME = "log.txt"


@dataclasses.dataclass(frozen=True)
class Start:
    """Seconds from starting a process to the end of its first training step; None for a recipe that has no bare loop."""

    bare_seconds: float | None
    runner_seconds: float


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One cell: its speed and its start-up time (medians), or why it could not be measured."""

    recipe: str
    context: Context
    framework_version: str | None = None
    throughput: Throughput | None = None
    start: Start | None = None
    unsupported: str | None = None
    failure: str | None = None


def measure(recipe: str, context: Context, *, rounds: int, steps: int) -> Measurement:
    """Return the cell's numbers. A cell that fails comes back with its reason, so that the others are not lost."""
    try:
        result = alternate(recipe, context, rounds=rounds, steps=steps)
        if "unsupported" in result:
            return Measurement(recipe, context, unsupported=result["unsupported"])
        starts = [measure_start(recipe, context) for _ in range(STARTS)]
    except CannotRun as error:
        return Measurement(recipe, context, failure=str(error))
    bare = [start.bare_seconds for start in starts if start.bare_seconds is not None]
    start = Start(statistics.median(bare) if bare else None, statistics.median(each.runner_seconds for each in starts))
    throughput = summarise(result["rounds"], images=steps * training_of_profile(recipe)["batch_size"])
    return Measurement(recipe, context, result["framework_version"], throughput, start)


def training_of_profile(recipe: str) -> dict[str, Any]:
    """Return the resolved content of the profile that is measured."""
    return load_recipe(recipe).resolve(PROFILE)


def alternate(recipe: str, context: Context, *, rounds: int, steps: int) -> dict[str, Any]:
    """Let a runner and others take turns in one process; return its result. Raises CannotRun when it fails."""
    training = training_of_profile(recipe)
    total = steps_needed(rounds=rounds, steps=steps)
    # One small evaluation at the very end: what is measured is training.
    data = {**training["data"], "n_test": training["evaluation_batch_size"]}
    training |= {"data": data, "steps": total, "evaluate_every_steps": total, "checkpoint_every_steps": total}
    with tempfile.TemporaryDirectory(prefix="vigil-bench-") as name:
        directory = Path(name)
        write_spec(directory, make_spec(recipe, context, training))
        (directory / TURNS_NAME).write_text(json.dumps({"steps": steps}), encoding="utf-8")
        with started(["benchmarks.throughput.alternate", name], log=directory / _LOG_NAME) as process:
            if process.wait() != 0:
                raise failed(context.text, process, directory / _LOG_NAME)
        return json.loads((directory / RESULT_NAME).read_text(encoding="utf-8"))


def measure_start(recipe: str, context: Context) -> Start:
    """Start the bare script, if there is one, then the runner. Raises CannotRun when one ends before its first step."""
    with tempfile.TemporaryDirectory(prefix="vigil-bench-") as name:
        bare = _seconds_of_bare(recipe, context, Path(name)) if recipe in BARE_RECIPES else None
        write_spec(Path(name), make_spec(recipe, context, training_of_profile(recipe)))
        return Start(bare, _seconds_of_runner(context, Path(name)))


def make_spec(name: str, context: Context, training: dict[str, Any]) -> RunSpec:
    """Return the spec of a run that is measured and thrown away."""
    recipe = load_recipe(name)
    return build_spec(
        run_id="benchmark",
        recipe=identity_of(recipe, PROFILE),
        training=training,
        context=context,
        seed=0,
        data_directory=None,
        fault=None,
    )


@contextlib.contextmanager
def started(module: list[str], *, log: Path, output: int | None = None) -> Iterator[subprocess.Popen]:
    """Run `python -m MODULE`, log what it writes, and end it with its children when the block is left."""
    environment = {**os.environ, "PYTHONPATH": str(project_root()), "PYTHONUNBUFFERED": "1"}
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", *module],
            cwd=project_root(),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output or file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        # It leads a process group of its own; what it started, such as a compiler's workers, may outlive it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout:
            process.stdout.close()


def failed(what: str, process: subprocess.Popen, log: Path) -> CannotRun:
    """Return the error of a process that ended too early, with its last words."""
    process.wait()
    tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:])
    return CannotRun(f"{what}: ended with exit code {process.returncode} before it was measured. Its last lines:\n{tail}")


def _seconds_of_bare(recipe: str, context: Context, directory: Path) -> float:
    module = [bare_module(recipe, context.framework), context.mode, context.precision, "1"]
    begun = time.perf_counter()
    with started(module, log=directory / _LOG_NAME, output=subprocess.PIPE) as process:
        for line in process.stdout:
            if line.startswith(b"1 "):
                return time.perf_counter() - begun
        raise failed(f"{context.text}, bare script", process, directory / _LOG_NAME)


def _seconds_of_runner(context: Context, directory: Path) -> float:
    reader = EventReader(directory)
    begun = time.time()
    with started([f"runners.{context.framework}", str(directory)], log=directory / _LOG_NAME) as process:
        while True:
            has_ended = process.poll() is not None
            for event in reader.new():
                if event["kind"] == "steps":
                    return event["time"] - begun
            if has_ended:
                raise failed(f"{context.text}, runner", process, directory / _LOG_NAME)
            time.sleep(0.02)
