"""Rows of a reference, made from a finished run."""

from __future__ import annotations

import json
from typing import Any

from vigil.documents.identity import Identity
from vigil.documents.record import Record
from vigil.documents.reference_row import ReferenceRow, VerificationNote
from vigil.documents.verdict import Verdict
from vigil.references.admission import row_from_record

RECIPE = Identity(name="resnet_cifar", version=1, hash="aa11", profile="quick")
VERIFIED = VerificationNote(
    verdict=Verdict.REPRODUCED, reason="589 tensors within their limits", verify_id="one", golden="ab" * 32
)


def row_of(record: dict[str, Any], *, verify: VerificationNote | None = None) -> ReferenceRow:
    """Return the row of a record, as it stands in its file."""
    return row_from_record(Record.parse(json.dumps(record), where=f"record of {record['run_id']}"), verify=verify)


def make_row(record: dict[str, Any], *, seed: int, run_id: str | None = None, value: float = 81.5) -> ReferenceRow:
    """Return the row of a record with another seed, run and value."""
    metric = {**record["metric"], "value": value}
    return row_of({**record, "seed": seed, "run_id": run_id or f"run-{seed}", "metric": metric})
