"""Runs of users' files as `vigil verify` leaves them, made by hand: what they found is known."""

from __future__ import annotations

import hashlib
from pathlib import Path

from vigil.documents.context import make_context
from vigil.documents.operator import Inputs, OperatorFinding, OperatorVerification, Rate
from vigil.documents.provenance import PlantedFault
from vigil.documents.step import OwnFileFacts
from vigil.documents.verification import LimitFacts, StepVerdict
from vigil.process.build_spec import fault_entry
from vigil.process.consent import FILES, remember

NONE = Rate(count=0, of=0, low=0.0, high=1.0)


def facts_of(file: Path) -> OwnFileFacts:
    """Return what a document says of a file, which this user has named."""
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    remember(FILES, sha256)
    return OwnFileFacts(path=str(file), sha256=sha256)


def operator_run(
    directory: Path,
    file: Path,
    framework: str,
    *,
    kind: str = "bug",
    tensor: str | None = "outputs/0",
    mode: str = "eager",
    precision: str = "fp32",
    threads: int = 1,
    fault: Path | None = None,
    **inputs: object,
) -> OperatorVerification:
    """Write operator.json of a run that found one thing, and return it."""
    entry = fault_entry(str(fault)) if fault else None
    smallest = {"seed": 0, "sizes": {}, "precision": precision, "values": "given", "layout": "plain"} | inputs
    finding = OperatorFinding(
        kind=kind, threads=threads, precision=precision, tensor=tensor, usual=NONE, others={}, smallest=Inputs(**smallest),
        elements=None, shapes=None, ratio=1e4, limit=3.0, wrong_calls=None, message=None,
    )  # fmt: skip
    document = OperatorVerification(
        operator_id="made", created="2026-11-25T00:00:00+00:00",
        command=f"vigil verify {file.name}" + (f" --fault {fault}" if fault else ""), file=facts_of(file),
        context=make_context(framework=framework, mode=mode, precision=precision), framework_version=None, release=None,
        fault=PlantedFault(name=entry["name"], sha256=entry["sha256"]) if entry else None,
        verdict=StepVerdict(name="regressed", reason="made"), usual=dict(smallest["sizes"]), precisions=(precision,),
        findings=(finding,), tests=(), processes=(), limits=LimitFacts(clean_rows=0, sha256=None), not_seen=(), seconds=0.0,
    )  # fmt: skip
    directory.mkdir()
    document.write(directory)
    return document
