"""Why a runner ended without what it was asked for."""

from __future__ import annotations

from typing import ClassVar, Literal

from vigil.documents.document import Part
from vigil.documents.verdict import Verdict

Basis = Literal["evidence", "history", "rule"]


class Retry(Part):
    """Whether another try helps, by what came of earlier ones: the posterior, and the chance below which it lies to 95 %."""

    helped: int
    tried: int
    chance: float
    below: float


class Triage(Part):
    """What sort of failure it is (vigil/failures/categories.py), and what to do.

    line: of the log, or what the kernel or the conductor said. basis: what decided: evidence, earlier failures, or a rule on
    words. repeats: the same input fails the same way.
    """

    category: str
    dimension: str
    name: str
    line: str | None
    advice: str
    basis: Basis
    repeats: bool
    retry: Retry


class HungProcess(Part):
    """A process of a runner when a hang was ended: what it was doing, and the stacks of its threads.

    collective: what sum or barrier of several devices it is in, as the stack of its main thread says; null where in none.
    where: the innermost frame of that thread; null where the process is gone or did not answer, as one that is stopped.
    cpu_seconds: of all its threads, in the `watched_seconds` before it was ended. stacks: lines, cut where they are many.
    """

    rank: int
    pid: int
    collective: str | None
    where: str | None
    cpu_seconds: float | None
    watched_seconds: float
    stacks: tuple[str, ...]


class Failure(Part):
    """Why a run ended without a number, and the last lines of its log.

    processes: of a hang, those that hung. triage: older documents have none.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("triage",)

    category: str
    phase: str
    step: int
    message: str
    log_tail: tuple[str, ...]
    processes: tuple[HungProcess, ...] = ()
    triage: Triage | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict on a run that ended so."""
        return Verdict.of_failure(self.category)
