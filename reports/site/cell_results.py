"""What each cell was found to be, result by result: rows of history put together as they belong together.

A result is one verification, or all runs of one invocation. History holds the verdict on each run of an invocation. The one on
all of them together follows from it: an invocation's reason goes to those of its runs that have its verdict, and to no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import pandas as pd

from reports.site.appearance import FAILED, appearance_of, verdict_in
from vigil.documents.night import REPRODUCE, VERIFY, CellKind
from vigil.documents.verdict import Verdict
from vigil.documents.verification import SHORT
from vigil.tracking.history_rows import HistoryRow, SampleRow, VerificationRow, rows_of

KINDS: tuple[CellKind, ...] = (VERIFY, REPRODUCE)
NO_FAULT = "none"
WRONG_STEP = "one training step is wrong"  # with which the reason of a reproduction begins that it takes back
Key = tuple[str, str, str]  # recipe, profile, context


@dataclass(frozen=True)
class CellResult:
    """One verification or reproduction of a cell. verdict: as text, for history may hold any.

    runs: of a reproduction, the rows of its seeds in order. measured: of a verification, its row.
    """

    kind: CellKind
    identity: str
    created: datetime
    night: str | None
    recipe_hash: str
    recipe_version: int
    release: str | None
    fault: str
    framework: str
    verdict: str
    reason: str | None
    seconds: float | None
    runs: tuple[SampleRow, ...] = ()
    measured: VerificationRow | None = None

    @property
    def is_short(self) -> bool:
        """Whether it was a verification in the short form, which sees less than a whole one."""
        return self.measured is not None and self.measured.form == SHORT

    @property
    def is_clean(self) -> bool:
        """Whether it was a run of the framework as released: a planted fault says nothing of that."""
        return self.fault == NO_FAULT


def results_of(samples: pd.DataFrame, verifications: pd.DataFrame) -> dict[Key, list[CellResult]]:
    """Return every result of every cell, oldest first."""
    results: dict[Key, list[CellResult]] = {}
    rungs: dict[str, VerificationRow] = {}
    for row in rows_of(verifications, VerificationRow):
        if row.invocation_id is not None:
            rungs[row.invocation_id] = row
        results.setdefault(row.key, []).append(_verification(row))
    invocations: dict[tuple[Key, str], list[SampleRow]] = {}
    for run in rows_of(samples, SampleRow):
        invocations.setdefault((run.key, run.invocation_id), []).append(run)
    for (key, identity), runs in invocations.items():
        results.setdefault(key, []).append(_reproduction(runs, rungs.get(identity)))
    for of_key in results.values():
        of_key.sort(key=lambda result: (result.created, result.kind, result.identity))
    return results


def verdict_of_all(runs: Sequence[SampleRow], rung: VerificationRow | None) -> tuple[str, str | None]:
    """Return the verdict and reason of an invocation from those of its runs and of its first rung.

    A run that failed or was refused decides, as in `vigil.runs.carry_out.judge_records`; a step that is wrong takes `reproduced`
    back, as in `vigil.runs.first_rung.with_first_rung`. Where nothing tells, the verdict is `unknown`, never `reproduced`.
    """
    stopped = next((run for run in runs if _has_stopped(run)), None)
    if stopped is not None:
        return stopped.verdict, stopped.reason
    shared = next((run for run in runs if run.reason), None)
    if shared is not None:
        return shared.verdict, shared.reason
    step = verdict_in(rung.verdict) if rung is not None else None
    if rung is not None and step is not None and step.is_wrong_step:
        return Verdict.REGRESSED, f"{WRONG_STEP}, whatever the metric says: {rung.reason or rung.verdict}"
    if rung is not None and appearance_of(rung.verdict).name == FAILED:
        return rung.verdict, f"the verification of one training step crashed: {rung.reason or 'no reason recorded'}"
    if len(runs) == 1:
        return runs[0].verdict, None
    alone = ", ".join(f"seed {run.seed} {run.verdict}" for run in runs)
    reason = f"judged each alone: {alone}. The verdict on all of them together is not in the history; see MLflow."
    return Verdict.UNKNOWN, reason


def _has_stopped(run: SampleRow) -> bool:
    return appearance_of(run.verdict).name == FAILED or run.verdict == Verdict.UNSUPPORTED


def _reproduction(runs: list[SampleRow], rung: VerificationRow | None) -> CellResult:
    runs = sorted(runs, key=lambda run: (run.seed, run.created))
    last = max(runs, key=lambda run: run.created)
    verdict, reason = verdict_of_all(runs, rung)
    faults = sorted({run.fault for run in runs} - {NO_FAULT})
    known = [run.seconds for run in runs if run.seconds is not None]
    return _result(
        last,
        REPRODUCE,
        identity=last.invocation_id,
        verdict=verdict,
        reason=reason,
        seconds=sum(known) if known else None,
        fault=", ".join(faults) or NO_FAULT,
        runs=tuple(runs),
    )


def _verification(row: VerificationRow) -> CellResult:
    return _result(
        row,
        VERIFY,
        identity=row.verify_id,
        verdict=row.verdict,
        reason=row.reason,
        seconds=row.seconds,
        fault=row.fault,
        measured=row,
    )


def _result(
    row: HistoryRow,
    kind: CellKind,
    *,
    identity: str,
    verdict: str,
    reason: str | None,
    seconds: float | None,
    fault: str,
    runs: tuple[SampleRow, ...] = (),
    measured: VerificationRow | None = None,
) -> CellResult:
    """Return a result with what its row, or the last of its runs, says of when and of what it was."""
    return CellResult(
        kind=kind,
        identity=identity,
        created=row.created,
        night=row.night,
        recipe_hash=row.recipe_hash,
        recipe_version=row.recipe_version,
        release=row.release,
        fault=fault,
        framework=row.framework,
        verdict=verdict,
        reason=reason,
        seconds=seconds,
        runs=runs,
        measured=measured,
    )
