"""`vigil audit batch_norm`: the table of who does what in batch norms, of one framework or of all that are installed."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from reports.batch_norm_text import batch_norm_block, batch_norm_markdown
from vigil.audit.batch_norm import NAME
from vigil.audit.batch_norm_table import batch_norm_table, batch_norms
from vigil.cli import options, own_step
from vigil.documents.batch_norm import BatchNormsOf, BatchNormTable
from vigil.errors import FrameworkMissing, UsageError, nearest
from vigil.frameworks import OF_BATCH_NORM
from vigil.paths import runs_directory
from vigil.process.environment import is_installed
from vigil.progress import StageDisplay
from vigil.steps.processes import Started
from vigil.steps.verify import new_own_directory
from vigil.terminal import answered
from vigil.tracking import upload_or_note

# All forms of a layer are in the table.
_NOT_ALLOWED = ("calls", "mode", "device", "precision", "quick", "threads", "seed", "list", "coverage", "fault")


def run(arguments: argparse.Namespace) -> int:
    """Make the table, show it, return 0 as documented, 1 where an answer differs, 3 could not run."""
    if arguments.what != [NAME]:
        raise UsageError(f"{NAME}: found with other names. Allowed: alone, since it is a table of its own.")
    for name in _NOT_ALLOWED:
        if getattr(arguments, name):
            raise UsageError(f"--{name}: not allowed with {NAME}, which asks every layer the same. Leave it out.")
    options.check_file("--markdown", arguments.markdown)
    frameworks = _frameworks(arguments)
    directory = new_own_directory(runs_directory(), Path(NAME), "audit")
    found: list[BatchNormsOf] = []
    with contextlib.ExitStack() as stack:
        display = stack.enter_context(StageDisplay())
        for framework in frameworks:
            python, recorded = own_step.environment_of(arguments, framework, stack, display)
            started = Started(
                framework=framework,
                python=python,
                progress_timeout=options.seconds("--hang-timeout", arguments.hang_timeout),
                progress=display.progress,
            )
            found.append(batch_norms(started, directory / framework, release=recorded))
    batch_norm_table(found, directory, command=arguments.command)
    upload_or_note(directory)
    document = BatchNormTable.read(directory)  # with where in MLflow it is
    options.write_json(arguments, document)
    options.write_file("--markdown", arguments.markdown, batch_norm_markdown(document))
    answered(batch_norm_block(document, directory=str(directory)))
    return document.exit_code


def _frameworks(arguments: argparse.Namespace) -> list[str]:
    """Return the framework that was named, or all that are installed. Raises UsageError or FrameworkMissing."""
    options.release_of_context(arguments)
    framework = arguments.framework
    if arguments.release and arguments.python:
        raise UsageError("--python: found with --release, which has an interpreter of its own. Allowed: one of the two.")
    if framework is None:
        if arguments.python:
            raise UsageError("--python: found without --framework, which says what of it is asked. Give both.")
        if found := [name for name in OF_BATCH_NORM if is_installed(name)]:
            return found
        raise FrameworkMissing("no framework is installed. Install one with `make setup FRAMEWORK=torch`, tensorflow or jax.")
    if framework not in OF_BATCH_NORM:
        allowed = list(OF_BATCH_NORM)
        raise UsageError(f"--framework: found {framework!r}. Allowed: {', '.join(allowed)}.{nearest(framework, allowed)}")
    return [framework]
