"""`--until-decided`: seeds one at a time, until the evidence decides either way or the plan is used up.

Every seed up to the cap is planned beforehand, so that what is interrupted can be resumed; what the runs have shown
after each is written into invocation.json, and seeds that are not needed are struck off. The test is in vigil/statistics/sequential.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vigil.process.recording import read_record, write_json
from vigil.statistics.sequential import ALPHA, BETA, DELTA

FILE_NAME = "invocation.json"
Judge = Callable[[dict[str, Any], list[dict[str, Any]]], dict[str, Any]]


def rule(seeds: Sequence[int], *, effect: float | None) -> dict[str, Any]:
    """Return the rule as it stands in invocation.json: error rates, the effect, the seeds at most, the looks so far.

    Args:
        effect: the smallest difference worth finding, in the metric's unit; None for DELTA standard deviations of the
            reference.
    """
    return {"alpha": ALPHA, "beta": BETA, "delta": DELTA, "effect": effect, "planned": list(seeds), "looks": []}


def is_over(directory: Path, invocation: dict[str, Any], records: list[dict[str, Any]], judge: Judge) -> bool:
    """Return whether no further seed is to be trained; note the looks, and strike off the seeds that are left.

    It is over when the evidence has decided, when a run has failed, which decides the verdict whatever follows, and when
    nothing can be judged, for want of a reference. A seed that has been trained already is never struck off.
    """
    if invocation.get("sequential") is None:
        return False
    found = judge(invocation, records)["sequential"]
    left = [name for name in invocation["runs"][len(records) :] if read_record(directory / name) is not None]
    is_decided = (found is None or found["decision"] is not None) and not left
    invocation["sequential"] = {**invocation["sequential"], "looks": found["looks"] if found else []}
    if is_decided:
        invocation["runs"] = invocation["runs"][: len(records)]
        invocation["seeds"] = invocation["seeds"][: len(records)]
    write_json(directory / FILE_NAME, invocation)
    return is_decided
