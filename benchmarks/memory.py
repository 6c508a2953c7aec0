"""How well two small batches tell the memory of a run: the peak that they say, beside the one that was measured.

    python -m benchmarks.memory [RECIPE ...] --framework torch,jax --mode jit --profile quick

Peaks are of resident memory, of the runner and its helpers, over four steps and four evaluated batches.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from reports.tables import markdown_table
from vigil.data.official import ensure_data
from vigil.documents.context import FRAMEWORKS, make_context
from vigil.process.environment import describe_machine
from vigil.recipes.loading import load_recipe, recipe_names
from vigil.runs.plan import Request
from vigil.runs.rehearsal import memory_line, rehearse


def row_of(name: str, profile: str, framework: str, mode: str, precision: str) -> tuple[str, ...]:
    """Return what a cell was estimated to take, and took."""
    context = make_context(framework=framework, mode=mode, precision=precision)
    request = Request(load_recipe(name), name, profile, context, (0,), None, "python -m benchmarks.memory")
    training = request.recipe.resolve(profile)
    data = ensure_data(training, progress=lambda done, total: None)
    with tempfile.TemporaryDirectory() as folder:
        parts, whole = Path(folder) / "runs" / "parts", Path(folder) / "runs" / "whole"
        parts.mkdir(parents=True)
        whole.mkdir()
        line, document = memory_line(request, parts, data_directory=data), rehearse(request, whole)
    peak = document.ahead.peak_bytes if document.ahead else None
    if line is None or peak is None:
        return (name, context.text, str(training["batch_size"]), "-", "-", "-", "-")
    told = line.at(training["batch_size"])
    mib = [f"{each / 2**20:,.0f}" for each in (told, peak)]
    batches = f"{line.large[0]} and {line.small[0]}"
    return (name, context.text, str(training["batch_size"]), batches, *mib, f"{100.0 * (told / peak - 1.0):+.1f} %")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("recipes", nargs="*", default=recipe_names())
    parser.add_argument("--framework", default=",".join(FRAMEWORKS))
    parser.add_argument("--mode", default="jit")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--profile", default="quick")
    given = parser.parse_args(arguments)
    rows = []
    for name in given.recipes:
        for framework in given.framework.split(","):
            for mode in given.mode.split(","):
                rows.append(row_of(name, given.profile, framework, mode, given.precision))
                print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    columns = ("recipe", "context", "batch", "told by batches of", "MiB told", "MiB measured", "off by")
    print("\n".join(markdown_table(columns, rows)))
    machine = describe_machine().get("hardware")
    print(f"\nProfile {given.profile}; {machine}, {datetime.now(timezone.utc).date()}, by `python -m benchmarks.memory`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
