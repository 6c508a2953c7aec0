"""`vigil matrix`: a recipe, or all of them, in every context of every installed framework; a table for each."""

from __future__ import annotations

import argparse
from pathlib import Path

from reports.matrix import markdown, outcome, read_cell, show
from reports.run_pictures import draw_pictures
from vigil.cli import options
from vigil.cli.answers import MatrixAnswer
from vigil.documents.context import FRAMEWORKS, MODES, PRECISIONS
from vigil.documents.invocation import Invocation
from vigil.documents.verdict import Verdict
from vigil.errors import EXIT_COULD_NOT_RUN, UsageError
from vigil.paths import runs_directory
from vigil.process.environment import is_installed
from vigil.progress import RunDisplay
from vigil.releases.store import obtain_or_say_why
from vigil.runs.contexts import MATRIX_DEVICES, MATRIX_MODES, MATRIX_PRECISIONS, matrix_contexts
from vigil.runs.foresee import foreseen
from vigil.runs.plan import Request
from vigil.runs.sweep import sweep

# A number outside its band is worse than one that is missing, and both are worse than one that nothing is known of.
_WORST_FIRST = (1, 3, 4, 0)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("matrix", help="run a recipe, or all, in every context of every installed framework")
    options.add_recipe(parser, or_all="default")
    parser.add_argument("--framework", metavar="A,B", help="default: those of --release, or every installed one")
    options.add_release(parser, several=True)
    parser.add_argument("--mode", metavar="A,B", default=",".join(MATRIX_MODES), help="default: %(default)s")
    parser.add_argument("--precision", metavar="A,B", default=",".join(MATRIX_PRECISIONS), help="default: %(default)s")
    parser.add_argument("--devices", metavar="A,B", default=",".join(map(str, MATRIX_DEVICES)), help="default: %(default)s")
    parser.add_argument("--device", default="cpu", help="cpu or gpu (default: cpu)")
    options.add_seeds(parser, count=1, first=0)
    parser.add_argument(
        "--jobs", default="1", metavar="N", help="cells side by side, each on its share of the cores (default: 1)"
    )
    options.add_file(parser, "--markdown", what="write the table")
    options.add_json(parser, what="every invocation.json")
    options.add_timeouts(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run every cell, print the tables, return the worst cell's exit code; an unsupported context is no failure here."""
    recipes = options.recipes_from(arguments)
    options.check_file("--markdown", arguments.markdown)
    releases = options.releases_from(arguments)
    frameworks = options.frameworks_from(arguments, default=list(releases))
    if strange := [release.text for name, release in releases.items() if name not in frameworks]:
        raise UsageError(f"--release: found {strange[0]}, and --framework {arguments.framework}, which leaves it out.")
    contexts = matrix_contexts(
        frameworks,
        modes=options.names("--mode", arguments.mode, MODES),
        device=arguments.device,
        precisions=options.names("--precision", arguments.precision, PRECISIONS),
        devices=options.whole_numbers("--devices", arguments.devices, least=1),
    )
    seeds = options.seeds_from(arguments)
    jobs = options.whole_number("--jobs", arguments.jobs, least=1)
    timeout = options.seconds("--hang-timeout", arguments.hang_timeout)
    # One that cannot be had fails its own cells, and no other's.
    under = {name: obtain_or_say_why(release, tell=RunDisplay().say) for name, release in releases.items()}
    requests = [
        Request(recipe, source, arguments.profile, context, seeds, None, arguments.command, release=under.get(context.framework))
        for source, recipe in recipes.items()
        for context in contexts
    ]

    for request in requests[:: len(contexts)]:  # a profile's reference judges all contexts of a recipe
        if warning := foreseen(request):
            print(f"{request.recipe.name}: {warning}")

    def line(done: int, invocation: Invocation, directory: Path) -> None:
        text = outcome(read_cell(invocation, directory))
        recipe = f"{invocation.recipe.name} " if len(recipes) > 1 else ""
        print(f"[{done}/{len(requests)}] {recipe}{invocation.context.text}: {text}", flush=True)

    results = sweep(
        requests,
        runs_directory(),
        jobs=jobs,
        on_end=line,
        progress_timeout=timeout,
        on_data=RunDisplay().data,
        on_recorded=draw_pictures,
    )
    cells = [read_cell(*result) for result in results]
    missing = [name for name in FRAMEWORKS if name not in releases and not is_installed(name)]
    tables = [cells[first : first + len(contexts)] for first in range(0, len(cells), len(contexts))]
    for table in tables:
        show(table, missing=missing)
    options.write_file("--markdown", arguments.markdown, "\n".join(markdown(table, missing=missing) for table in tables))
    codes = {cell.verdict.exit_code for cell in cells if cell.verdict is not Verdict.UNSUPPORTED}
    code = next((code for code in _WORST_FIRST if code in codes), EXIT_COULD_NOT_RUN)
    invocations = [invocation for invocation, _ in results]
    options.write_json(arguments, MatrixAnswer(exit_code=code, invocations=invocations, not_installed=missing))
    return code
