"""`vigil sync`: bring MLflow to hold every finished run, verification and audit, once each, after a tracker was down."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from vigil.cli import options
from vigil.cli.answers import SyncAnswer, SyncedDirectory
from vigil.cli.nightly import bring_nights
from vigil.documents.invocation import Tracking
from vigil.documents.night import nights_directory
from vigil.documents.verdict import Verdict
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_REPRODUCED, CannotRun, UsageError
from vigil.nightly.night_file import alone, read_night_files
from vigil.paths import runs_directory
from vigil.tracking import (
    DOCUMENTS,
    TrackingUnavailable,
    check_reachable,
    document_path,
    held_runs,
    read_document,
    record_tracking,
    tracking_uri,
    upload,
)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("sync", help="upload finished runs that MLflow does not hold yet")
    parser.add_argument("runs_directory", nargs="?", type=Path, metavar="RUNS_DIR", help="default: $VIGIL_RUNS_DIR, or runs/")
    parser.add_argument("--all", action="store_true", help="check also those that were uploaded before")
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Upload what is missing and return 0, or 3 when something could not be uploaded."""
    directory = arguments.runs_directory or runs_directory()
    if arguments.runs_directory and not directory.is_dir():
        raise UsageError(f"{directory}: no such directory. Give one that holds run directories.")
    found = sorted(find_documents(directory))
    uri = tracking_uri()
    held = held_runs(uri, [run_id for place in found if (run_id := _noted(place))])
    counts = {"uploaded": 0, "already in MLflow": 0, "skipped": 0, "failed": 0}
    tried = []
    for number, place in enumerate(found, start=1):
        outcome, remark = sync_one(place, uri=uri, held=set() if arguments.all else held)
        counts[outcome] += 1
        tried.append(SyncedDirectory(directory=str(place), outcome=outcome, remark=remark.strip(" :")))
        print(f"[{number}/{len(found)}] {place.name}: {outcome}{remark}", flush=True)
        if outcome == "failed" and not _answers(uri):  # a damaged invocation does not stop the others, a dead tracker does
            break
    counts["not tried"] = len(found) - sum(counts.values())
    print(f"{directory}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    remarks = _sync_nights(directory, uri=uri, is_check=arguments.all)
    code = EXIT_COULD_NOT_RUN if counts["failed"] or remarks else EXIT_REPRODUCED
    answer = SyncAnswer(exit_code=code, directory=str(directory), counts=counts, tried=tried, nights=remarks)
    options.write_json(arguments, answer)
    return code


def _sync_nights(directory: Path, *, uri: str, is_check: bool) -> list[str]:
    """Bring finished nights to MLflow that it lacks, or, to check, all of them; say, and return, which could not be."""
    nights = nights_directory(directory)
    if not nights.is_dir():
        return []
    try:
        with alone(nights):
            found, remarks = read_night_files(nights)
            noted = {night.id: tracking.run_id for night in found if (tracking := night.document.tracking) and tracking.run_id}
            held = set() if is_check else held_runs(uri, list(noted.values()))
            missing = [night for night in found if night.id in noted and noted[night.id] not in held]
            remarks += bring_nights(missing, directory, is_check=True)
            remarks += bring_nights([night for night in found if night.id not in noted], directory)
    except CannotRun as error:  # a nightly is at work: it brings them itself
        remarks = [str(error)]
    print("\n".join(remarks) or f"{nights}: every finished night is in MLflow")
    return remarks


def _noted(directory: Path) -> str | None:
    """Return the MLflow run that a directory's document notes as its own; None where there is none, or no whole document."""
    try:
        document = read_document(directory) if document_path(directory).is_file() else None
    except CannotRun:
        return None
    return document.tracking.run_id if document and document.tracking else None


def sync_one(directory: Path, *, uri: str, held: Collection[str]) -> tuple[str, str]:
    """Upload what a directory holds if that is due; return the outcome and what else a person should know.

    Args:
        held: the MLflow runs that this store has seen; what is none of them is looked up, and uploaded where it is missing.
    """
    try:
        document = read_document(directory) if document_path(directory).is_file() else None
        if document is None or document.verdict is None:
            return "skipped", " (no verdict yet: still running, or to be continued with `vigil resume`)"
        if document.verdict.name is Verdict.FAILED_INTERRUPTED:
            return "skipped", " (interrupted)"
        earlier = document.tracking or Tracking()
        if earlier.run_id in held:
            return "already in MLflow", ""
        tracking = upload(directory, uri=uri)
        if tracking == earlier:
            return "already in MLflow", " (checked)"
        record_tracking(directory, tracking)
        return "uploaded", f" (experiment {tracking.experiment}, run {tracking.run_id})"
    except (CannotRun, OSError) as error:
        return "failed", f": {error}"


def find_documents(directory: Path) -> Iterator[Path]:
    """Yield each directory that holds a document to upload, or a run that has started towards an invocation.json.

    Anything else that has no document was broken off, and cannot be continued: there is nothing to upload.
    """
    for place, names, files in os.walk(directory):
        here = Path(place)
        has_document = not DOCUMENTS.keys().isdisjoint(files)
        tasks = [] if has_document else _tasks(here, names)
        if has_document or "train" in tasks:
            yield here
        if has_document or tasks:
            names.clear()


def _tasks(directory: Path, names: list[str]) -> list[str]:
    """Return the tasks of the runs right below a directory; a spec that cannot be read is taken for one that trains."""
    tasks = []
    for name in names:
        spec = directory / name / "spec.json"
        if spec.is_file():
            try:
                tasks.append(json.loads(spec.read_text(encoding="utf-8")).get("task", "train"))
            except ValueError:
                tasks.append("train")
    return tasks


def _answers(uri: str) -> bool:
    try:
        check_reachable(uri)
    except TrackingUnavailable:
        return False
    return True
