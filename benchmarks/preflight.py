"""What a preflight finds of what would fail late: thirty planted failures, each after most of a run's work would be done.

    python -m benchmarks.preflight > docs/preflight-table.md

Each is planted in a run of `digits_mlp` in PyTorch, or in what the conductor does around it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from reports.tables import markdown_table
from vigil.documents.context import make_context
from vigil.documents.preflight import HOLDS, Preflight
from vigil.errors import VigilError
from vigil.process.build_spec import fault_entry
from vigil.process.environment import describe_machine
from vigil.recipes.loading import load_recipe
from vigil.runs import rehearsal
from vigil.runs.plan import Request

_IN_RUNNER = """
def install():
    import numpy as np
    import os
    import signal
    import torch
    from runners.contract.data import batches
    from runners.contract.protocol import checkpoint, events, session
    from runners.torch import train
    evaluate, get_state, save, step = (
        train.Trainer.evaluate, train.Trainer.get_state, checkpoint.save_state, train.Trainer.train_step)
"""


class Plant(NamedTuple):
    """One failure. late: when it would come without a preflight. fault: lines that are planted in the runner.

    patched: what is replaced in the conductor, by dotted name. variables: of the environment; `{folder}` is a fresh one.
    found: the check that finds it, None for what cannot be found.
    """

    name: str
    late: str
    found: str | None
    fault: str = ""
    patched: tuple[tuple[str, object], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    options: tuple[tuple[str, object], ...] = ()


def _raises(error: Exception) -> object:
    def raising(*facts: object, **more: object) -> None:
        raise error

    return raising


_FIRST, _LAST, _STATE = "first steps", "last step", "a checkpoint is read"
PLANTS = (
    Plant("evaluation raises", "first evaluation", _FIRST, """
def evaluate(self, batches):
    raise RuntimeError("stack expects each tensor to be equal size")
train.Trainer.evaluate = evaluate
"""),
    Plant("a module is missing that evaluation imports", "first evaluation", _FIRST, """
def evaluate(self, batches):
    import a_metric_package
train.Trainer.evaluate = evaluate
"""),
    Plant("evaluation takes more memory than there is", "first evaluation", _FIRST, """
def evaluate(self, batches):
    torch.empty(2**50)
train.Trainer.evaluate = evaluate
"""),
    Plant("killed in evaluation, as for want of memory", "first evaluation", _FIRST, """
def evaluate(self, batches):
    os.kill(os.getpid(), signal.SIGKILL)
train.Trainer.evaluate = evaluate
"""),
    Plant("evaluation reads a file that is not there", "first evaluation", _FIRST, """
def evaluate(self, batches):
    return open("labels-of-the-test-set.txt")
train.Trainer.evaluate = evaluate
"""),
    Plant("the metric is not a number", "the verdict", "metric", """
train.Trainer.evaluate = lambda self, batches: dict.fromkeys(evaluate(self, batches), float("nan"))
session.TRAIN_LOSS = "another"
"""),
    Plant("the metric is missing", "the record", "metric", """
train.Trainer.evaluate = lambda self, batches: {}
session.TRAIN_LOSS = "another"
"""),
    Plant("the test set has labels that the model lacks", "first evaluation", _FIRST, """
def evaluate(self, batches):
    return np.eye(10)[np.array([3, 10])]
train.Trainer.evaluate = evaluate
"""),
    Plant("the state cannot be gathered", "first checkpoint", _FIRST, """
def get_state(self):
    raise TypeError("can't convert cuda:0 device type tensor to numpy")
train.Trainer.get_state = get_state
"""),
    Plant("the disk is full when a checkpoint is saved", "first checkpoint", _FIRST, """
def save_state(path, state, *, step):
    raise OSError(28, "No space left on device", str(path))
checkpoint.save_state = save_state
"""),
    Plant("a checkpoint may not be written", "first checkpoint", _FIRST, """
def save_state(path, state, *, step):
    raise PermissionError(13, "Permission denied", str(path))
checkpoint.save_state = save_state
"""),
    Plant("a checkpoint is cut off", "resume", _STATE, """
