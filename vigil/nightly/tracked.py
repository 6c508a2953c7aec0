"""Nights in MLflow: what their cells ran, a point in the timeline of every cell, and a run for the night.

What is down today is brought another day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN, CannotRun
from vigil.nightly.cells import REPRODUCE, VERIFY
from vigil.nightly.document import DONE, Night, created
from vigil.nightly.ledger import OUTSIDE
from vigil.redaction import redact
from vigil.references.judgement import FAILED, REPRODUCED, UNKNOWN
from vigil.runs.first_rung import INTERRUPTED
from vigil.tracking import (
    NightPoint,
    TrackingUnavailable,
    read_document,
    record_night,
    record_night_summary,
    record_tracking,
    tracking_uri,
    upload,
)

WORST = {EXIT_REPRODUCED: "fine", EXIT_OUTSIDE: "wrong", EXIT_COULD_NOT_RUN: "failed", EXIT_UNKNOWN: "unknown"}


def bring(night: Night, runs: Path, *, uri: str | None = None) -> CannotRun | None:
    """Bring MLflow to hold a finished night and its runs, and note in its document what became of it; return why it could not be.

    What is there already is not doubled: to call it again completes what was broken off.
    """
    document, uri = night.document, uri or tracking_uri()
    try:
        _bring_runs(document, runs, uri=uri)
        points = points_of(document, runs)
        if points:
            record_night(uri, points, night=night.id, number=document["number"], when=created(document))
        run_id = record_night_summary(
            uri,
            night.directory,
            night=night.id,
            token=document.get("token"),
            number=document["number"],
            when=created(document),
            seconds=document["spent_seconds"],
            verdict=WORST[document["verdict"]["exit_code"]],
            verdicts=document["verdict"]["counts"],
            releases={name: release["version"] or "none" for name, release in document["releases"].items()},
        )
    except CannotRun as error:
        document["tracking"] = {"error": redact(str(error))}
        night.save()
        return error
    document["tracking"] = {"uri": redact(uri), "run_id": run_id}
    night.save()
    return None


def _bring_runs(document: Mapping[str, Any], runs: Path, *, uri: str) -> None:
    """Upload what no upload has completed of a night's cells; one that is gone or damaged keeps no other back.

    Raises:
        TrackingUnavailable: MLflow could not be reached, or refused.
    """
    for row in document["cells"]:
        found = _document_of(row if row["status"] == DONE else None, runs)
        verdict, tracking = found.get("verdict") or {}, found.get("tracking") or {}
        if verdict.get("name") in (None, INTERRUPTED) or tracking.get("run_id"):
            continue
        try:
            record_tracking(runs / row["directory"], upload(runs / row["directory"], uri=uri))
        except TrackingUnavailable:
            raise
        except CannotRun:  # `vigil sync` says what is wrong with it
            continue


def is_to_bring(night: Night) -> bool:
    """Is this night finished, and not in MLflow as it is now?"""
    return bool(night.document["finished"]) and not (night.document["tracking"] or {}).get("run_id")


def points_of(document: dict[str, Any], runs: Path) -> list[NightPoint]:
    """Return one point for each context that was looked at, with the number and the worst tensor that it gave."""
    looks: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for row in document["cells"]:
        if row["status"] == DONE:
            looks.setdefault((row["recipe"], row["profile"], row["context"]["text"]), {})[row["kind"]] = row
    return [_point(rows, document, runs) for rows in looks.values()]


def _point(rows: dict[str, dict[str, Any]], document: dict[str, Any], runs: Path) -> NightPoint:
    row = _decisive(rows)
    verification, reproduction = (_document_of(rows.get(kind), runs) for kind in (VERIFY, REPRODUCE))
    judged, worst = reproduction.get("verdict") or {}, verification.get("worst") or {}
    band = judged.get("mean_band") or judged.get("band") or {}
    recipe, context = document["recipes"][row["recipe"]], row["context"]
    metric = recipe["metric"]
    fields = ("framework", "mode", "precision", "device", "devices", "determinism", "randomness")
    return NightPoint(
        recipe=row["recipe"],
        recipe_version=recipe["version"],
        recipe_hash=recipe["hash"],
        profile=row["profile"],
        context=context["text"],
        **{name: context[name] for name in fields},
        release=document["releases"][context["framework"]]["version"],
        verdict=row["verdict"],
        metric=metric["name"],
        unit=metric["unit"],
        direction=metric["direction"],
        seeds=len(document["seeds"]) if REPRODUCE in rows else 0,
        value=judged.get("mean"),
        band_low=band.get("low"),
        band_high=band.get("high"),
        verify_worst_ratio=float(worst["ratio"]) if worst else None,
        reason=row["reason"],
    )


def _decisive(rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the row whose verdict a context has: a wrong or crashed step takes back what its reproduction says in its favour."""
    step, number = rows.get(VERIFY), rows.get(REPRODUCE)
    if step is None or number is None:
        return step or number or {}
    is_bad = step["verdict"] in OUTSIDE or step["verdict"].startswith(FAILED)
    return step if is_bad and number["verdict"] in (REPRODUCED, UNKNOWN) else number


def _document_of(row: dict[str, Any] | None, runs: Path) -> dict[str, Any]:
    """Return the document that a cell's directory holds; a folder that was removed since has none."""
    if row is None or row["directory"] is None:
        return {}
    try:
        return read_document(runs / row["directory"])
    except CannotRun:
        return {}


def bring_all(nights: Sequence[Night], runs: Path, *, uri: str | None = None, is_check: bool = False) -> list[str]:
    """Bring every night that MLflow lacks, the oldest first, and return a remark for each that could not be brought.

    Args:
        is_check: bring also those that were brought before, for somebody may have deleted them in MLflow.

    A tracker that is down is not asked again: it would fail for each, and take its time to.
    """
    remarks = []
    for night in nights:
        is_due = bool(night.document["finished"]) if is_check else is_to_bring(night)
        if is_due and (problem := bring(night, runs, uri=uri)):
            remarks.append(f"night {night.id} is not in MLflow: {redact(str(problem))}")
            if isinstance(problem, TrackingUnavailable):
                break
    return remarks
