"""A finished directory, sent to MLflow: once, or again with the same result.

Nothing is logged while a run trains. A finished invocation directory holds all there is, so it is uploaded afterwards,
or later when the tracker was down. What an upload has completed carries `vigil.uploaded`, a hash of all that was sent;
whatever lacks it, or carries another hash, is deleted and made anew: nothing is lost and nothing counted twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from vigil.errors import CannotRun
from vigil.redaction import redact
from vigil.tracking.address import alone_in, check_reachable, failures_named, tracking_uri
from vigil.tracking.client import Store
from vigil.tracking.entry import Attachment, Entry, child_entry, parent_entry, verify_entry
from vigil.tracking.notes import EXPERIMENT_NOTE

INVOCATION, VERIFICATION = "invocation.json", "verify.json"
PICTURE = "verify.png"
RUN_PICTURES = ("views.png", "masks.png")


def upload(directory: Path, *, uri: str | None = None) -> dict[str, str]:
    """Bring MLflow to hold this finished invocation or verification exactly once, and return {uri, experiment, run_id}.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused. Calling again later completes the upload.
        CannotRun: the directory lacks a record, holds a damaged one, or has no verdict yet.
    """
    uri = uri or tracking_uri()
    document = read_document(directory)
    if not document.get("verdict"):
        raise CannotRun(f"{directory}: no verdict yet. Only finished invocations are uploaded.")
    parent, children = _entries(directory, document)
    experiment = document["recipe"]["name"]
    check_reachable(uri)
    with alone_in(directory), failures_named(uri):
        store = Store(uri)
        experiment_id = store.experiment_id(experiment, note=EXPERIMENT_NOTE)
        parent_id, is_complete = store.place(experiment_id, parent)
        for child in children:
            child_id, child_is_complete = store.place(experiment_id, child, parent_id=parent_id)
            if not child_is_complete:
                store.finish(child_id, child)
        if not is_complete:
            store.finish(parent_id, parent)
    return {"uri": redact(uri), "experiment": experiment, "run_id": parent_id}


def upload_or_note(directory: Path) -> None:
    """Upload, and write down in the document what became of it.

    A tracker that cannot be reached is noted: the directory is whole without it, and there is `vigil sync`.
    """
    try:
        outcome = upload(directory)
    except CannotRun as error:
        outcome = {"error": redact(str(error))}
    record_tracking(directory, outcome)


def document_path(directory: Path) -> Path:
    """Return where a directory's document is: verify.json of a verification of its own, else invocation.json."""
    invocation, verification = directory / INVOCATION, directory / VERIFICATION
    return verification if verification.is_file() and not invocation.is_file() else invocation


def read_document(directory: Path) -> dict[str, Any]:
    """Return the content of invocation.json or verify.json."""
    return _read_json(document_path(directory))


def record_tracking(directory: Path, tracking: dict[str, str]) -> None:
    """Replace `tracking` in the directory's document, atomically."""
    target = document_path(directory)
    partial = target.with_suffix(".json.partial")
    partial.write_text(json.dumps(read_document(directory) | {"tracking": tracking}, indent=2) + "\n")
    os.replace(partial, target)


def attachments(directory: Path, names: list[str]) -> tuple[Attachment, ...]:
    """Return those of the named files that a directory holds, each with its hash."""
    paths = [directory / name for name in names]
    return tuple(
        Attachment(name, hashlib.sha256(path.read_bytes()).hexdigest(), str(path))
        for name, path in zip(names, paths, strict=True)
        if path.is_file()
    )


def _entries(directory: Path, document: dict[str, Any]) -> tuple[Entry, list[Entry]]:
    """Return what the document and each of its runs become, or raise CannotRun for one that misses a field."""
    is_invocation = document_path(directory).name == INVOCATION
    records = [_read_json(directory / name / "record.json") for name in document["runs"]] if is_invocation else []
    try:
        if not is_invocation:
            return verify_entry(document, attachments=attachments(directory, [PICTURE])), []
        files = attachments(directory, [f"verify/{name}" for name in (VERIFICATION, PICTURE)])
        children = [
            child_entry(record, document, attachments=attachments(directory / name, list(RUN_PICTURES)))
            for name, record in zip(document["runs"], records, strict=True)
        ]
        return parent_entry(document, records, attachments=files), children
    except (KeyError, TypeError) as error:
        raise CannotRun(
            f"{directory}: {document_path(directory).name} or a record.json does not follow its schema "
            f"({type(error).__name__}: {error}). docs/architecture.md lists the fields."
        ) from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise CannotRun(f"{path}: missing. The invocation is not complete; continue it with `vigil resume`.") from None
    except json.JSONDecodeError as error:
        raise CannotRun(f"{path}: not JSON at line {error.lineno}: {error.msg}. The file is damaged.") from error
