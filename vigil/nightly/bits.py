"""Bit equality with an earlier night's build on the same machine: the cheapest alarm there is."""

from __future__ import annotations

from pathlib import Path

from vigil.documents.document import DocumentError
from vigil.documents.night import OTHER_BITS, OTHER_NUMBERS, SAME_BITS, SAME_NUMBERS, VERIFY, Bits, CellRow
from vigil.documents.verification import Verification
from vigil.nightly.cells import cell_of
from vigil.nightly.ledger import Ledger


def bits_of(row: CellRow, ledger: Ledger, runs: Path) -> Bits | None:
    """Return how the bits of a verification's answers are beside those of the last night that answered the same.

    None where no earlier one compares: on another processor, by another golden tape, or without a digest.
    """
    if row.kind != VERIFY or row.directory is None or row.ended_as is None or row.is_failed:
        return None
    now = _read(runs / row.directory)
    if now is None:
        return None
    for result in reversed(ledger.results.get(cell_of(row).key, ())):
        before = _read(runs / result.directory) if result.directory else None
        if before is None or _ground(before) != _ground(now):
            continue
        earlier = {case.name: case.sha256 for case in before.cases if case.sha256}
        both = [case.sha256 == earlier[case.name] for case in now.cases if case.sha256 and case.name in earlier]
        if not both:
            continue
        wrong = sum(each.verdict.name.is_wrong_step for each in (before, now))
        answer = SAME_BITS if all(both) else (SAME_NUMBERS, OTHER_NUMBERS, OTHER_BITS)[wrong]
        return Bits(answer=answer, night=result.night, release=result.release, cases=len(both), same=sum(both))
    return None


def _ground(document: Verification) -> tuple[str, object, object]:
    """Return what two verifications must have in common for their bits to say anything."""
    return document.golden.sha256, document.environment.get("hardware"), document.environment.get("cpu_flags")


def _read(directory: Path) -> Verification | None:
    try:
        return Verification.read(directory)
    except (OSError, DocumentError):
        return None
