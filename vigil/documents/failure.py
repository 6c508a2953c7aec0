"""Why a runner ended without what it was asked for."""

from __future__ import annotations

from vigil.documents.document import Part
from vigil.documents.verdict import Verdict


class Failure(Part):
    """Why a run ended without a number, and the last lines of its log."""

    category: str
    phase: str
    step: int
    message: str
    log_tail: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict on a run that ended so."""
        return Verdict.of_failure(self.category)
