"""What nights tried again: a cell that failed, and was looked at once more on the same basis, in that night or a later one."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

from vigil.documents.failure import Triage
from vigil.documents.night import CellRow, Night, nights_directory, read_nights
from vigil.documents.verdict import Verdict
from vigil.failures.retries import Tries
from vigil.failures.triage import Evidence, triage

_NEWEST = 30


def tries_again(nights: Iterable[Night]) -> Tries:
    """Count what came of looking again at what had failed. nights: in their order."""
    return Tries.counted(_outcomes(nights))


@functools.cache
def past_tries(runs: Path) -> Tries:
    """Count what came of it in the newest nights of a folder of runs, read once a process; none where it has no nights."""
    return tries_again(read_nights(nights_directory(runs), newest=_NEWEST)[0].values())


def triage_of(row: CellRow) -> Triage:
    """Return the triage of a cell that failed; of one of an older night by its verdict and reason."""
    return row.triage or of_words(row.verdict or Verdict.FAILED_CRASH, row.reason or "")


def of_words(verdict: Verdict, reason: str, tries: Tries | None = None) -> Triage:
    """Return the triage of a failure of which only the verdict and its reason are known."""
    return triage(Evidence(reason.splitlines(), said=verdict.removeprefix("failed:"), message=reason), tries)


def _outcomes(nights: Iterable[Night]) -> Iterator[tuple[str, bool]]:
    """Yield of each try again the category that failed before it, and whether it helped."""
    last: dict[str, tuple[str, str | None]] = {}
    for night in nights:
        for row in night.rows:
            ends: list[str | None] = [each.triage.category for each in row.tries]
            if row.ended_as is not None:
                ends.append(triage_of(row).category if row.is_failed else None)
            for end in ends:
                basis, before = last.get(row.key, (row.basis, None))
                if before is not None and basis == row.basis:
                    yield before, end is None
                last[row.key] = row.basis, end
