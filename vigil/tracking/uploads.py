"""A finished directory, sent to MLflow: once, or again with the same result.

Nothing is logged while a run trains. A finished invocation directory holds all there is, so it is uploaded afterwards,
or later when the tracker was down. What an upload has completed carries `vigil.uploaded`, a hash of all that was sent;
whatever lacks it, or carries another hash, is deleted and made anew: nothing is lost and nothing counted twice.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from vigil.documents.audit import Audit
from vigil.documents.document import DocumentError
from vigil.documents.invocation import Invocation, Tracking
from vigil.documents.narrowing import Narrowing, place_of
from vigil.documents.record import Record
from vigil.documents.verification import Verification
from vigil.errors import CannotRun
from vigil.locks import locked
from vigil.redaction import redact
from vigil.tracking.client import Store, check_reachable, failures_named, tracking_uri
from vigil.tracking.looks import EXPERIMENTS, KINDS, AnyLook, Kind, look_entries
from vigil.tracking.run_entry import EXPERIMENT_NOTE, Attachment, Entry, child_entry, parent_entry, texts, verify_entry
from vigil.tracking.views import LOOKS_VIEW, RUNS_VIEW, View

INVOCATION, VERIFICATION = Invocation.FILE_NAME, Verification.FILE_NAME
_LOOKS = {kind.document.FILE_NAME: kind for kind in KINDS}
TrackedDocument = Invocation | Verification | AnyLook
# What is uploaded, by the name of its file; a directory has one of them.
DOCUMENTS: Mapping[str, type[TrackedDocument]] = {
    each.FILE_NAME: each for each in (Invocation, Verification, *(kind.document for kind in KINDS))
}
PICTURE = "verify.png"
# Of a narrowing, what a person sends on.
_NARROWED = ("script.py", "report.md", Narrowing.FILE_NAME)
NARROWED = tuple(f"narrowed/1/{name}" for name in _NARROWED)
RUN_PICTURES = ("views.png", "masks.png")
_MOST_SCRIPTS = 20  # of an audit's findings: the worst


class _Sent(NamedTuple):
    """What is sent of a directory: its experiment, with its note and view, what its document becomes, and what each part does."""

    experiment: str
    parent: Entry
    children: list[Entry]
    note: str = EXPERIMENT_NOTE
    view: View = RUNS_VIEW


def upload(directory: Path, *, uri: str | None = None, shown: Mapping[str, str] | None = None) -> Tracking:
    """Bring MLflow to hold this finished directory exactly once, and return where it is.

    Args:
        shown: tags besides, for a person to look at: what was not known yet when its document was written.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused. Calling again later completes the upload.
        CannotRun: the directory lacks a record, holds a damaged one, or files that it was not made of, or has no verdict yet.
    """
    uri = uri or tracking_uri()
    sent = _entries(directory)
    parent = dataclasses.replace(sent.parent, shown={**sent.parent.shown, **texts(shown or {})})
    check_reachable(uri)
    with locked(directory), failures_named(uri):
        store = Store(uri)
        experiment_id = store.experiment_id(sent.experiment, note=sent.note, view=sent.view)
        parent_id, is_complete = store.place(experiment_id, parent)
        for child in sent.children:
            child_id, child_is_complete = store.place(experiment_id, child, parent_id=parent_id)
            if not child_is_complete:
                store.finish(child_id, child)
        if not is_complete:
            store.finish(parent_id, parent)
    return Tracking(uri=redact(uri), experiment=sent.experiment, run_id=parent_id)


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


def held_looks(uri: str) -> set[str]:
    """Return which experiments of users' own files, and of audits, the store at `uri` holds.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused.
    """
    check_reachable(uri)
    with failures_named(uri):
        return {each.name for each in Store(uri).experiments()} & EXPERIMENTS.keys()


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
    """Return where a directory's document is: invocation.json, unless it holds another that is uploaded and not this one."""
    return next((directory / name for name in DOCUMENTS if (directory / name).is_file()), directory / INVOCATION)


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


def _entries(directory: Path) -> _Sent:
    path = document_path(directory)
    text = _read_text(path)
    if kind := _LOOKS.get(path.name):
        return _sent_look(directory, kind, text)
    if path.name == VERIFICATION:
        document = Verification.parse(text, where=str(path))
        files = attachments(directory, [PICTURE, *NARROWED])
        entry = verify_entry(document, text=text, attachments=files, narrowed=_narrowed(directory))
        return _Sent(document.recipe.name, entry, [])
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
        return _Sent(invocation.recipe.name, parent_entry(invocation, records, text=text, attachments=files), children)
    except ValueError as error:
        raise CannotRun(f"{directory}: its documents contradict each other ({error}).") from error


def _sent_look(directory: Path, kind: Kind, text: str) -> _Sent:
    """Return what is sent of a look, with the scripts that show what it found, and what narrowed it."""
    document = kind.document.parse(text, where=str(directory / kind.document.FILE_NAME))
    scripts = []
    if isinstance(document, Audit):
        named = [each.script for each in document.findings if each.script and each.known is None]
        # A document may have been edited: what it names lies beside it, or is not sent.
        scripts = [name for name in named if Path(name).name == name][:_MOST_SCRIPTS]
    places = [path.parent.name for path in directory.glob(f"narrowed/*/{Narrowing.FILE_NAME}")]
    numbers = sorted(int(name) for name in places if name.isdecimal())
    reasons = [reason for number in numbers if (reason := _narrowed(directory, number))]
    files = attachments(directory, [*scripts, *(f"narrowed/{number}/{name}" for number in numbers for name in _NARROWED)])
    parent, children = look_entries(kind, document, text=text, attachments=files, narrowed=reasons)
    return _Sent(kind.experiment, parent, children, note=kind.note, view=LOOKS_VIEW)


def _narrowed(directory: Path, number: int = 1) -> str | None:
    """Return what narrowing a verification came to; None where it was not narrowed."""
    try:
        return Narrowing.read(place_of(directory, number)).reason
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


def read_document(directory: Path) -> TrackedDocument:
    """Return a directory's document. Raises CannotRun for one that is missing or damaged."""
    path = document_path(directory)
    return DOCUMENTS[path.name].parse(_read_text(path), where=str(path))
