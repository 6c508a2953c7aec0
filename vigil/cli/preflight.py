"""`vigil preflight`: would a run come to its end? Everything that it needs is tried in seconds, on the real code."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from reports.block import verdict_block
from reports.preflight_text import preflight_block
from reports.run_pictures import draw_pictures
from vigil.cli import options, own_step
from vigil.documents.invocation import Invocation
from vigil.documents.preflight import Preflight
from vigil.errors import CannotRun, UsageError
from vigil.operators.verify import is_operator
from vigil.paths import expanded, runs_directory
from vigil.process.build_spec import fault_entry
from vigil.process.directories import require_writable
from vigil.process.side_by_side import available_cores
from vigil.progress import StageDisplay, duration
from vigil.releases.recorded import interpreter
from vigil.releases.store import obtain
from vigil.runs.own_rehearsal import rehearse_step
from vigil.runs.plan import Request
from vigil.runs.rehearsal import WORTH_SECONDS, expected_seconds, rehearse
from vigil.steps.verify import Setting, asked_of, framework_of, new_own_directory
from vigil.terminal import answered

EXIT_CODES = "exit codes: 0 a run would come to its end, 2 wrong usage or recipe, 3 it would fail, or could not be tried"


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb."""
    parser = subparsers.add_parser(
        "preflight",
        help="would a run come to its end: try all that it needs, in seconds",
        description="Take a run's first steps and its last one, with evaluation, checkpoint and judgement, on the real code with "
        "one batch of test data. Say by what it would fail, how long it would take, and what disk and memory it needs.",
        epilog=EXIT_CODES,
    )
    options.add_recipe(parser, or_step=True)
    options.add_context(parser, framework_is_required=False)
    options.add_release(parser)
    options.add_randomness(parser)
    options.add_seeds(parser, count=1, first=0)
    own_step.add_python(parser)
    options.add_fault(parser)
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Try everything, show what was found, return 0 it holds, 3 a run would fail."""
    if arguments.recipe.endswith(".py"):
        return _run_own(arguments)
    if arguments.python is not None:
        raise UsageError("--python: allowed for a file of your own alone, as in `vigil preflight my_step.py --python ...`.")
    release = options.release_of_context(arguments)
    options.require_framework_named(arguments)
    request = options.request_from(arguments)
    with StageDisplay() as display:
        if release:
            request = dataclasses.replace(request, release=obtain(release, tell=display.say))
        document, directory = _rehearsed(request, display.say)
    options.write_json(arguments, document)
    answered(preflight_block(document, directory=str(directory)))
    return document.exit_code


def _run_own(arguments: argparse.Namespace) -> int:
    """Try a step of the user's own."""
    file = expanded(arguments.recipe)
    framework = framework_of(file)
    if is_operator(file):
        raise UsageError(f"{file.name}: is an operator. Allowed: a recipe, or a training step; `vigil verify` tries an operator.")
    own_step.refuse_others(arguments, file, framework, not_allowed=("randomness", "device", "devices"))
    if len(options.seeds_from(arguments)) > 1:
        raise UsageError("--seeds: not allowed with a file of your own: leave it out.")
    arguments.framework = framework
    context = options.context_from(arguments)
    with contextlib.ExitStack() as stack:
        display = stack.enter_context(StageDisplay())
        python, recorded = own_step.environment_of(arguments, framework, stack, display)
        asked = asked_of(file, framework, python=python, fault=fault_entry(arguments.fault))
        directory = new_own_directory(runs_directory(), file, "preflight")
        setting = Setting(context, len(available_cores()))
        document = rehearse_step(asked, setting, directory, command=arguments.command, release=recorded, tell=display.say)
    options.write_json(arguments, document)
    answered(preflight_block(document, directory=str(directory)))
    return document.exit_code


def before_long_runs(requests: Sequence[Request], tell: Callable[[str], None], *, folders: Sequence[Path] = ()) -> None:
    """Rehearse runs where more than ten minutes are ahead. Raises CannotRun, with all that was tried, where one would fail.

    Args:
        folders: that are written besides that of runs.
    """
    if sum(expected_seconds(request, runs_directory()) for request in requests) <= WORTH_SECONDS:
        return
    for request in requests:
        document, directory = _rehearsed(request, tell, folders)
        if document.failing:
            raise CannotRun(preflight_block(document, directory=str(directory)))
        ahead = f"; about {duration(document.ahead.seconds)} are ahead" if document.ahead else ""
        tell(f"preflight of {request.context.text}: all holds, found in {duration(document.seconds)}{ahead}")


def _rehearsed(request: Request, tell: Callable[[str], None], folders: Sequence[Path] = ()) -> tuple[Preflight, Path]:
    def render(invocation: Invocation, run_directory: Path) -> None:
        draw_pictures(run_directory)
        verdict_block(invocation, directory=str(run_directory.parent))

    require_writable(runs_directory())
    name = f"{request.recipe.name}-{request.profile}-{request.context.text}"
    directory = new_own_directory(runs_directory(), Path(name), "preflight")
    with contextlib.ExitStack() as stack:
        python, _ = stack.enter_context(interpreter(request.release.named if request.release else None, tell=tell))
        document = rehearse(request, directory, python=python, folders=folders, render=render, tell=tell)
    return document, directory
