"""`vigil reference`: measure raw samples for a recipe's profile and append them to reference_results/."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from reports.run_pictures import draw_pictures
from runners.contract import datasets
from vigil.cli import options
from vigil.context import FRAMEWORKS, make_context
from vigil.data import ensure_cifar10
from vigil.environment import installed_frameworks
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_REPRODUCED, FrameworkMissing
from vigil.invocation import Request
from vigil.paths import reference_directory, runs_directory
from vigil.progress import RunDisplay, duration
from vigil.recipe import load_recipe, recipe_hash
from vigil.record import read_record
from vigil.reference import append_rows, load_rows, row_from_record
from vigil.sweep import sweep

# Far from 0, where a user's seeds begin: a run should not be judged by its own seed.
_FIRST_SEED = 1000


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("reference", help="measure raw reference samples of a recipe's profile")
    options.add_recipe(parser)
    parser.add_argument("--framework", metavar="A,B", help="default: every installed one")
    parser.add_argument("--mode", default="jit", help="the mode that is measured (default: jit)")
    parser.add_argument("--device", default="cpu", help="cpu or gpu (default: cpu)")
    options.add_seeds(parser, count=10, first=_FIRST_SEED)
    parser.add_argument("--jobs", default="1", metavar="N", help="runs side by side, each on its share of the cores (default: 1)")
    options.add_timeouts(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure what is missing, append it row by row, return 0 when every run finished and 3 otherwise."""
    recipe = load_recipe(arguments.recipe)
    recipe.profile(arguments.profile)
    frameworks = options.names("--framework", arguments.framework, FRAMEWORKS) if arguments.framework else installed_frameworks()
    if not frameworks:
        raise FrameworkMissing("no framework is installed. Install one with `make setup FRAMEWORK=torch`, tensorflow or jax.")
    training = recipe.resolve(arguments.profile)
    identity = {
        "name": recipe.name,
        "version": recipe.version,
        "hash": recipe_hash(training),
        "profile": arguments.profile,
    }
    directory = ensure_cifar10(progress=RunDisplay().data) if training["data"]["name"] == "cifar10" else None
    data = datasets.load(training["data"], directory).checksum
    have = {
        (row["context"]["text"], row["seed"])
        for row in load_rows(reference_directory(), recipe.name)
        if row["recipe"] == identity and row["data"]["checksum"] == data
    }
    contexts = [make_context(framework=name, mode=arguments.mode, device=arguments.device) for name in frameworks]
    requests = [
        Request(recipe, arguments.recipe, arguments.profile, context, (seed,), None, arguments.command)
        for seed in options.seeds_from(arguments)
        for context in contexts
        if (context.text, seed) not in have
    ]
    print(f"{len(requests)} runs to measure, {len(have)} samples of this recipe and profile are there already", flush=True)
    failed = []

    def keep(done: int, invocation: dict[str, Any], directory: Path) -> None:
        record = read_record(directory / invocation["runs"][0])
        text = f"[{done}/{len(requests)}] {invocation['context']['text']} seed {invocation['seeds'][0]}: "
        if record["status"] == "finished":
            append_rows(reference_directory(), [row_from_record(record)])
            text += f"{record['metric']['value']:.2f} {record['metric']['unit']}"
        else:
            failed.append(directory)
            text += f"{record['status']}, {record['failure']['message']}"
        print(f"{text} ({duration(record['timing']['wall_seconds'])})", flush=True)

    sweep(
        requests,
        runs_directory(),
        jobs=options.whole_number("--jobs", arguments.jobs, least=1),
        on_end=keep,
        progress_timeout=options.seconds("--hang-timeout", arguments.hang_timeout),
        on_data=RunDisplay().data,
        on_recorded=draw_pictures,
    )
    for directory in failed:
        print(f"not measured: {directory}")
    return EXIT_COULD_NOT_RUN if failed else EXIT_REPRODUCED
