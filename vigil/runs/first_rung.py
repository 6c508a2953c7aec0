"""The first rung of a reproduction: one training step, verified before the first seed is trained.

It costs seconds, and a step that is wrong says where, which the metric never does. Training goes on whatever it finds: the
metric's verdict is the invocation's, and one that says `reproduced` or `unknown` is taken back by a wrong step.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runners.contract.protocol.spec import read_spec
from vigil.documents.context import Context
from vigil.errors import VigilError

if TYPE_CHECKING:
    from vigil.runs.watch import Watch

DIRECTORY = "verify"
# An invocation that is to be verified, and is not yet. None stands for one that is not to be.
PENDING: dict[str, Any] = {"verdict": None}
INTERRUPTED = "failed:interrupted"
WRONG = ("regressed", "known-finding")


def verify_first(
    directory: Path, invocation: Mapping[str, Any], *, watch: Watch, python: Path | None = None
) -> dict[str, Any]:
    """Verify an invocation's context in a directory of its own below the invocation's; return the summary that is recorded.

    Whatever an earlier, interrupted attempt left there is removed. What cannot be verified is `unknown`, with the reason.
    """
    # Only here: they load the oracle, and a run without a first rung has no use for it.
    from vigil.verify.golden import load_golden, path_of
    from vigil.verify.limits import load_limits
    from vigil.verify.request import Standard, verify_context

    recipe, place = invocation["recipe"], directory / DIRECTORY
    spec = read_spec(directory / invocation["runs"][0])
    data_directory = Path(spec.data_directory) if spec.data_directory else None
    shutil.rmtree(place, ignore_errors=True)
    try:
        tape = load_golden(path_of(recipe), recipe=recipe, data_directory=data_directory)
        document = verify_context(
            Standard(tape, load_limits(recipe["name"])),
            Context.from_dict(invocation["context"]),
            place,
            quick=True,
            command=invocation["command"],
            data_directory=data_directory,
            fault=spec.fault,
            cores=list(spec.cores) if spec.cores else None,
            progress_timeout=watch.progress_timeout,
            stop=watch.stop,
            release=invocation.get("release"),
            python=python,
            on_event=watch.on_verify(place),
        )
    except VigilError as error:
        return unverified({"name": "unknown", "reason": str(error)})
    except KeyboardInterrupt:
        failure = {"category": "interrupted", "phase": DIRECTORY, "step": 0, "message": "stopped by the user", "log_tail": []}
        return {"verdict": {"name": INTERRUPTED, "reason": failure["message"], "failure": failure}}
    if document["verdict"]["name"] != INTERRUPTED:
        watch.on_verified(document, place)
    facts = {key: document[key] for key in ("verdict", "origin", "worst", "seconds")}
    out = sum(float(each["score"]) > 1.0 for each in document["tensors"])
    facts |= {"tensors": len(document["tensors"]) or None, "tensors_out": out if document["tensors"] else None}
    return {**facts, "path": f"{DIRECTORY}/verify.json"}


def unverified(verdict: dict[str, Any]) -> dict[str, Any]:
    """Return the summary of a first rung that was not climbed."""
    nothing = dict.fromkeys(("origin", "worst", "seconds", "tensors", "tensors_out", "path"))
    return {"verdict": verdict, **nothing}


def with_first_rung(judged: dict[str, Any], summary: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the verdict of the metric, taken back if it is `reproduced` or `unknown` while a step is wrong or crashed."""
    if summary is None or judged["name"] not in ("reproduced", "unknown"):
        return judged
    though = "the metric lies in its band" if judged["name"] == "reproduced" else "the metric cannot be judged"
    found = summary["verdict"]
    if found["name"] in WRONG:
        what = origin_text(summary["origin"]) if summary["origin"] else found["reason"]
        reason = f"one training step is wrong, although {though}: {what}"
        return {**judged, "name": "regressed", "reason": reason}
    if found["name"].startswith("failed:"):
        reason = f"the verification of one training step crashed, although {though}: {found['reason']}"
        return {**judged, "name": found["name"], "reason": reason}
    return judged


def origin_text(origin: Mapping[str, Any]) -> str:
    """Return an origin as it is told: layer, phase, quantity, how far off, and the slope where there is one."""
    text = f"{origin['layer']}, {origin['phase']}, {origin['quantity']}"
    ratio, slope = float(origin["ratio"]), float(origin["slope"])
    if math.isinf(ratio):
        return f"{text}: infinitely far from what is expected"
    return f"{text}: {times(ratio)} the floor" + (f", slope {slope:.4f}" if math.isfinite(slope) else "")


def times(ratio: float | str) -> str:
    """Return a ratio with the digits that mean something.

    >>> times(5134.4), times(12.345), times(1.2345), times(3.2e9), times("inf")
    ('5,134x', '12.3x', '1.23x', '3.2e+09x', 'infinitely many times')
    """
    ratio = float(ratio)
    if math.isinf(ratio):
        return "infinitely many times"
    if ratio >= 1e7:
        return f"{ratio:.1e}x"
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.3g}x"