def save_state(path, state, *, step):
    save(path, state, step=step)
    if path.name == "checkpoint.npz":
        os.truncate(path, path.stat().st_size // 2)
checkpoint.save_state = save_state
"""),
    Plant("a checkpoint lacks the optimizer", "resume", _STATE, """
def save_state(path, state, *, step):
    kept = {name: each for name, each in state.items() if name.startswith(("params", "stats"))}
    save(path, kept if path.name == "checkpoint.npz" else state, step=step)
checkpoint.save_state = save_state
"""),
    Plant("a checkpoint holds what is not finite", "resume", _STATE, """
def save_state(path, state, *, step):
    save(path, {name: each * float("nan") if name.startswith("params") else each for name, each in state.items()}, step=step)
checkpoint.save_state = save_state
"""),
    Plant("a checkpoint cannot be loaded into the model", "resume", _LAST, """
own = train.Trainer.set_state
def set_state(self, state):
    if any(np.abs(each).max() > 0 for name, each in state.items() if not name.startswith(("params", "stats")) and each.size):
        raise RuntimeError("Error(s) in loading state_dict")
    own(self, state)
train.Trainer.set_state = set_state
"""),
    Plant("the final state cannot be saved", "the end", _FIRST, """
def save_state(path, state, *, step):
    if path.name == "final.npz":
        raise OSError(28, "No space left on device", str(path))
    save(path, state, step=step)
checkpoint.save_state = save_state
"""),
    Plant("it dies when all is done", "the end", _FIRST, """
def finish(self, state):
    os.kill(os.getpid(), signal.SIGSEGV)
session.Session.finish = finish
"""),
    Plant("the last event cannot be written", "the end", _FIRST, """
own = events.EventWriter.emit
def emit(self, kind, **fields):
    if kind == "finished":
        raise OSError(28, "No space left on device")
    own(self, kind, **fields)
events.EventWriter.emit = emit
"""),
    Plant("the examples of the last epoch run out", "the last epoch", _LAST, """
own = batches.Batches._index
def index(self, step):
    if step > 100:
        raise IndexError("index 1500 is out of bounds for axis 0 with size 1500")
    return own(self, step)
batches.Batches._index = index
"""),
    Plant("the last step is refused", "the last step", _LAST, """
own = session.Session.stepped
def stepped(self, loss):
    own(self, loss)
    if self.step == 135:
        raise ZeroDivisionError("float division by zero")
session.Session.stepped = stepped
"""),
    Plant("the learning rate ends in no number", "the last steps", "learning rate",
          patched=(("vigil.runs.rehearsal.learning_rate", lambda schedule, step: 0.1 if step < 130 else float("nan")),)),
    Plant("reference rows are damaged", "the verdict", "judgement and report",
          patched=(("vigil.runs.rehearsal.judge_records", _raises(VigilError("digits_mlp.jsonl: was altered"))),)),
    Plant("the report cannot be drawn", "the report", "judgement and report",
          options=(("render", _raises(OSError(2, "No such file or directory", "templates/base.html"))),)),
    Plant("the disk will be full", "after some of the seeds", "room for all of it",
          patched=(("vigil.runs.rehearsal.shutil.disk_usage", lambda path: mock.Mock(free=310 * 2**20)),),
          options=(("seeds", tuple(range(200))),)),
    Plant("memory is short", "any step", "memory",
          patched=(("vigil.runs.rehearsal.available_memory", lambda: 64 * 2**20),)),
    Plant("the temporary folder is none", "where it is needed", "places that are written",
          patched=(("vigil.runs.checks.tempfile.gettempdir", lambda: "/dev/null/tmp"),)),
    Plant("references may not be written", "after the first run", "places that are written",
          options=(("folders", (Path("/proc/vigil"),)),)),
    Plant("the tracker does not answer", "after the last run", "tracker",
          variables=(("MLFLOW_TRACKING_URI", "http://127.0.0.1:9"),)),
    Plant("step 77 alone fails", "step 77", None, """
own = session.Session.stepped
def stepped(self, loss):
    own(self, loss)
    if self.step == 77:
        raise RuntimeError("a step in the middle")
session.Session.stepped = stepped
"""),
    Plant("a test image beyond the first batch is damaged", "first evaluation", None, """
own = batches.Batches._plain
def plain(self, images, labels):
    for place, each in enumerate(own(self, images, labels)):
        if place:
            raise ValueError("cannot reshape array")
        yield each
batches.Batches._plain = plain
"""),
)  # fmt: skip


def preflight_of(plant: Plant | None, folder: Path) -> Preflight:
    """Return the preflight of a run in which something is planted, or nothing."""
    facts, options = plant or Plant("nothing", "never", None), dict(plant.options if plant else ())
    folder.mkdir(exist_ok=True)
    file = folder / "planted.py"
    lines = (f"    {line}" for line in facts.fault.strip().splitlines())
    file.write_text(_IN_RUNNER + "\n".join(lines) + "\n", encoding="utf-8")
    request = Request(
        recipe=load_recipe("digits_mlp"), recipe_source="digits_mlp", profile="quick",
        context=make_context(framework="torch", mode="eager"), seeds=options.pop("seeds", (0,)),
        fault=fault_entry(str(file)) if facts.fault else None, command="python -m benchmarks.preflight",
    )  # fmt: skip
    directory = folder / "runs" / "preflight"
    directory.mkdir(parents=True)
    with _planted(facts, folder):
        return rehearsal.rehearse(request, directory, **options)


@contextlib.contextmanager
def _planted(plant: Plant, folder: Path) -> Iterator[None]:
    store = {"MLFLOW_TRACKING_URI": f"sqlite:///{folder / 'mlflow.db'}"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, store | dict(plant.variables)))
        for name, other in plant.patched:
            stack.enter_context(mock.patch(name, other))
        yield


def found_by(document: Preflight) -> str | None:
    """Return the first check that does not hold."""
    return next((each.name for each in document.checks if each.outcome != HOLDS), None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant each, and print the table."""
    argparse.ArgumentParser(prog="python -m benchmarks.preflight", description=__doc__).parse_args(arguments)
    rows, n_found = [], 0
    for plant in PLANTS:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            document = preflight_of(plant, Path(folder))
        found = found_by(document)
        n_found += found is not None
        print(f"{plant.name}: {found}", file=sys.stderr, flush=True)
        rows.append((plant.name, plant.late, found or "not found", f"{time.monotonic() - began:.1f} s"))
    print("\n".join(markdown_table(("planted", "would fail at", "found by", "after"), rows)))
    print(f"\n{n_found} of {len(PLANTS)} are found; {describe_machine().get('hardware')}, by `python -m benchmarks.preflight`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
