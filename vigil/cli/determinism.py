"""`vigil determinism`: is a training bit for bit the same, in what does it part, and what does determinism cost."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from pathlib import Path

from reports.determinism_text import determinism_block
from vigil.cli import options
from vigil.data.official import ensure_data
from vigil.determinism.measure import PAIRS, measure
from vigil.determinism.trial import Bench
from vigil.documents.context import Context
from vigil.documents.determinism import Determinism
from vigil.documents.document import DocumentError
from vigil.errors import EXIT_COULD_NOT_RUN, UsageError
from vigil.paths import expanded, runs_directory
from vigil.process.build_spec import fault_entry
from vigil.process.environment import require_framework
from vigil.progress import StageDisplay
from vigil.recipes.loading import identity_of
from vigil.releases.store import held, obtain
from vigil.steps.verify import new_own_directory
from vigil.terminal import answered

PROFILE = "smoke"
EXIT_CODES = (
    "exit codes: 0 the same bits, or different by rounding alone, 1 runs that differ in nothing part, or one thing makes more of "
    "a difference than rounding, 2 wrong usage, 3 could not run"
)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb."""
    parser = subparsers.add_parser(
        "determinism",
        help="is a training bit for bit the same, in what does it part, what does the switch cost",
        description="Train a recipe's short profile again and again in fresh processes, with and without the framework's "
        "determinism, then with one thing changed at a time, and hold the results to each other.",
        epilog=EXIT_CODES,
    )
    options.add_recipe(parser, profile=PROFILE)
    options.add_context(parser)
    options.add_release(parser)
    parser.add_argument("--runs", metavar="N", help=f"runs with determinism, and as many without (default: {PAIRS})")
    parser.add_argument("--seed", metavar="N", help="of all runs (default: 0)")
    parser.add_argument(
        "--against", action="append", default=[], metavar="FILE", help="determinism.json of another machine (repeatable)"
    )
    options.add_fault(parser)
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run everything, show what was found, return 0 the same, 1 it parts, 3 could not run."""
    [recipe] = options.recipes_from(arguments).values()
    context, release = options.context_from(arguments), options.release_of_context(arguments)
    if context.determinism != "off":
        raise UsageError("--determinism: not allowed: a run is tried with the switch and without. Leave it out.")
    if context.randomness != "shared":
        raise UsageError("--randomness: found native. Allowed: shared, for runs can only be held to each other then.")
    pairs = options.whole_number("--runs", arguments.runs or str(PAIRS), least=2)
    seed = options.whole_number("--seed", arguments.seed or "0", least=0)
    training, identity = recipe.resolve(arguments.profile), identity_of(recipe, arguments.profile)
    fault = fault_entry(arguments.fault)
    with contextlib.ExitStack() as stack:
        display = stack.enter_context(StageDisplay())
        python, recorded = None, None
        if release:
            resolved = obtain(release, tell=display.say)
            python, recorded = stack.enter_context(held(resolved, tell=display.say)), resolved.named
        else:
            require_framework(context.framework)
        others = _others(arguments.against, recipe=identity.hash, context=context)
        data = ensure_data(training, progress=lambda done, total: display.progress("data", done, total or done))
        directory = new_own_directory(runs_directory(), Path(f"{recipe.name}-{context.text}"), "determinism")
        bench = Bench(
            identity, training, context, directory, data, fault=fault, python=python, seed=seed, tell=display.say
        )
        try:
            document = measure(
                bench,
                determinism_id=directory.name,
                command=arguments.command,
                release=recorded,
                pairs=pairs,
                others=others,
            )
        except KeyboardInterrupt:
            print(f"Interrupted. What ran until then is in {directory}.")
            return EXIT_COULD_NOT_RUN
    document.write(directory)
    options.write_json(arguments, document)
    answered(determinism_block(document, directory=str(directory)))
    return document.exit_code


def _others(files: Sequence[str], *, recipe: str, context: Context) -> list[Determinism]:
    """Return what other machines found of the same recipe and context. Raises UsageError for what is no such document."""
    found = []
    for text in files:
        path = expanded(text)
        try:
            document = Determinism.parse(path.read_bytes(), where=str(path))
        except (OSError, DocumentError) as error:
            raise UsageError(f"--against: {error}. Allowed: the {Determinism.FILE_NAME} of another machine.") from error
        if (document.recipe.hash, document.context) != (recipe, context):
            raise UsageError(
                f"--against: {text} is of {document.recipe.name}, profile {document.recipe.profile}, {document.context.text}. "
                "Allowed: one of the same recipe, profile and context."
            )
        found.append(document)
    return found
