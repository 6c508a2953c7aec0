"""`vigil verify my_step.py`: a training step of the user's own, in every context of its framework."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from reports.step_text import step_block
from vigil.cli import options, own_operator
from vigil.documents.context import DETERMINISM, DEVICES, MODES
from vigil.documents.provenance import NamedRelease
from vigil.documents.step import StepVerification
from vigil.errors import UsageError
from vigil.operators.verify import SEEDS, is_operator
from vigil.paths import expanded, runs_directory
from vigil.process.build_spec import fault_entry
from vigil.process.environment import require_framework
from vigil.process.side_by_side import available_cores
from vigil.progress import StageDisplay
from vigil.recipes.loading import DEFAULT_PROFILE
from vigil.releases.store import held, obtain
from vigil.steps.limits import step_limits
from vigil.steps.processes import Asked
from vigil.steps.verify import (
    GPU_PRECISIONS,
    PRECISIONS,
    Setting,
    asked_of,
    distributes,
    framework_of,
    new_own_directory,
    settings_of,
    verify_step,
)
from vigil.terminal import answered
from vigil.tracking import import_ahead, upload_or_note

OPTIONS = ("python", "threads", "seeds")
NOT_ALLOWED = ("shards", "attention", "markdown")
GROUP = "a file of your own"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what only a user's file takes."""
    add_python(parser)
    options.group(parser, GROUP).add_argument(
        "--seeds", metavar="N", help=f"of an operator alone: how many inputs of its usual sizes (default: {SEEDS})"
    )
    add_threads(parser)


def add_python(parser: argparse.ArgumentParser) -> None:
    """Add the interpreter that a user's file is asked about with."""
    options.group(parser, GROUP).add_argument(
        "--python", metavar="PATH", help="the interpreter of an environment that has the framework and what the file needs"
    )


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add how many threads a user's file is asked about with."""
    options.group(parser, GROUP).add_argument("--threads", metavar="N,M", help="how many threads (default: 1; in fp32 2 as well)")


def run(arguments: argparse.Namespace) -> int:
    """Verify the user's step, show what was found, return 0 reproduced, 1 wrong, 3 could not run, 4 unknown."""
    file = expanded(arguments.recipe)
    if is_operator(file):
        return own_operator.run(arguments, file)
    framework = framework_of(file)
    refuse_others(arguments, file, framework, not_allowed=("seeds",))
    settings, jobs = settings_from(arguments, framework, file), jobs_from(arguments)
    limits = step_limits()
    import_ahead()
    with contextlib.ExitStack() as stack:
        display = stack.enter_context(StageDisplay())
        python, recorded = environment_of(arguments, framework, stack, display)
        asked = asked_from(arguments, file, framework, python, display)
        directory = new_own_directory(runs_directory(), file, "step")
        verify_step(
            asked,
            settings,
            directory,
            limits,
            command=arguments.command,
            jobs=jobs,
            release=recorded,
            tell=display.say,
        )
    upload_or_note(directory)
    document = StepVerification.read(directory)  # with where in MLflow it is
    options.write_json(arguments, document)
    answered(step_block(document, directory=str(directory)))
    return document.exit_code


def refuse_others(arguments: argparse.Namespace, file: Path, framework: str, *, not_allowed: Sequence[str]) -> None:
    """Raise UsageError for options that mean nothing with a user's file, or contradict it or each other."""
    release = options.release_of_context(arguments)  # which lets a release name the framework
    refuse_options_of_recipes(arguments, *not_allowed)
    if release and release.framework != framework:
        raise UsageError(f"--release: found {release.text}, and {file.name} is of {framework}. Allowed: a release of it.")
    if arguments.framework not in (None, framework):
        raise UsageError(f"--framework: found {arguments.framework}, and {file.name} is of {framework}. Leave it out.")
    if arguments.release and arguments.python:
        raise UsageError("--python: found with --release, which has an interpreter of its own. Allowed: one of the two.")


def environment_of(
    arguments: argparse.Namespace, framework: str, stack: contextlib.ExitStack, display: StageDisplay
) -> tuple[Path | None, NamedRelease | None]:
    """Return the interpreter to run a user's file with, None for this one, and the release it is of where one was named."""
    release = options.release_of_context(arguments)
    if release:
        resolved = obtain(release, tell=display.say)
        return stack.enter_context(held(resolved, tell=display.say)), resolved.named
    if arguments.python:
        return interpreter("--python", arguments.python), None
    require_framework(framework)
    return None, None


def refuse_options_of_recipes(arguments: argparse.Namespace, *more: str) -> None:
    """Raise UsageError for an option that means nothing beside a user's file."""
    if getattr(arguments, "profile", None) not in (None, DEFAULT_PROFILE):
        raise UsageError("--profile: not allowed with a file of your own, which has none: leave it out.")
    for name in (*NOT_ALLOWED, *more):
        if getattr(arguments, name, None) is not None:
            raise UsageError(f"--{name}: not allowed with a file of your own: leave it out.")


def settings_from(arguments: argparse.Namespace, framework: str, file: Path) -> list[Setting]:
    """Return the contexts that were asked for; without a word, all of them. Raises UsageError."""
    devices = [1, 2] if distributes(file) else [1]
    if arguments.devices is not None:
        asked = options.whole_number("--devices", arguments.devices, least=1)
        if asked not in devices:
            allowed = "1, 2" if len(devices) > 1 else f"1, and 2 where {file.name} defines distribute"
            raise UsageError(f"--devices: found {asked}. Allowed: {allowed}.")
        devices = [asked]
    modes = list(MODES) if arguments.mode is None else options.names("--mode", arguments.mode, MODES)
    device = device_from(arguments)
    offered = PRECISIONS if device == "cpu" else GPU_PRECISIONS
    precisions = list(offered) if arguments.precision is None else options.names("--precision", arguments.precision, offered)
    threads = None if arguments.threads is None else options.whole_numbers("--threads", arguments.threads, least=1, most=1024)
    determinism = options.names("--determinism", arguments.determinism or "off", DETERMINISM)
    return settings_of(framework, modes, precisions, threads, determinism=determinism, device=device, devices=devices)


def device_from(arguments: argparse.Namespace) -> str:
    """Return the kind of device that a user's file computes on. Raises UsageError."""
    device = getattr(arguments, "device", None) or "cpu"
    if device not in DEVICES:
        raise UsageError(f"--device: found {device!r}. Allowed: {', '.join(DEVICES)}.")
    return device


def jobs_from(arguments: argparse.Namespace) -> int:
    """Return how many processes are side by side: one for each core, unless that is said. Raises UsageError."""
    return options.whole_number("--jobs", arguments.jobs or str(len(available_cores())), least=1)


def asked_from(arguments: argparse.Namespace, file: Path, framework: str, python: Path | None, display: StageDisplay) -> Asked:
    """Return what is asked of a user's file in every process. Raises UsageError."""
    return asked_of(
        file,
        framework,
        python=python,
        fault=fault_entry(arguments.fault),
        progress=display.progress,
        progress_timeout=options.seconds("--hang-timeout", arguments.hang_timeout),
    )


def interpreter(what: str, path: str) -> Path:
    """Return an interpreter of the user's. Raises UsageError where there is none."""
    file = expanded(path)
    if not file.is_file() or not os.access(file, os.X_OK):
        problem = "cannot be executed" if file.is_file() else "no such file"
        raise UsageError(f"{what}: {path}: {problem}. Allowed: the interpreter of an environment, as .venv/bin/python.")
    return file.absolute()  # a link to an interpreter is an environment of its own
