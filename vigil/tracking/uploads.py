"""A finished directory, sent to MLflow: once, or again with the same result.

Nothing is logged while a run trains. A finished invocation directory holds all there is, so it is uploaded afterwards,
or later when the tracker was down. What an upload has completed carries `vigil.uploaded`, a hash of all that was sent;
whatever lacks it, or carries another hash, is deleted and made anew: nothing is lost and nothing counted twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from vigil.documents.document import DocumentError
from vigil.documents.invocation import Invocation, Tracking
from vigil.documents.narrowing import Narrowing, place_of
from vigil.documents.record import Record
from vigil.documents.verification import Verification
from vigil.errors import CannotRun
from vigil.locks import locked
from vigil.redaction import redact
from vigil.tracking.client import Store, check_reachable, failures_named, tracking_uri
from vigil.tracking.run_entry import EXPERIMENT_NOTE, Attachment, Entry, child_entry, parent_entry, verify_entry
from vigil.tracking.views import RUNS_VIEW

INVOCATION, VERIFICATION = Invocation.FILE_NAME, Verification.FILE_NAME
PICTURE = "verify.png"
# Of a verification's narrowing, and of that before a reproduction: what a person sends on.
NARROWED = tuple(f"narrowed/1/{name}" for name in ("script.py", "report.md", Narrowing.FILE_NAME))
RUN_PICTURES = ("views.png", "masks.png")


def upload(directory: Path, *, uri: str | None = None) -> Tracking:
    """Bring MLflow to hold this finished invocation or verification exactly once, and return where it is.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused. Calling again later completes the upload.
        CannotRun: the directory lacks a record, holds a damaged one, or files that it was not made of, or has no verdict yet.
    """
    uri = uri or tracking_uri()
    experiment, parent, children = _entries(directory)
    check_reachable(uri)
    with locked(directory), failures_named(uri):
        store = Store(uri)
        experiment_id = store.experiment_id(experiment, note=EXPERIMENT_NOTE, view=RUNS_VIEW)
        parent_id, is_complete = store.place(experiment_id, parent)
        for child in children:
            child_id, child_is_complete = store.place(experiment_id, child, parent_id=parent_id)
            if not child_is_complete:
                store.finish(child_id, child)
        if not is_complete:
            store.finish(parent_id, parent)
    return Tracking(uri=redact(uri), experiment=experiment, run_id=parent_id)


def held_runs(uri: str, run_ids: Sequence[str]) -> set[str]:
    """Return those of these MLflow runs that the store at `uri` has ever seen, also those that were deleted there since.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused.
    """
    if not run_ids:
        return set()
    check_reachable(uri)
    with failures_named(uri):
        return Store(uri).held(run_ids)


def upload_or_note(directory: Path) -> None:
    """Upload, and write down in the document what became of it.

    A tracker that cannot be reached is noted: the directory is whole without it, and there is `vigil sync`.
    """
    try:
        outcome = upload(directory)
    except CannotRun as error:
        outcome = Tracking(error=redact(str(error)))
    record_tracking(directory, outcome)


def document_path(directory: Path) -> Path:
    """Return where a directory's document is: verify.json of a verification of its own, else invocation.json."""
    invocation, verification = directory / INVOCATION, directory / VERIFICATION
    return verification if verification.is_file() and not invocation.is_file() else invocation


def record_tracking(directory: Path, tracking: Tracking) -> None:
    """Replace `tracking` in the directory's document, as a whole."""
    read_document(directory).replace(tracking=tracking).write(directory)


def attachments(directory: Path, names: Sequence[str]) -> tuple[Attachment, ...]:
    """Return those of the named files that a directory holds, each with its hash."""
    paths = [directory / name for name in names]
    return tuple(
        Attachment(name, hashlib.sha256(path.read_bytes()).hexdigest(), str(path))
        for name, path in zip(names, paths, strict=True)
        if path.is_file()
    )


def _entries(directory: Path) -> tuple[str, Entry, list[Entry]]:
    """Return a directory's experiment, what its document becomes, and what each of its runs does."""
    path = document_path(directory)
    text = _read_text(path)
    if path.name == VERIFICATION:
        document = Verification.parse(text, where=str(path))
        files = attachments(directory, [PICTURE, *NARROWED])
        entry = verify_entry(document, text=text, attachments=files, narrowed=_narrowed(directory))
        return document.recipe.name, entry, []
    invocation = Invocation.parse(text, where=str(path))
    if invocation.verdict is None:
        raise _unfinished(directory)
    places = [directory / name for name in invocation.runs]
    of_runs = [_read_text(place / Record.FILE_NAME) for place in places]
    records = [Record.parse(of_run, where=str(place / Record.FILE_NAME)) for place, of_run in zip(places, of_runs, strict=True)]
    for place, record in zip(places, records, strict=True):
        record.require_files(place)
    files = attachments(directory, [f"verify/{name}" for name in (VERIFICATION, PICTURE, *NARROWED)])
    try:
        children = [
            child_entry(record, invocation, text=of_run, attachments=attachments(place, RUN_PICTURES))
            for place, of_run, record in zip(places, of_runs, records, strict=True)
        ]
        return invocation.recipe.name, parent_entry(invocation, records, text=text, attachments=files), children
    except ValueError as error:
        raise CannotRun(f"{directory}: its documents contradict each other ({error}).") from error


def _narrowed(directory: Path) -> str | None:
    """Return what narrowing a verification came to; None where it was not narrowed."""
    try:
        return Narrowing.read(place_of(directory)).reason
    except (OSError, DocumentError):
        return None


def _unfinished(directory: Path) -> CannotRun:
    return CannotRun(f"{directory}: no verdict yet. Only finished invocations are uploaded.")


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CannotRun(f"{path}: missing. The invocation is not complete; continue it with `vigil resume`.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRun(f"{path}: cannot be read ({error}).") from error


def read_document(directory: Path) -> Invocation | Verification:
    """Return a directory's invocation.json or verify.json. Raises CannotRun for one that is missing or damaged."""
    path = document_path(directory)
    kind = Invocation if path.name == INVOCATION else Verification
    return kind.parse(_read_text(path), where=str(path))
