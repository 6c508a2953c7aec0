"""`vigil matrix`: a recipe in every context of every installed framework, one table."""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from vigil.cli import options
from vigil.context import FRAMEWORKS, MODES, PRECISIONS
from vigil.environment import installed_frameworks, is_installed
from vigil.errors import FrameworkMissing, UsageError, nearest
from vigil.invocation import Request
from vigil.paths import runs_directory
from vigil.plan import MATRIX_DEVICES, MATRIX_MODES, MATRIX_PRECISIONS, matrix_contexts
from vigil.progress import RunDisplay, duration
from vigil.recipe import load_recipe
from vigil.record import read_record
from vigil.sweep import sweep
from vigil.verdict import exit_code

# A number outside its band is worse than one that is missing, and both are worse than one that nothing is known of.
_WORST_FIRST = (1, 3, 4, 0)
_FALSE_ALARMS = 0.01


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("matrix", help="run a recipe in every context of every installed framework")
    options.add_recipe(parser)
    parser.add_argument("--framework", metavar="A,B", help="default: every installed one")
    parser.add_argument("--mode", metavar="A,B", default=",".join(MATRIX_MODES), help="default: %(default)s")
    parser.add_argument("--precision", metavar="A,B", default=",".join(MATRIX_PRECISIONS), help="default: %(default)s")
    parser.add_argument("--devices", metavar="A,B", default=",".join(map(str, MATRIX_DEVICES)), help="default: %(default)s")
    parser.add_argument("--device", default="cpu", help="cpu or gpu (default: cpu)")
    options.add_seeds(parser, count=1, first=0)
    parser.add_argument("--jobs", default="1", metavar="N", help="cells side by side, each on its share of the cores (default: 1)")
    options.add_timeouts(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run every cell, print the table, return the worst cell's exit code; an unsupported context is no failure here."""
    recipe = load_recipe(arguments.recipe)
    recipe.profile(arguments.profile)
    frameworks = _names("--framework", arguments.framework, FRAMEWORKS) if arguments.framework else installed_frameworks()
    if not frameworks:
        raise FrameworkMissing("no framework is installed. Install one with `make setup FRAMEWORK=torch`, tensorflow or jax.")
    contexts = matrix_contexts(
        frameworks, modes=_names("--mode", arguments.mode, MODES), device=arguments.device,
        precisions=_names("--precision", arguments.precision, PRECISIONS),
        devices=[options.whole_number("--devices", text, least=1) for text in arguments.devices.split(",")],
    )
    seeds = options.seeds_from(arguments)
    requests = [
        Request(recipe, arguments.recipe, arguments.profile, context, seeds, None, arguments.command) for context in contexts
    ]

    def line(done: int, invocation: dict[str, Any], directory: Path) -> None:
        print(f"[{done}/{len(requests)}] {invocation['context']['text']}: {_outcome(invocation)}", flush=True)

    results = sweep(
        requests, runs_directory(), jobs=options.whole_number("--jobs", arguments.jobs, least=1), on_end=line,
        progress_timeout=options.seconds("--hang-timeout", arguments.hang_timeout), on_data=RunDisplay().data,
    )
    print_table(results, missing=[name for name in FRAMEWORKS if not is_installed(name)])
    codes = {exit_code(name) for name in (_verdict(invocation) for invocation, _ in results) if name != "unsupported"}
    return next((code for code in _WORST_FIRST if code in codes), 3)


def print_table(results: list[tuple[dict[str, Any], Path]], *, missing: list[str]) -> None:
    """Print one row a context, what was not covered, and how many false alarms a sweep of this size expects."""
    losses = [_losses(directory, invocation) for invocation, directory in results]
    reference = _reference_losses(results, losses)
    table = Table(title=f"{results[0][0]['recipe']['name']}, profile {results[0][0]['recipe']['profile']}", title_justify="left")
    for column in ("context", "verdict", "metric", "band", "losses differ by", "first step", "wall time", "reason"):
        table.add_column(column, overflow="fold")
    for (invocation, directory), own in zip(results, losses):
        judged = invocation["verdict"]
        table.add_row(
            invocation["context"]["text"], _verdict(invocation), _metric(judged), _band(judged), _distance(own, reference),
            _first_step(directory, invocation), duration(invocation["wall_seconds"]), _reason(invocation),
        )
    Console(width=None if Console().is_terminal else 200).print(table)
    print("losses differ by: the largest relative difference of a step's loss from the median of the fp32, one-device cells, same seed")
    judged = sum(_verdict(invocation) in ("reproduced", "regressed", "better-than-reference") for invocation, _ in results)
    print(f"{judged} cells judged at {_FALSE_ALARMS:.0%} false alarms each: {judged * _FALSE_ALARMS:.2f} expected")
    if missing:
        print(f"not covered, because not installed: {', '.join(missing)}")


def _names(option: str, text: str, allowed: tuple[str, ...]) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in allowed:
            raise UsageError(f"{option}: found {name!r}. Allowed: {', '.join(allowed)}.{nearest(name, allowed)}")
    return names


def _verdict(invocation: dict[str, Any]) -> str:
    return invocation["verdict"]["name"] if invocation["verdict"] else "failed:interrupted"


def _outcome(invocation: dict[str, Any]) -> str:
    judged = invocation["verdict"]
    if judged is None:
        return "interrupted"
    return f"{judged['name']} {_metric(judged)}".rstrip(" -") + f" ({duration(invocation['wall_seconds'])})"


def _reason(invocation: dict[str, Any]) -> str:
    return "" if _verdict(invocation) == "reproduced" else invocation["verdict"]["reason"] if invocation["verdict"] else ""


def _metric(judged: dict[str, Any] | None) -> str:
    return f"{judged['mean']:.2f}" if judged and judged["mean"] is not None else "-"


def _band(judged: dict[str, Any] | None) -> str:
    return f"{judged['band']['low']:.1f}..{judged['band']['high']:.1f}" if judged and judged["band"] else "-"


def _losses(directory: Path, invocation: dict[str, Any]) -> list[float]:
    record = read_record(directory / invocation["runs"][0])
    return [float(loss) for loss in record["losses"]] if record else []


def _reference_losses(results: list[tuple[dict[str, Any], Path]], losses: list[list[float]]) -> list[float]:
    chosen = [
        own for (invocation, _), own in zip(results, losses)
        if own and invocation["context"]["precision"] == "fp32" and invocation["context"]["devices"] == 1
    ]
    return [statistics.median(step) for step in zip(*chosen)]


def _distance(own: list[float], reference: list[float]) -> str:
    if not own or not reference:
        return "-"
    return f"{max(abs(a - b) / abs(b) for a, b in zip(own, reference)):.1e}"


def _first_step(directory: Path, invocation: dict[str, Any]) -> str:
    record = read_record(directory / invocation["runs"][0])
    return duration(record["timing"]["first_step_seconds"]) if record else "-"
