"""What keeping checkpoints costs a run, and how long a replay takes: one number that is not finite, in one of 3,000 steps.

    python -m benchmarks.replay cost
    python -m benchmarks.replay plants [torch tensorflow jax]
"""

from __future__ import annotations

import argparse
import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from reports.tables import markdown_table
from runners.contract.kinds import weights
from runners.contract.kinds.table import kind_of
from runners.contract.protocol.checkpoint import CHECKPOINT, State, save_checkpoint, save_state, what_is_not_finite
from runners.contract.protocol.spec import write_spec
from vigil.documents.context import make_context
from vigil.documents.replay import Replay
from vigil.paths import project_root
from vigil.process.build_spec import build_spec, fault_entry
from vigil.process.execute import execute
from vigil.process.recording import make_record
from vigil.recipes.loading import identity_of, load_recipe, recipe_names
from vigil.replay.replay import replay

_TURNS, _STEPS, _BAD, _EVERY = 31, 3000, 2578, 100
_FAULT = project_root() / "tests" / "faults" / "nan_at_one_batch.py"


def cost() -> str:
    """Return what a checkpoint takes, plain and with the look at it and the ones that are kept, in turns."""
    rows = []
    for name in recipe_names():
        training = load_recipe(name).resolve("quick")
        state = weights.initial_state(training, seed=0)
        with tempfile.TemporaryDirectory(dir=".") as folder:
            plain, kept = _saved_in_turns(Path(folder), state)
        each, every = 1000.0 * (kept - plain), training["checkpoint_every_steps"]
        size = sum(np.asarray(array).nbytes for array in state.values()) / 2**20
        ratio = f"{kept / plain:.2f}"
        rows.append((name, f"{size:.1f}", f"{1000 * plain:.1f}", f"{1000 * kept:.1f}", ratio, f"{1000 * each / every:.1f}"))
    columns = ("recipe", "state, MiB", "plain, ms", "kept, ms", "ratio", "more a step, us")
    return "\n".join(markdown_table(columns, rows))


def _saved_in_turns(folder: Path, state: State) -> tuple[float, float]:
    """Return the median seconds of a plain save, and of one that looks at the state and keeps the one before."""

    def kept(step: int) -> None:
        if what_is_not_finite(state):
            raise ValueError("a first state is finite")
        save_checkpoint(folder, state, step=step, last=step - 1 if step else None)

    def plain(step: int) -> None:
        save_state(folder / f"plain-{CHECKPOINT}", state, step=step)

    times: dict[Callable[[int], None], list[float]] = {plain: [], kept: []}
    for step in range(_TURNS):
        for save in (plain, kept) if step % 2 else (kept, plain):
            began = time.perf_counter()
            save(step)
            times[save].append(time.perf_counter() - began)
    return statistics.median(times[plain]), statistics.median(times[kept])


def plants(frameworks: list[str]) -> str:
    """Return how replays of planted numbers go, a row each."""
    rows = [
        _planted(framework, place, value)
        for framework in frameworks
        for place, value in (("output", math.inf), ("gradient", math.nan))
    ]
    columns = ("context", "planted", "the run says", "steps again", "equal losses", "found", "to the step, s", "with all, s")
    return "\n".join(markdown_table(columns, rows))


def _planted(framework: str, place: str, value: float) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "run"
        run.mkdir()
        recipe = load_recipe("digits_mlp")
        training: dict[str, Any] = recipe.resolve("quick")
        training |= {"steps": _STEPS, "evaluate_every_steps": 500, "checkpoint_every_steps": _EVERY}
        # DIFFERS(torch): a trace forgets the hook that the fault puts on a gradient.
        context = make_context(framework=framework, mode="eager" if framework == "torch" else "jit")
        kind = kind_of(training)
        images, _ = kind.make_batches(kind.load(training["data"], None), training, seed=0).train(_BAD - 1)
        file = Path(shutil.copy(_FAULT, name))
        rows = images.reshape(len(images), -1)[:3]
        np.savez(file.with_name("trigger.npz"), rows=rows, value=value, batch=len(images), element=(7, 17), place=place)
        spec = build_spec(
            run_id="planted",
            recipe=identity_of(recipe, "quick"),
            training=training,
            context=context,
            seed=0,
            data_directory=None,
            fault=fault_entry(str(file)),
        )
        write_spec(run, spec)
        ending = execute(run, framework, on_event=lambda event: None)
        record = make_record(run, invocation_id="benchmark", context=context, ending=ending)
        said = record.failure.message if record.failure else "nothing"
        document, _ = replay(run, command="python -m benchmarks.replay plants")
        return (context.text, f"{value} in the {place}, step {_BAD}", said.partition(":")[0], *_found(document))


def _found(document: Replay) -> tuple[str, ...]:
    way, origin = document.retraced, document.origin
    told = f"step {document.step}: {origin.tensor} {list(origin.index)}" if origin else document.state
    return f"{way.steps}", f"{way.equal} of {way.steps}", told, f"{way.seconds:.1f}", f"{document.seconds:.1f}"


def main() -> None:
    """Print one of the two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cost", "plants"))
    parser.add_argument("frameworks", nargs="*", default=["torch", "tensorflow", "jax"])
    arguments = parser.parse_args()
    print(cost() if arguments.what == "cost" else plants(arguments.frameworks))


if __name__ == "__main__":
    main()
