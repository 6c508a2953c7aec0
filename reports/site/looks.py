"""What each cell was found to be, look by look: rows of history put together as they belong together.

A look is one verification, or all runs of one invocation. History holds the verdict on each run of an invocation. The one on all
of them together follows from it: an invocation's reason goes to those of its runs that have its verdict, and to no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pandas as pd

VERIFY, REPRODUCE = "verify", "reproduce"
KINDS = (VERIFY, REPRODUCE)
Row = Mapping[str, Any]
Key = tuple[str, str, str]  # recipe, profile, context

_WRONG = ("regressed", "known-finding")
_FROM_ROW = ("created", "night", "recipe_hash", "recipe_version", "release", "fault", "framework")


@dataclass(frozen=True)
class Look:
    """One look at a cell.

    runs: of a reproduction, the rows of its seeds in order. measured: of a verification, its row.
    """

    kind: str
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
    runs: tuple[Row, ...] = ()
    measured: Row | None = None

    @property
    def is_short(self) -> bool:
        """Whether it was the short verification before a reproduction, which sees less than one of its own."""
        return self.measured is not None and self.measured["invocation_id"] is not None

    @property
    def is_clean(self) -> bool:
        """Whether it was a run of the framework as released: a planted fault says nothing of that."""
        return self.fault == "none"


def looks_of(samples: pd.DataFrame, verifications: pd.DataFrame) -> dict[Key, list[Look]]:
    """Return every look at every cell, oldest first."""
    found: dict[Key, list[Look]] = {}
    rungs: dict[str, Row] = {}
    for row in rows_of(verifications):
        if row["invocation_id"] is not None:
            rungs[row["invocation_id"]] = row
        found.setdefault(_key(row), []).append(_verification(row))
    invocations: dict[tuple[Key, str], list[Row]] = {}
    for row in rows_of(samples):
        invocations.setdefault((_key(row), row["invocation_id"]), []).append(row)
    for (key, identity), runs in invocations.items():
        found.setdefault(key, []).append(_reproduction(runs, rungs.get(identity)))
    for looks in found.values():
        looks.sort(key=lambda look: (look.created, look.kind, look.identity))
    return found


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """Return the rows of a frame, None for whatever is missing."""
    if frame.empty:
        return []
    names = list(frame.columns)
    columns = [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def verdict_of_all(runs: Sequence[Row], rung: Row | None) -> tuple[str, str | None]:
    """Return the verdict and reason of an invocation from those of its runs and of its first rung.

    A run that failed or was refused decides, as in `vigil.runs.carry_out.judge_records`; a step that is wrong takes `reproduced`
    back, as in `vigil.runs.first_rung.with_first_rung`. Where nothing tells, the verdict is `unknown`, never `reproduced`.
    """
    recorded = next((run for run in runs if run.get("invocation_verdict")), None)
    if recorded is not None:
        return recorded["invocation_verdict"], recorded.get("invocation_reason")
    stopped = next((run for run in runs if run["verdict"].startswith("failed:") or run["verdict"] == "unsupported"), None)
    if stopped is not None:
        return stopped["verdict"], stopped["reason"]
    shared = next((run for run in runs if run["reason"]), None)
    if shared is not None:
        return shared["verdict"], shared["reason"]
    if rung is not None and rung["verdict"] in _WRONG:
        return "regressed", f"one training step is wrong, whatever the metric says: {rung['reason'] or rung['verdict']}"
    if rung is not None and rung["verdict"].startswith("failed:"):
        return rung["verdict"], f"the verification of one training step crashed: {rung['reason'] or 'no reason recorded'}"
    if len(runs) == 1:
        return runs[0]["verdict"], None
    alone = ", ".join(f"seed {run['seed']} {run['verdict']}" for run in runs)
    return "unknown", f"judged each alone: {alone}. The verdict on all of them together is not in the history; see MLflow."


def _reproduction(runs: list[Row], rung: Row | None) -> Look:
    runs = sorted(runs, key=lambda run: (run["seed"], run["created"]))
    last = max(runs, key=lambda run: run["created"])
    verdict, reason = verdict_of_all(runs, rung)
    faults = sorted({run["fault"] for run in runs} - {"none"})
    known = [run["seconds"] for run in runs if run["seconds"] is not None]
    facts = {name: last[name] for name in _FROM_ROW} | {"fault": ", ".join(faults) or "none"}
    return Look(
        kind=REPRODUCE,
        identity=last["invocation_id"],
        verdict=verdict,
        reason=reason,
        seconds=sum(known) if known else None,
        runs=tuple(runs),
        **facts,
    )


def _verification(row: Row) -> Look:
    facts = {name: row[name] for name in _FROM_ROW}
    return Look(
        kind=VERIFY,
        identity=row["verify_id"],
        verdict=row["verdict"],
        reason=row["reason"],
        seconds=row["seconds"],
        measured=row,
        **facts,
    )


def _key(row: Row) -> Key:
    return row["recipe"], row["profile"], row["context"]
