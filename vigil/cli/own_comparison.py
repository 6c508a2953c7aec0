"""`vigil compare my_step.py OLD NEW`: a training step of the user's own, under two releases or two environments of the user's."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reports.step_comparison_text import comparison_block
from vigil.cli import options, own_step
from vigil.documents.step_comparison import StepComparison
from vigil.errors import UsageError
from vigil.operators.verify import refuse_operator
from vigil.paths import expanded, runs_directory
from vigil.process.build_spec import fault_entry
from vigil.progress import StageDisplay
from vigil.releases.naming import Release, parse_hold, parse_release
from vigil.releases.store import held, obtain
from vigil.steps.compare import Side, compare_step
from vigil.steps.limits import step_limits
from vigil.steps.verify import asked_of, framework_of
from vigil.terminal import answered
from vigil.tracking import upload_or_note

_NAMES = ("OLD", "NEW")


def run(arguments: argparse.Namespace, *, of_recipes: Mapping[str, str]) -> int:
    """Verify the user's file under both, show how far they are apart, return 0 no difference, 1 one, 3 could not run, 4 unknown.

    Args:
        of_recipes: options that a recipe alone has, and what they are unless they are given.
    """
    file = expanded(arguments.recipe)
    refuse_operator(file, verb="compare")
    framework = framework_of(file)
    own_step.refuse_options_of_recipes(arguments)
    for name, default in of_recipes.items():
        if getattr(arguments, name) != default:
            raise UsageError(f"--{name.replace('_', '-')}: not allowed with a file of your own: leave it out.")
    asked_for = _asked_for(arguments, framework, file)
    settings, jobs = own_step.settings_from(arguments, framework, file), own_step.jobs_from(arguments)
    limits, fault = step_limits(), fault_entry(arguments.fault)
    timeout = options.seconds("--hang-timeout", arguments.hang_timeout)
    with contextlib.ExitStack() as stack:
        display = stack.enter_context(StageDisplay())
        resolved = [obtain(each, tell=display.say) if isinstance(each, Release) else None for each in asked_for]
        if resolved[0] and resolved[1] and resolved[0].key == resolved[1].key:
            raise _twice(arguments, f"are one release, {resolved[0].request}")
        sides: dict[str, Side] = {}
        for name, each, environment in zip(_NAMES, asked_for, resolved, strict=True):
            python = stack.enter_context(held(environment, tell=display.say)) if environment else each
            asked = asked_of(
                file,
                framework,
                python=python,
                fault=fault if name == "NEW" else None,
                progress=_progress(display, name),
                progress_timeout=timeout,
            )
            sides[name] = Side(name, asked, environment.named if environment else None)
        document = compare_step(
            sides["OLD"],
            sides["NEW"],
            settings,
            runs_directory(),
            limits,
            command=arguments.command,
            jobs=jobs,
            tell=display.say,
        )
    directory = runs_directory() / document.compare_id
    for name in (document.old.verification, document.new.verification, document.compare_id):
        upload_or_note(runs_directory() / name)
    document = StepComparison.read(directory)  # with where in MLflow it is
    options.write_json(arguments, document)
    answered(comparison_block(document, directory=str(directory)))
    return document.verdict.exit_code


def _progress(display: StageDisplay, name: str) -> Callable[[str, int, int], None]:
    return lambda what, done, total: display.progress(f"{name}, {what}", done, total)


def _asked_for(arguments: argparse.Namespace, framework: str, file: Path) -> list[Release | Path]:
    """Return both releases, or interpreters. Raises UsageError unless they are two, of the file's framework."""
    found: list[Release | Path] = []
    for name, text in zip(_NAMES, (arguments.old, arguments.new), strict=True):
        if os.sep in text and not text.strip().endswith(".whl"):
            found.append(own_step.interpreter(name, text))
            continue
        release = parse_release(text, indexes=arguments.extra_index)
        if release.framework != framework:
            raise UsageError(f"{name}: found {release.text}, and {file.name} is of {framework}. Allowed: its releases.")
        found.append(release)
    releases = [each for each in found if isinstance(each, Release)]
    if arguments.framework not in (None, framework):
        raise UsageError(f"--framework: found {arguments.framework}, and {file.name} is of {framework}. Leave it out.")
    if (arguments.hold or arguments.extra_index) and not releases:
        raise UsageError("--hold, --extra-index: found with interpreters alone, whose environments are your own. Leave them out.")
    if _identity(found[0]) == _identity(found[1]):
        raise _twice(arguments, "are one environment")
    hold = parse_hold(arguments.hold, framework=framework)
    return [dataclasses.replace(each, hold=hold) if isinstance(each, Release) else each for each in found]


def _identity(asked_for: Release | Path) -> Sequence[object]:
    """Return what two names of one environment have in common; each virtual one has a folder of its own."""
    if isinstance(asked_for, Release):
        return (asked_for.text,)
    return (asked_for.parent.resolve(), asked_for.resolve())


def _twice(arguments: argparse.Namespace, what: str) -> UsageError:
    return UsageError(
        f"OLD and NEW: {arguments.old} and {arguments.new} {what}. Allowed: two; one alone: `vigil verify {arguments.recipe}`."
    )
