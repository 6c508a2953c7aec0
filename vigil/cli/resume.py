"""`vigil resume`: go on with an invocation that was killed or interrupted, each run from its last checkpoint."""

from __future__ import annotations

import argparse
from pathlib import Path

from vigil.cli import options
from vigil.cli.reproduce import report, watch
from vigil.documents.invocation import Invocation
from vigil.process.environment import require_framework
from vigil.progress import RunDisplay
from vigil.runs.carry_out import carry_out, read_invocation


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("resume", help="go on with interrupted runs from their last checkpoints")
    parser.add_argument("directory", type=Path, metavar="RUN_DIR", help="an invocation directory, or a run directory inside one")
    options.add_timeouts(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Finish what is not finished, judge all runs together, return the verdict's exit code."""
    named, file = arguments.directory, Invocation.FILE_NAME
    directory = named if (named / file).exists() else named.resolve().parent
    invocation = read_invocation(directory if (directory / file).exists() else named)
    if invocation.release is None:
        require_framework(invocation.context.framework)
    timeout = options.seconds("--hang-timeout", arguments.hang_timeout)
    with RunDisplay() as display:
        result = carry_out(directory, watch=watch(display, progress_timeout=timeout))
    return report(result, directory)
