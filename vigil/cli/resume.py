"""`vigil resume`: go on with an invocation that was killed or interrupted, each run from its last checkpoint."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from vigil.cli import options
from vigil.cli.reproduce import report, watch
from vigil.documents.invocation import Invocation
from vigil.errors import UsageError
from vigil.process.build_spec import fault_entry
from vigil.process.environment import require_framework
from vigil.process.planted import faults_of, is_own
from vigil.progress import RunDisplay
from vigil.runs.carry_out import carry_out, read_invocation
from vigil.runs.plan import run_names


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("resume", help="go on with interrupted runs from their last checkpoints")
    parser.add_argument("directory", type=Path, metavar="RUN_DIR", help="an invocation directory, or a run directory inside one")
    parser.add_argument(
        "--fault",
        metavar="FILE.py",
        help="the planted fault of these runs, where they were not made here: nothing else is run of what they name",
    )
    options.add_json(parser, what="invocation.json")
    options.add_timeouts(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Finish what is not finished, judge all runs together, return the verdict's exit code."""
    named, file = arguments.directory, Invocation.FILE_NAME
    directory = named if (named / file).exists() else named.resolve().parent
    invocation = read_invocation(directory if (directory / file).exists() else named)
    given = fault_entry(arguments.fault)
    for fault in faults_of(directory, (*run_names(invocation.seeds), *invocation.runs)):
        _require_consent(fault, given=given, directory=directory)
    if invocation.release is None:
        require_framework(invocation.context.framework)
    timeout = options.seconds("--hang-timeout", arguments.hang_timeout)
    with RunDisplay() as display:
        result = carry_out(directory, watch=watch(display, progress_timeout=timeout))
    options.write_json(arguments, result.invocation)
    return report(result, directory)


def _require_consent(fault: Mapping[str, str], *, given: Mapping[str, str] | None, directory: Path) -> None:
    """Ask before a file is run that no command of this user has named. Raises UsageError unless the answer is yes.

    A name that the directory gives is no reason to run a file: the checksum of one that the user named is.
    """
    if given and given["sha256"] != fault["sha256"]:
        raise UsageError(f"--fault: found {given['path']}, whose checksum is not that of these runs' fault, {fault['name']}.")
    if given or is_own(fault["sha256"]):
        return
    what = f"{directory}: resuming runs the Python file {fault['path']}, which no command of yours has named"
    if sys.stdin.isatty() and sys.stderr.isatty():
        print(f"vigil: {what}. Run it? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    raise UsageError(f"{what}. If you have read it and trust it: vigil resume {directory} --fault {fault['path']}")
