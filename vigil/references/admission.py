"""From the record of a run to a reference row, and what is refused on the way.

Whatever cannot be a sample is refused here: a run that failed, one with a planted fault, one of a context that verify rejects. A
number that is not finite is refused by the row itself, on the way in and again on the way out.
"""

from __future__ import annotations

import os
from typing import Any

from vigil.documents.record import Record
from vigil.documents.reference_row import ReferenceError_, ReferenceRow, VerificationNote
from vigil.documents.verdict import Verdict
from vigil.frameworks import RECORDED


def row_from_record(record: Record, *, verify: VerificationNote | None = None) -> ReferenceRow:
    """Return the reference row of a finished run; raise ReferenceError_ for a run that cannot be a sample.

    A run of code with uncommitted changes is taken, and its row says so.

    Args:
        verify: what the verification of the run's context said; None where there was none.
    """
    who, environment = f"run {record.run_id}", record.environment
    if record.fault is not None:
        raise ReferenceError_(
            f"{who}: fault: found {record.fault.name!r}. A run with a planted fault is never a reference: run it without --fault."
        )
    if record.status != "finished":
        raise ReferenceError_(f"{who}: status: found {record.status!r}, allowed is 'finished'.")
    _refuse_rejected(record, who=who)
    for key in ("framework_version", "python", "hardware"):
        if key not in environment:
            raise ReferenceError_(f"{who}: {key}: missing from its record; a reference row needs it.")
    content = {
        "schema": ReferenceRow.SCHEMA,
        "kind": "measured",
        "recipe": record.recipe,
        "metric": record.metric.name,
        "unit": record.metric.unit,
        "value": record.metric.value,
        "seed": record.seed,
        "context": record.context,
        "framework_version": environment["framework_version"],
        "packages": {name: environment[name] for name in RECORDED if name in environment},
        "python": environment["python"],
        "hardware": environment["hardware"],
        "environment": {key: value for key, value in environment.items() if not _is_local_path(value)},
        "data": {"name": record.data.name, "checksum": record.data.checksum},
        "commit": record.code.commit,
        "dirty": record.code.dirty,
        "date": record.created[:10],
        "run_id": record.run_id,
        "state_sha256": record.state_sha256,
        "verify": verify,
    }
    return ReferenceRow.checked({key: value for key, value in content.items() if key != "verify" or value}, where=who)


def _refuse_rejected(record: Record, *, who: str) -> None:
    """Raise ReferenceError_ for a run whose own invocation began with a training step that was found wrong."""
    verdict = record.verify.verdict.name if record.verify is not None and record.verify.verdict is not None else None
    if verdict not in (None, Verdict.REPRODUCED, Verdict.UNKNOWN):
        raise ReferenceError_(
            f"{who}: verify.verdict: found '{verdict}'. A run of a context whose training step is wrong is never a reference: "
            "see verify.json beside its invocation."
        )


def _is_local_path(value: Any) -> bool:
    # Where one machine keeps its files says nothing about its numbers, and rows are published.
    return isinstance(value, str) and os.path.isabs(value)
