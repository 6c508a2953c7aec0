"""`vigil reproduce`: train a recipe in one context and judge the metric."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from reports.block import verdict_block
from reports.run_pictures import draw_pictures
from reports.verification_picture import draw_picture
from vigil.cli import options
from vigil.cli.preflight import before_long_runs
from vigil.documents.verification import Verification
from vigil.errors import EXIT_COULD_NOT_RUN
from vigil.paths import runs_directory
from vigil.progress import RunDisplay
from vigil.releases.store import obtain
from vigil.runs.carry_out import CarriedOut, carry_out
from vigil.runs.foresee import foreseen
from vigil.runs.plan import plan, preflight
from vigil.runs.watch import Watch
from vigil.terminal import answered


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("reproduce", help="train a recipe in one context and judge the metric")
    options.add_recipe(parser)
    options.add_context(parser, framework_is_required=False)
    options.add_release(parser)
    options.add_randomness(parser)
    options.add_seeds(parser, count=1, first=0)
    options.add_until_decided(parser)
    options.add_fault(parser)
    parser.add_argument("--no-verify", action="store_true", help="train at once, without verifying one training step first")
    parser.add_argument(
        "--no-preflight", action="store_true", help="train without a rehearsal, though more than ten minutes are ahead"
    )
    options.add_json(parser, what="invocation.json")
    options.add_timeouts(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Reproduce, print the verdict block, return the verdict's exit code."""
    sequential = options.sequential_from(arguments)
    release = options.release_of_context(arguments)
    options.require_framework_named(arguments)
    request = options.request_from(arguments, verify=not arguments.no_verify, sequential=sequential)
    timeout = options.seconds("--hang-timeout", arguments.hang_timeout)
    with RunDisplay() as display:
        if release:
            request = replace(request, release=obtain(release, tell=display.say))
        data_directory = preflight(request, runs_directory(), on_data=display.data)
        if warning := foreseen(request):
            display.say(warning)
        if not arguments.no_preflight:
            before_long_runs([request], display.say)
        directory = plan(request, runs_directory(), data_directory=data_directory)
        result = carry_out(directory, watch=watch(display, progress_timeout=timeout))
    options.write_json(arguments, result.invocation)
    return report(result, directory)


def watch(display: RunDisplay, *, progress_timeout: float) -> Watch:
    """Return the watch that shows a run on the terminal, and draws what its first rung found and what pictures it has."""

    def verified(document: Verification, directory: Path) -> None:
        display.verified(document)
        if document.tensors:
            draw_picture(directory)

    return Watch(
        on_start=display.start,
        on_event=display.event,
        on_end=display.end,
        on_recorded=draw_pictures,
        on_verify=display.verify,
        on_verified=verified,
        on_unverified=lambda reason, directory: display.say(f"verify: unknown: {reason}"),
        on_build=display.say,
        progress_timeout=progress_timeout,
    )


def report(result: CarriedOut, directory: Path) -> int:
    """Print how an invocation ended and return its exit code."""
    verdict, interruption = result.invocation.verdict, result.interruption
    if interruption or verdict is None:
        where = f"in phase {interruption.phase} at step {interruption.step}" if interruption else "before its verdict"
        print(f"Interrupted {where}. Go on with: vigil resume {directory}")
        return EXIT_COULD_NOT_RUN
    answered(verdict_block(result.invocation, directory=str(directory)))
    return verdict.name.exit_code
