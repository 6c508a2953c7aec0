"""`vigil triage`: what sort of failure a run, or any training job's log, ended with, and whether another try can help."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from reports.failure_text import triage_rows
from reports.step_text import row
from runners.contract.protocol.events import FILE_NAME as EVENTS
from runners.contract.protocol.events import read_events
from runners.contract.steps.frame import NOT_ASKED
from vigil.cli import options
from vigil.cli.answers import TriageAnswer, TriagedFailure
from vigil.documents.failure import Failure
from vigil.errors import EXIT_REPRODUCED, EXIT_UNKNOWN, CannotRun, UsageError
from vigil.failures.categories import UNKNOWN
from vigil.failures.past import past_tries
from vigil.failures.triage import Evidence, of_old, triage
from vigil.paths import expanded, runs_directory
from vigil.process.execute import HEARTBEAT_TIMEOUT_SECONDS, LOG_NAME, Ending
from vigil.process.recording import failure_of, last_lines, read_record
from vigil.terminal import answered

EXIT_CODES = "exit codes: 0 told, or nothing failed, 2 wrong usage, 3 could not be read, 4 unknown"


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb."""
    parser = subparsers.add_parser(
        "triage",
        help="what sort of failure a run or a log ended with, and whether another try helps",
        description="Say what sort of failure it is, which line decides, what to do, and whether another try can help: of a "
        "directory of runs, or of the log of any training job.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("place", metavar="RUN_DIRECTORY|LOG", help="a directory of Vigil's, or the log of any training job")
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show each failure, return 4 where one is unknown."""
    place, running = expanded(arguments.place), list[str]()
    if place.is_dir():
        found = list(_failures(place, running))
    elif place.is_file():
        found = [_of_log(place)]
    else:
        raise UsageError(f"{arguments.place}: no such file or directory. Allowed: a directory of runs, or a log.")
    is_unknown = any(each.triage.category == UNKNOWN for each in found)
    exit_code = EXIT_UNKNOWN if is_unknown else EXIT_REPRODUCED
    answer = TriageAnswer(exit_code=exit_code, place=str(place), failures=tuple(found), running=tuple(running))
    options.write_json(arguments, answer)
    lines = [line for each in found for line in _block(each)] or [f"{place}: nothing {'has failed yet' if running else 'failed'}"]
    answered("\n".join([*lines, *(f"still running: {each}" for each in running)]))
    return exit_code


def _block(found: TriagedFailure) -> list[str]:
    lines = [f"{found.triage.name.upper()}: {found.where}"]
    if found.said:
        lines += row("failed", f"{found.said} in phase {found.phase}, step {found.step}")
    return lines + [line for name, text in triage_rows(found.triage) for line in row(name, text)]


def _of_log(path: Path) -> TriagedFailure:
    try:
        lines = last_lines(path)
    except OSError as error:
        raise CannotRun(f"{path}: cannot be read ({error.strerror}).") from error
    return TriagedFailure(where=str(path), triage=triage(Evidence(lines), past_tries(runs_directory())))


def _failures(directory: Path, running: list[str]) -> Iterator[TriagedFailure]:
    """Yield the failures below a directory, and list the runs that are under way. Raises UsageError where there is nothing."""
    runs = sorted(path.parent for path in directory.rglob(EVENTS))
    if not runs and (directory / LOG_NAME).is_file():
        yield _of_log(directory / LOG_NAME)
        return
    if not runs:
        raise UsageError(f"{directory}: holds no run ({EVENTS}) and no {LOG_NAME}. Name a directory of runs, or a log.")
    tries = past_tries(runs_directory())
    for run in runs:
        if _is_running(run):
            running.append(str(run))
            continue
        failure = _failure(run)
        if failure is None or failure.category == "unsupported" or failure.message == NOT_ASKED:
            continue  # the last follows from another one here
        found = of_old(failure, tries)
        yield TriagedFailure(
            where=str(run),
            said=failure.category,
            phase=failure.phase,
            step=failure.step,
            triage=found.replace(retry=tries.of(found.category)),
        )


def _failure(run: Path) -> Failure | None:
    """Return why a run failed, by its record; by its events where it has none, as the processes of verifications have."""
    if record := read_record(run):
        return record.failure
    events = _events(run)
    if any(event["kind"] == "finished" for event in events):
        return None
    return failure_of(run, events, Ending(None))


def _is_running(run: Path) -> bool:
    """Is its process there, and was it heard a short while ago? A runner's heart beats every few seconds."""
    events = _events(run)
    pid = next((event["pid"] for event in reversed(events) if event["kind"] == "started"), None)
    if pid is None or events[-1]["kind"] in ("finished", "failed"):
        return False
    return psutil.pid_exists(pid) and time.time() - events[-1]["time"] < HEARTBEAT_TIMEOUT_SECONDS


def _events(run: Path) -> list[dict]:
    try:
        return read_events(run)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotRun(f"{run / EVENTS}: cannot be read ({type(error).__name__}: {error}).") from error
