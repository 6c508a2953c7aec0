"""Is a cell that failed tried once more in the same night? By what came of earlier tries, against what one costs."""

from __future__ import annotations

from collections.abc import Callable

from vigil.documents.failure import Triage
from vigil.failures.past import of_words, tries_again
from vigil.failures.retries import Tries, is_worth_it
from vigil.failures.triage import with_history
from vigil.nightly.cell_pool import CellOutcome
from vigil.nightly.cells import NightCell
from vigil.nightly.ledger import Ledger
from vigil.nightly.night_file import NightFile
from vigil.nightly.night_plan import Estimator


class Again:
    """Says what a failure is, with earlier nights and tonight in sight, and whether its cell is tried again."""

    def __init__(
        self,
        night: NightFile,
        ledger: Ledger,
        *,
        estimator: Estimator,
        left: Callable[[], float],
    ) -> None:
        """Take tonight and the nights before it. left: the seconds that are left for cells."""
        self._night, self._ledger, self._estimator, self._left = night, ledger, estimator, left

    def told(self, cell: NightCell, outcome: CellOutcome) -> Triage:
        """Return the triage of a failure: of a process that was killed, or of one that says nothing, by those before it."""
        assert outcome.verdict is not None
        tries = self._tries()
        triage = outcome.triage or of_words(outcome.verdict, outcome.reason)
        found = with_history(triage, self._before(cell), tries)
        return found.replace(retry=tries.of(found.category))

    def is_worth_it(self, cell: NightCell, triage: Triage, *, seconds: float, tries: int) -> bool:
        """Is another try worth it, and is there time for one?"""
        planned = self._estimator.seconds(cell)
        return planned <= self._left() and is_worth_it(
            triage.retry.chance, wins_seconds=planned, loses_seconds=seconds, tries=tries
        )

    def _tries(self) -> Tries:
        return tries_again([*self._ledger.nights, self._night.document])

    def _before(self, cell: NightCell) -> list[Triage]:
        """Return the failures of the cell in earlier nights, then those of its siblings tonight, the newest first."""
        own = [result.triage for result in reversed(self._ledger.results.get(cell.key, ())) if result.triage]
        siblings = [
            row.triage
            for row in self._night.cells.values()
            if row.triage and row.recipe == cell.recipe and row.context.framework == cell.framework
        ]
        return [*own, *siblings]
