"""`vigil sync`: bring MLflow to hold every finished invocation, once each, after a tracker was down or has changed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from vigil.errors import EXIT_COULD_NOT_RUN, CannotRun, UsageError
from vigil.paths import runs_directory
from vigil.tracking import TrackingUnavailable, check_reachable, read_invocation, record_tracking, tracking_uri, upload


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("sync", help="upload finished runs that MLflow does not hold yet")
    parser.add_argument("runs_directory", nargs="?", type=Path, metavar="RUNS_DIR", help="default: $VIGIL_RUNS_DIR, or runs/")
    parser.add_argument("--all", action="store_true", help="check also those that were uploaded before")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Upload what is missing and return 0, or 3 when something could not be uploaded."""
    directory = arguments.runs_directory or runs_directory()
    if arguments.runs_directory and not directory.is_dir():
        raise UsageError(f"{directory}: no such directory. Give one that holds run directories.")
    found = sorted(find_invocations(directory))
    uri = tracking_uri()
    counts = {"uploaded": 0, "already in MLflow": 0, "skipped": 0, "failed": 0}
    for number, invocation_directory in enumerate(found, start=1):
        outcome, remark = sync_one(invocation_directory, uri=uri, is_check=arguments.all)
        counts[outcome] += 1
        print(f"[{number}/{len(found)}] {invocation_directory.name}: {outcome}{remark}", flush=True)
        if outcome == "failed" and not _answers(uri):  # a damaged invocation does not stop the others, a dead tracker does
            break
    counts["not tried"] = len(found) - sum(counts.values())
    print(f"{directory}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return EXIT_COULD_NOT_RUN if counts["failed"] else 0


def sync_one(invocation_directory: Path, *, uri: str, is_check: bool) -> tuple[str, str]:
    """Upload one invocation if that is due; return the outcome and what else a person should know."""
    try:
        invocation = read_invocation(invocation_directory) if _is_written(invocation_directory) else {}
        if not invocation.get("verdict"):
            return "skipped", " (no verdict yet: still running, or to be continued with `vigil resume`)"
        earlier = invocation.get("tracking") or {}
        if earlier.get("run_id") and not is_check:
            return "already in MLflow", ""
        tracking = upload(invocation_directory, uri=uri)
        if tracking == earlier:
            return "already in MLflow", " (checked)"
        record_tracking(invocation_directory, tracking)
        return "uploaded", f" (experiment {tracking['experiment']}, run {tracking['run_id']})"
    except CannotRun as error:
        return "failed", f": {error}"


def find_invocations(directory: Path) -> Iterator[Path]:
    """Yield each directory that holds an invocation.json, or a run that has started towards one."""
    for place, names, files in os.walk(directory):
        here = Path(place)
        if "invocation.json" in files or any((here / name / "spec.json").is_file() for name in names):
            names.clear()
            yield here


def _answers(uri: str) -> bool:
    try:
        check_reachable(uri)
    except TrackingUnavailable:
        return False
    return True


def _is_written(invocation_directory: Path) -> bool:
    return (invocation_directory / "invocation.json").is_file()
