"""`python -m benchmarks` (`make bench`): what Vigil costs, against each runner's own step and a bare hand-written loop.

Progress goes to standard error, the Markdown page to standard output. Leave the machine alone while it runs.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.throughput import page, pipeline
from benchmarks.throughput.cell import Measurement, measure, training_of_profile
from vigil.cli.main import Parser
from vigil.cli.options import whole_number
from vigil.documents.context import MODES, Context, make_context
from vigil.errors import EXIT_COULD_NOT_RUN, CannotRun, UsageError, VigilError, nearest
from vigil.process.environment import installed_frameworks, require_framework
from vigil.recipes.loading import recipe_names

PRECISIONS = ("fp32", "bf16")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = Parser(prog="python -m benchmarks", description="Compare each runner's speed with its own step and a bare loop.")
    parser.add_argument("--recipe", metavar="A,B", help="recipes (default: every one in recipes/)")
    parser.add_argument("--framework", metavar="A,B", help="frameworks (default: every installed one)")
    parser.add_argument("--mode", metavar="A,B", default=",".join(MODES), help=f"modes (default: {','.join(MODES)})")
    parser.add_argument("--precision", metavar="A,B", default=",".join(PRECISIONS), help=f"default: {','.join(PRECISIONS)}")
    parser.add_argument("--rounds", default="12", metavar="N", help="rounds of a block each (default: 12)")
    parser.add_argument("--steps", default="20", metavar="N", help="counted steps in a block (default: 20)")
    parser.add_argument("--output", metavar="FILE", help="write the page there, too")
    return parser


def contexts(arguments: argparse.Namespace) -> list[Context]:
    """Return the cells that the options name. Raises UsageError for unknown names, FrameworkMissing for what is not installed."""
    frameworks = arguments.framework.split(",") if arguments.framework is not None else installed_frameworks()
    if not frameworks:
        raise CannotRun("no framework is installed. Install all three with `make setup`.")
    precisions = arguments.precision.split(",")
    for name in precisions:
        if name not in PRECISIONS:
            raise UsageError(
                f"--precision: found {name!r}. Allowed: {', '.join(PRECISIONS)}, which the bare loops have."
                f"{nearest(name, PRECISIONS)}"
            )
    cells = [
        make_context(framework=framework, mode=mode, precision=precision)
        for framework, mode, precision in itertools.product(frameworks, arguments.mode.split(","), precisions)
    ]
    for framework in dict.fromkeys(frameworks):
        require_framework(framework)
    return list(dict.fromkeys(cells))


def recipes_of(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the recipes that the options name. Raises UsageError for one that is not there."""
    allowed = recipe_names()
    names = arguments.recipe.split(",") if arguments.recipe is not None else allowed
    for name in names:
        if name not in allowed:
            raise UsageError(f"--recipe: found {name!r}. Allowed: {', '.join(allowed)}.{nearest(name, allowed)}")
    return list(dict.fromkeys(names))


def output_file(text: str | None) -> Path | None:
    """Return the file, seen to be in a folder that is there: not after a quarter of an hour of measuring."""
    if text is None:
        return None
    file = Path(text).expanduser()
    if file.is_dir() or not file.parent.is_dir():
        raise UsageError(f"--output: found {text!r}. Allowed: a file in a folder that exists, as in docs/benchmarks.md.")
    return file


def run(given: Sequence[str]) -> int:
    """Measure every cell, print the page, and return the exit code."""
    arguments = build_parser().parse_args(given)
    cells, recipes, output = contexts(arguments), recipes_of(arguments), output_file(arguments.output)
    rounds = whole_number("--rounds", arguments.rounds, least=1, most=1000)
    steps = whole_number("--steps", arguments.steps, least=1, most=10_000)
    pipelines = {}
    for recipe in recipes:
        pipelines[recipe] = pipeline.images_per_second(training_of_profile(recipe))
        say(f"{recipe}: input pipeline alone: {pipelines[recipe]:.0f} images/s")
    measurements = []
    for index, (recipe, context) in enumerate(itertools.product(recipes, cells), start=1):
        where = f"[{index}/{len(recipes) * len(cells)}] {recipe} {context.text}"
        say(f"{where} ...")
        measurements.append(measure(recipe, context, rounds=rounds, steps=steps))
        say(f"{where}: {outcome(measurements[-1])}")
    text = page.render(
        measurements,
        pipelines=pipelines,
        rounds=rounds,
        steps=steps,
        command=" ".join(["python -m benchmarks", *given]),
    )
    print(text, end="")
    if output:
        output.write_text(text, encoding="utf-8")
    return EXIT_COULD_NOT_RUN if any(entry.failure for entry in measurements) else 0


def outcome(measurement: Measurement) -> str:
    """Return a cell's result in a line, or why there is none."""
    if measurement.throughput is None:
        return measurement.failure or f"unsupported: {measurement.unsupported}"
    ratios = ", ".join(f"{name} {ratio.median:.3f}" for name, ratio in measurement.throughput.ratios.items())
    return f"{measurement.throughput.images_per_second:.1f} images/s, ratios: {ratios}"


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(given: Sequence[str]) -> int:
    """Run the command line and return the exit code: 0, 2 for wrong usage, 3 when a cell failed."""
    try:
        return run(given)
    except VigilError as error:
        say(f"benchmarks: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("benchmarks: interrupted")
        return EXIT_COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
