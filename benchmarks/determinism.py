"""The table of docs/determinism.md: what `vigil determinism` found of each recipe and framework.

    python -m benchmarks.determinism run [RECIPE ...] --framework torch,jax   # one after the other, each kept below runs/
    python -m benchmarks.determinism page FILE ...                            # determinism.json of each, as Markdown
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from reports.tables import markdown_table
from vigil.cli.main import main as vigil
from vigil.documents.context import FRAMEWORKS
from vigil.documents.determinism import Axis, Determinism
from vigil.recipes.loading import recipe_names

_COLUMNS = ("recipe", "context", "as it is", "with the switch", "a step takes so many times as long with it")
_AXES = ("threads", "even devices", "uneven devices", "resumed", "hash seed", "compilation", "inference", "row alone")


def page(documents: Sequence[Determinism]) -> str:
    """Return the tables of documents: run to run with the switch's cost, then each axis."""
    found = sorted(documents, key=lambda each: (each.recipe.name, each.context.text))
    first = [(each.recipe.name, each.context.text, *_run_to_run(each)) for each in found]
    second = [(each.recipe.name, each.context.text, *(_axis(each, name) for name in _AXES)) for each in found]
    machines = sorted({f"{each.environment.get('hardware')}, {each.created[:10]}" for each in found})
    releases = sorted({f"{each.context.framework} {each.framework_version}" for each in found})
    lines = [*markdown_table(_COLUMNS, first), "", *markdown_table(("recipe", "context", *_AXES), second), ""]
    lines += [f"Of {', '.join(releases)}; {'; '.join(machines)}; by `python -m benchmarks.determinism`."]
    return "\n".join(lines) + "\n"


def _run_to_run(document: Determinism) -> tuple[str, str, str]:
    off, on = (f"{each.distinct} of {each.runs - each.failed}" for each in document.run_to_run)
    cost = document.cost
    return off, on, f"{cost.ratio:.2f} [{cost.low:.2f}, {cost.high:.2f}]" if cost else "-"


def _axis(document: Determinism, name: str) -> str:
    axis: Axis | None = next((each for each in document.axes if each.name == name), None)
    if axis is None:
        return "-"
    if axis.floors is None:
        return axis.answer
    return f"{axis.answer}, {axis.floors:.1g} floors"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for, or print the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.determinism", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    running = actions.add_parser("run", help="vigil determinism of recipes, one after the other")
    running.add_argument("recipes", nargs="*", default=recipe_names())
    running.add_argument("--framework", default=",".join(FRAMEWORKS))
    running.add_argument("--mode", default="jit")
    printing = actions.add_parser("page", help="print the tables")
    printing.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args(arguments)
    if given.action == "page":
        print(page([Determinism.parse(path.read_bytes(), where=str(path)) for path in given.files]), end="")
        return 0
    codes = [
        vigil(["determinism", recipe, "--framework", framework, "--mode", given.mode])
        for recipe in given.recipes
        for framework in given.framework.split(",")
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
