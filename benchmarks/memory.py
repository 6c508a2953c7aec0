"""How well the memory of a run is told before it is made: the peak that is told, beside the one that was measured.

    python -m benchmarks.memory [RECIPE or FILE.py ...] --framework torch,jax --mode jit --precision fp32,bf16

Peaks are of resident memory, of the runner and its helpers, over four steps and four evaluated batches. A file is a step of a
user's own; its batch is repeated, with `--times`, until it takes more than the framework itself.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from reports.tables import markdown_table
from vigil.data.official import ensure_data
from vigil.documents.context import FRAMEWORKS, Context, make_context
from vigil.process.environment import describe_machine
from vigil.process.side_by_side import available_cores
from vigil.recipes.loading import load_recipe, recipe_names
from vigil.runs.memory import MemoryLine
from vigil.runs.own_rehearsal import rehearsed_step, step_line
from vigil.runs.plan import Request
from vigil.runs.rehearsal import memory_line, rehearsed_peak
from vigil.steps.verify import Setting, asked_of, framework_of

PROGRAMS = Path(__file__).parent / "own_steps" / "programs"
STEPS = tuple(
    str(PROGRAMS / f"{name}.py") for name in ("torch_gpt", "torch_convnet", "tensorflow_convnet", "jax_decoder", "jax_convnet")
)
_REPEATED = """
import sys
sys.path.insert(0, {folder!r})
import {name} as own
from {name} import *
import numpy as np
from runners.contract.steps.own import map_leaves
FRAMEWORK = {framework!r}
def batch(seed):
    return map_leaves(lambda leaf: np.concatenate([np.asarray(leaf)] * {times}), own.batch(seed))
"""


class Told(NamedTuple):
    """What a cell was told to take, and took. line, peak: None where a process did not come to its end."""

    name: str
    context: Context
    batch: int
    line: MemoryLine | None
    peak: int | None

    @property
    def off(self) -> float | None:
        """Return by how much of the peak more is told than was measured; less is negative."""
        return self.line.at(self.batch) / self.peak - 1.0 if self.line and self.peak else None

    @property
    def row(self) -> tuple[str, ...]:
        if self.line is None or self.peak is None or self.off is None:
            return (self.name, self.context.text, str(self.batch), "-", "-", "-", "-")
        batches = f"{self.line.large[0]} and {self.line.small[0]}"
        mib = [f"{each / 2**20:,.0f}" for each in (self.line.at(self.batch), self.peak)]
        return (self.name, self.context.text, str(self.batch), batches, *mib, f"{100.0 * self.off:+.1f} %")


def of_recipe(name: str, profile: str, context: Context) -> Told:
    """Tell the memory of a recipe's run, and measure it."""
    request = Request(load_recipe(name), name, profile, context, (0,), None, "python -m benchmarks.memory")
    training = request.recipe.resolve(profile)
    data = ensure_data(training, progress=lambda done, total: None)
    with tempfile.TemporaryDirectory() as folder:
        line = memory_line(request, Path(folder), data_directory=data)
        peak = rehearsed_peak(request, Path(folder), data_directory=data)
    return Told(name, context, training["batch_size"], line, peak)


def of_step(file: Path, context: Context, times: int) -> Told:
    """Tell the memory of a user's step, and measure it; its batch is repeated so many times."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / f"{file.stem}_times.py"
        facts = {"folder": str(file.parent.resolve()), "name": file.stem, "framework": context.framework, "times": times}
        own.write_text(_REPEATED.format(**facts), encoding="utf-8")
        asked, setting = asked_of(own, context.framework), Setting(context, len(available_cores()))
        rows, peak = rehearsed_step(asked, setting, Path(folder))
        line = step_line(asked, setting, Path(folder), rows) if rows else None
    return Told(file.stem, context, rows or 0, line, peak)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("what", nargs="*", default=[*recipe_names(), *STEPS])
    parser.add_argument("--framework", default=",".join(FRAMEWORKS), help="of recipes; a file has its own")
    parser.add_argument("--mode", default="jit")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--profile", default="quick")
    parser.add_argument("--times", type=int, default=64, help="how often the batch of a file is repeated")
    given = parser.parse_args(arguments)
    found = []
    for precision, mode, what in itertools.product(given.precision.split(","), given.mode.split(","), given.what):
        is_file = what.endswith(".py")
        for framework in [framework_of(Path(what))] if is_file else given.framework.split(","):
            context = make_context(framework=framework, mode=mode, precision=precision)
            told = of_step(Path(what), context, given.times) if is_file else of_recipe(what, given.profile, context)
            found.append(told)
            print(" | ".join(told.row), file=sys.stderr, flush=True)
    columns = ("what", "context", "batch", "told by batches of", "MiB told", "MiB measured", "off by")
    print("\n".join(markdown_table(columns, [each.row for each in found])))
    off = [each.off for each in found if each.off is not None]
    within = sum(abs(each) <= 0.15 for each in off)
    if off:
        print(f"\n{within} of {len(found)} are within 15 %; told too little by {-100.0 * min(off):.1f} % at most.")
    machine = describe_machine().get("hardware")
    print(f"Profile {given.profile}; {machine}, {datetime.now(timezone.utc).date()}, by `python -m benchmarks.memory`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
