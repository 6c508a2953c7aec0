"""Nights in MLflow: what their cells ran, a point in the timeline of every cell, and a run for the night.

What is down today is brought another day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vigil.documents.identity import Identity
from vigil.documents.invocation import Invocation
from vigil.documents.night import REPRODUCE, VERIFY, CellKind, CellRow, Night, StepRow
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Verification
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN, CannotRun
from vigil.nightly.night_file import NightFile
from vigil.redaction import redact
from vigil.tracking import (
    SINCE,
    NightPoint,
    TrackedDocument,
    TrackingUnavailable,
    read_document,
    record_night,
    record_night_summary,
    record_tracking,
    tracking_uri,
    upload,
)

WORST = {EXIT_REPRODUCED: "fine", EXIT_OUTSIDE: "wrong", EXIT_COULD_NOT_RUN: "failed", EXIT_UNKNOWN: "unknown"}


def bring(night: NightFile, runs: Path, *, uri: str | None = None) -> CannotRun | None:
    """Bring MLflow to hold a finished night and its runs, and note in its document what became of it; return why it could not be.

    What is there already is not doubled: to call it again completes what was broken off.
    """
    document, uri = night.document, uri or tracking_uri()
    if document.verdict is None:
        raise ValueError(f"night {night.id} is not finished")
    try:
        _bring_runs(document, runs, uri=uri)
        points = points_of(document, runs)
        if points:
            record_night(uri, points, night=night.id, number=document.number, when=document.when)
        run_id = record_night_summary(
            uri,
            night.directory,
            night=night.id,
            token=document.token,
            number=document.number,
            when=document.when,
            seconds=document.spent_seconds,
            verdict=WORST[document.verdict.exit_code],
            verdicts=document.verdict.counts,
            releases={name: release.version or "none" for name, release in document.releases.items()},
        )
    except CannotRun as error:
        night.change(tracking={"error": redact(str(error))})
        return error
    night.change(tracking={"uri": redact(uri), "run_id": run_id})
    return None


def _bring_runs(night: Night, runs: Path, *, uri: str) -> None:
    """Upload what no upload has completed of a night's cells; one that is gone or damaged keeps no other back.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused.
    """
    for row in night.rows:
        document = _document_of(row if row.is_done else None, runs)
        if row.directory is None or document is None or document.verdict is None:
            continue
        if document.verdict.name is Verdict.FAILED_INTERRUPTED:
            continue
        # Since when it is so the night knows at its end alone, when the run has been uploaded.
        since = {SINCE: row.since} if isinstance(row, StepRow) and row.since else {}
        if document.tracking and document.tracking.run_id and not since:
            continue
        try:
            record_tracking(runs / row.directory, upload(runs / row.directory, uri=uri, shown=since))
        except TrackingUnavailable:
            raise
        except CannotRun:  # `vigil sync` says what is wrong with it
            continue


def is_to_bring(night: NightFile) -> bool:
    """Is this night finished, and not in MLflow as it is now?"""
    tracking = night.document.tracking
    return bool(night.document.finished) and not (tracking and tracking.run_id)


def points_of(document: Night, runs: Path) -> list[NightPoint]:
    """Return one point for each context that was looked at, with the number and the worst tensor that it gave."""
    contexts: dict[tuple[str, str, str], dict[CellKind, CellRow]] = {}
    for row in document.cells:
        if row.is_done:
            contexts.setdefault((row.recipe, row.profile, row.context.text), {})[row.kind] = row
    return [_point(rows, document, runs) for rows in contexts.values()]


def _point(rows: Mapping[CellKind, CellRow], document: Night, runs: Path) -> NightPoint:
    row = _decisive(rows)
    verification, invocation = (_document_of(rows.get(kind), runs) for kind in (VERIFY, REPRODUCE))
    worst = verification.worst if isinstance(verification, Verification) else None
    judged = invocation.verdict if isinstance(invocation, Invocation) else None
    band = (judged.mean_band or judged.band) if judged else None
    recipe, context = document.recipes[row.recipe], row.context
    return NightPoint(
        recipe=Identity(name=row.recipe, version=recipe.version, hash=recipe.hash, profile=row.profile),
        context=context,
        release=document.release_of(row).version,
        verdict=Verdict(row.verdict),  # it is done, so it has one
        metric=recipe.metric.name,
        unit=recipe.metric.unit,
        direction=recipe.metric.direction,
        seeds=len(document.seeds) if REPRODUCE in rows else 0,
        value=judged.mean if judged else None,
        band_low=band.low if band else None,
        band_high=band.high if band else None,
        verify_worst_ratio=worst.ratio if worst else None,
        reason=row.reason,
    )


def _decisive(rows: Mapping[CellKind, CellRow]) -> CellRow:
    """Return the row whose verdict a context has: a wrong or crashed step takes back what its reproduction says in its favour."""
    step, number = rows.get(VERIFY), rows.get(REPRODUCE)
    if step is None or number is None:
        return next(iter(rows.values()))
    is_bad = step.is_outside or step.is_failed
    return step if is_bad and number.ended_as in (Verdict.REPRODUCED, Verdict.RAN, Verdict.UNKNOWN) else number


def _document_of(row: CellRow | None, runs: Path) -> TrackedDocument | None:
    """Return the document that a cell's directory holds; a folder that was removed since has none."""
    if row is None or row.directory is None:
        return None
    try:
        return read_document(runs / row.directory)
    except CannotRun:
        return None


def bring_all(nights: Sequence[NightFile], runs: Path, *, uri: str | None = None, is_check: bool = False) -> list[str]:
    """Bring every night that MLflow lacks, the oldest first, and return a remark for each that could not be brought.

    Args:
        is_check: bring also those that were brought before, for somebody may have deleted them in MLflow.

    A tracker that is down is not asked again: it would fail for each, and take its time to.
    """
    remarks = []
    for night in nights:
        is_due = bool(night.document.finished) if is_check else is_to_bring(night)
        if is_due and (problem := bring(night, runs, uri=uri)):
            remarks.append(f"night {night.id} is not in MLflow: {redact(str(problem))}")
            if isinstance(problem, TrackingUnavailable):
                break
    return remarks
