"""verify.json: one context, held against the float64 oracle step by step."""

from __future__ import annotations

import math
from typing import ClassVar

from vigil.documents.document import Number, Part
from vigil.documents.failure import Failure
from vigil.documents.verdict import Verdict


class StepVerdict(Part):
    """What a verification says. `failure`: only after a failed run."""

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("failure",)

    name: Verdict
    reason: str
    failure: Failure | None = None


class TensorDifference(Part):
    """How one tensor differs. `ratio`: its distance in noise floors; `score`: above 1 it is beyond its limit."""

    case: str
    tensor: str
    ratio: Number
    slope: Number
    intercept: Number
    slope_z: Number
    intercept_z: Number
    problem: str | None
    score: Number


class Origin(Part):
    """Where inputs are equal and outputs differ."""

    layer: str
    phase: str
    quantity: str
    tensor: str
    case: str
    ratio: Number
    slope: Number
    remark: str = ""
    is_certain: bool = True

    @property
    def text(self) -> str:
        """Return it as it is told: layer, phase, quantity, how far off, and the slope where there is one."""
        text = f"{self.layer}, {self.phase}, {self.quantity}"
        if math.isinf(self.ratio):
            return f"{text}: infinitely far from what is expected"
        return f"{text}: {times(self.ratio)} the floor" + (f", slope {self.slope:.4f}" if math.isfinite(self.slope) else "")


def times(ratio: float | str) -> str:
    """Return a ratio with the digits that mean something.

    >>> times(5134.4), times(12.345), times(1.2345), times(3.2e9), times(float("inf"))
    ('5,134x', '12.3x', '1.23x', '3.2e+09x', 'infinitely many times')
    """
    ratio = float(ratio)
    if math.isinf(ratio):
        return "infinitely many times"
    if ratio >= 1e7:
        return f"{ratio:.1e}x"
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.3g}x"
