"""`--until-decided`: seeds one at a time, until the evidence decides either way or the plan is used up.

Every seed up to the cap is planned beforehand, so that what is interrupted can be resumed; what the runs have shown
after each is written into invocation.json, and seeds that are not needed are struck off. The test is in
vigil/statistics/sequential.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vigil.documents.invocation import Invocation, SequentialRule
from vigil.documents.judgement import Judgement
from vigil.documents.record import Record
from vigil.process.recording import read_record
from vigil.statistics.sequential import ALPHA, BETA, DELTA


def rule(seeds: Sequence[int], *, effect: float | None) -> SequentialRule:
    """Return the rule by which these seeds are run.

    Args:
        effect: the smallest difference worth finding, in the metric's unit; None for DELTA standard deviations of the
            reference.
    """
    return SequentialRule(alpha=ALPHA, beta=BETA, delta=DELTA, effect=effect, planned=tuple(seeds), looks=())


def note_evidence(
    directory: Path,
    invocation: Invocation,
    records: Sequence[Record],
    judge: Callable[[Invocation, Sequence[Record]], Judgement],
) -> tuple[Invocation, bool]:
    """Return the invocation with what its runs have shown so far, and whether no further seed is to be trained.

    It is over when the evidence has decided, when a run has failed, which decides the verdict whatever follows, and when
    nothing can be judged, for want of a reference. The seeds that are left are struck off then, but never one that has been
    trained already.
    """
    if invocation.sequential is None:
        return invocation, False
    evidence = judge(invocation, records).sequential
    left = [name for name in invocation.runs[len(records) :] if read_record(directory / name) is not None]
    is_over = (evidence is None or evidence.decision is not None) and not left
    invocation = invocation.replace(sequential=invocation.sequential.replace(looks=evidence.looks if evidence else ()))
    if is_over:
        invocation = invocation.replace(runs=invocation.runs[: len(records)], seeds=invocation.seeds[: len(records)])
    invocation.write(directory)
    return invocation, is_over
