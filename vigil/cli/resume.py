"""`vigil resume`: go on with an invocation that was killed or interrupted, each run from its last checkpoint."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from vigil.cli import options
from vigil.cli.reproduce import report, watch
from vigil.documents.invocation import Invocation, NamedRelease
from vigil.errors import UsageError
from vigil.process.build_spec import fault_entry
from vigil.process.consent import FAULTS, RELEASES, is_own, remember, require
from vigil.process.environment import require_framework
from vigil.process.planted import faults_of
from vigil.process.recording import read_record
from vigil.progress import RunDisplay
from vigil.releases.recorded import installed_by, named_by_user
from vigil.releases.store import digest_of_named
from vigil.runs.carry_out import carry_out, is_run, read_invocation
from vigil.runs.plan import run_names

_DIGITS = 16


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("resume", help="go on with interrupted runs from their last checkpoints")
    parser.add_argument("directory", type=Path, metavar="RUN_DIR", help="an invocation directory, or a run directory inside one")
    parser.add_argument(
        "--fault",
        metavar="FILE.py",
        help="the planted fault of these runs, where they were not made here: nothing else is run of what they name",
    )
    parser.add_argument(
        "--install",
        metavar="DIGEST",
        help="the packages of these runs' release, where they were not made here: without it their digest is shown, and none "
        "is installed",
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
        require_fault(fault, given=given, directory=directory)
    if invocation.release is None:
        if arguments.install is not None:
            raise UsageError("--install: these runs name no release: they go on with what is installed here. Leave it out.")
        require_framework(invocation.context.framework)
    elif not is_run(directory, invocation):
        require_release(invocation.release, given=arguments.install, directory=directory)
    if any((record := read_record(directory / name)) and record.files is None for name in invocation.runs):
        said = "its records list no digests: they are from before there were any, and what lies beside them is taken as it is"
        print(f"vigil: {directory}: {said}", file=sys.stderr)
    timeout = options.seconds("--hang-timeout", arguments.hang_timeout)
    with RunDisplay() as display:
        result = carry_out(directory, watch=watch(display, progress_timeout=timeout))
    options.write_json(arguments, result.invocation)
    return report(result, directory)


def require_release(release: NamedRelease, *, given: str | None, directory: Path, verb: str = "resume") -> None:
    """Ask before packages are installed that no command of this user has named. Raises UsageError unless the answer is yes.

    The name of a release says nothing of the packages that a directory lists with it: the digest of them all does.
    """
    digest = digest_of_named(release)[:_DIGITS]
    if given is not None and given != digest:
        raise UsageError(f"--install: found {given!r}. Allowed: {digest}, of what these runs install: {installed_by(release)}.")
    if given is None and not named_by_user(release):
        require(
            f"{directory}: `vigil {verb}` installs what no command of yours has named: {installed_by(release)}",
            question="Install them?",
            otherwise=f"If you have read this and trust it: vigil {verb} {directory} --install {digest}",
        )
    remember(RELEASES, digest_of_named(release))


def require_fault(fault: Mapping[str, str], *, given: Mapping[str, str] | None, directory: Path, verb: str = "resume") -> None:
    """Ask before a file is run that no command of this user has named. Raises UsageError unless the answer is yes.

    A name that the directory gives is no reason to run a file: the checksum of one that the user named is.
    """
    if given and given["sha256"] != fault["sha256"]:
        raise UsageError(f"--fault: found {given['path']}, whose checksum is not that of these runs' fault, {fault['name']}.")
    if given or is_own(FAULTS, fault["sha256"]):
        return
    require(
        f"{directory}: `vigil {verb}` runs the Python file {fault['path']}, which no command of yours has named",
        question="Run it?",
        otherwise=f"If you have read it and trust it: vigil {verb} {directory} --fault {fault['path']}",
    )
