"""`vigil replay RUN`: go to a step of a run, bit for bit, and find its first tensor that is not finite."""

from __future__ import annotations

import argparse
from pathlib import Path

from reports.replay_text import replay_block
from vigil.cli import options
from vigil.cli.resume import require_fault, require_release
from vigil.documents.invocation import Invocation
from vigil.documents.record import Record
from vigil.errors import UsageError
from vigil.paths import expanded, runs_directory
from vigil.process.build_spec import fault_entry
from vigil.process.directories import alone_in
from vigil.process.environment import require_framework
from vigil.process.recording import read_record, spec_of
from vigil.progress import StageDisplay
from vigil.releases.recorded import interpreter
from vigil.replay.replay import can_be_replayed, replay
from vigil.runs.carry_out import read_invocation
from vigil.terminal import answered

EXIT_CODES = (
    "exit codes: 0 every tensor of the step is finite, 1 one is not, 2 wrong usage, 3 could not run, 4 what was not finite in "
    "the run is finite in the replay"
)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb."""
    parser = subparsers.add_parser(
        "replay",
        help="a loss that is not finite: which step, which tensor first, and has float64 it too",
        description="Go from a run's last finite checkpoint to one of its steps, bit for bit as training did, and find the first "
        "tensor of the step that is not finite: its operator, its inputs, and what float64 has there.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("directory", metavar="RUN", help="a run directory, or an invocation with a run that ended so")
    parser.add_argument("--step", metavar="N", help="another step than the first that is not finite, counted from 1")
    parser.add_argument("--fault", metavar="FILE.py", help="the planted fault of the run, where it was not made here")
    parser.add_argument("--install", metavar="DIGEST", help="the packages of the run's release, where it was not made here")
    options.add_json(parser)
    options.add_timeouts(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Replay the step, show what was found, return the document's exit code."""
    step = options.whole_number("--step", arguments.step, least=1) if arguments.step else None
    timeout = options.seconds("--hang-timeout", arguments.hang_timeout)
    directory = _run_directory(expanded(arguments.directory), is_any=step is not None)
    spec, invocation = spec_of(directory), _invocation_of(directory)
    if spec.fault:
        require_fault(spec.fault, given=fault_entry(arguments.fault), directory=directory, verb="replay")
    release = invocation.release if invocation else None
    if release:
        require_release(release, given=arguments.install, directory=directory, verb="replay")
    elif arguments.install is not None:
        raise UsageError("--install: this run names no release: it is replayed with what is installed here. Leave it out.")
    else:
        require_framework(spec.framework)
    with StageDisplay() as display, alone_in(directory), interpreter(release, tell=display.say) as (python, recorded):
        document, place = replay(
            directory,
            command=arguments.command,
            step=step,
            python=python,
            release=recorded,
            progress_timeout=timeout,
            tell=display.say,
        )
    options.write_json(arguments, document)
    answered(replay_block(document, directory=str(place)))
    return document.exit_code


def _run_directory(named: Path, *, is_any: bool) -> Path:
    """Return the directory of a run: the one that is named, or the invocation's first that ended with such a number.

    Args:
        is_any: whether any run of an invocation will do, because a step is named.
    """
    if not named.is_dir():
        raise UsageError(f"{named}: no such directory. Allowed: that of a run or of an invocation, below {runs_directory()}.")
    if (named / Record.FILE_NAME).exists() or not (named / Invocation.FILE_NAME).exists():
        return named
    runs = [named / name for name in read_invocation(named).runs]
    ended = [each for each in runs if (record := read_record(each)) and (is_any or can_be_replayed(record))]
    if not ended:
        raise UsageError(f"{named}: no run of it ended with a number that is not finite. Name a step: --step N.")
    return ended[0]


def _invocation_of(run: Path) -> Invocation | None:
    directory = run.resolve().parent
    return read_invocation(directory) if (directory / Invocation.FILE_NAME).exists() else None
