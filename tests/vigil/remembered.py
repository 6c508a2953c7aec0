"""What the tests of history share: a time, a first rung, and how a history is looked at."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vigil.tracking.history import History

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
RUNG = {
    "verdict": {"name": "regressed", "reason": "9 of 589 tensors are out"},
    "worst": {
        "case": "early/margin", "tensor": "loss", "ratio": 5134.4, "slope": 1.0, "intercept": 0.0, "slope_z": 0.5,
        "intercept_z": 0.5, "problem": None, "score": 135.1,
    },
    "origin": {
        "layer": "stem", "phase": "forward", "quantity": "output", "tensor": "loss", "case": "early/margin", "ratio": 5134.4,
        "slope": 1.0,
    },
    "seconds": 9.0, "tensors": 589, "tensors_out": 9,
}  # fmt: skip


def names(history: History) -> list[str]:
    """Return the invocations in the history, once for each of their runs."""
    return sorted(history.samples["invocation_id"])


def assert_once(history: History) -> None:
    """Raise if a run or a verification stands twice."""
    assert not history.samples.duplicated(["invocation_id", "run_id"]).any()
    assert not history.verifications.duplicated("verify_id").any()
