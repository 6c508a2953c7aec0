"""verify.json: one context, held against the float64 oracle step by step."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from vigil.documents.context import Context
from vigil.documents.document import Document, Number, Part
from vigil.documents.failure import Failure
from vigil.documents.identity import Identity
from vigil.documents.provenance import Environment, NamedRelease, PlantedFault, Tracking
from vigil.documents.verdict import Verdict

# Forms of a verification.
WHOLE, SHORT = "whole", "short"


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

    @property
    def is_out(self) -> bool:
        return self.score > 1.0


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


class VoterStanding(Part):
    """How one voter on a golden tape stands: its largest relative distance to those that agree, and where that is."""

    version: str
    agrees: bool
    largest: Number
    case: str
    tensor: str


class GoldenFacts(Part):
    """Which golden tape a context was held to. created, votes: null for one that the oracle made alone."""

    sha256: str
    created: str | None
    votes: dict[str, VoterStanding] | None


class LimitFacts(Part):
    """What the limits were computed from. sha256: of each file of clean rows, by its name below reference_results/."""

    clean_rows: int
    sha256: dict[str, str] | None = None


class InsideLook(Part):
    """One look inside the program. `moved`: how far looking moved the gradients, in noise floors; only where that was asked."""

    name: str
    tensors: int
    out: int
    worst: str
    ratio: Number
    moved: Number | None = None

    @model_serializer(mode="wrap")
    def _without_what_was_not_asked(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content = handler(self)
        return content if "moved" in self.model_fields_set else {name: content[name] for name in content if name != "moved"}


class BrokenInvariant(Part):
    """An invariant that does not hold: in which case, of which tensor, and in what way."""

    case: str
    tensor: str
    what: str


class CaseTime(Part):
    """One case that was asked; its seconds are null where it was not answered. sha256: of the bits of its answer."""

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("sha256",)

    name: str
    seconds: float | None
    sha256: str | None = None


class KnownFinding(Part):
    """A context of a released framework that is really wrong.

    releases: framework versions it is in. contexts: patterns of short context forms, as `tensorflow-*-bf16-x1`.
    layers: patterns of the origin's layer; quantity: of what it gets wrong. evidence: a script in docs/findings/, or a link.
    cpu_flags: patterns of what an environment says of its processor, with ! those that must not match; None where any has it.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("cpu_flags",)

    name: str
    recipe: str
    framework: str
    releases: tuple[str, ...]
    contexts: tuple[str, ...]
    layers: tuple[str, ...]
    quantity: str
    evidence: str
    cpu_flags: tuple[str, ...] | None = None


class Verification(Document):
    """One context, verified.

    source: the file of a recipe of a user's own.
    worst: of all tensors. origins: the first of them is `origin`. passengers: tensors that only inherit from it.
    looks: what was seen inside the program; remarks: what else a reader must know. known: the findings on record for it.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("tracking", "source")
    FILE_NAME: ClassVar[str] = "verify.json"

    schema_: int = Field(1, alias="schema")
    verify_id: str
    created: str
    command: str
    night: str | None = None
    recipe: Identity
    source: str | None = None
    context: Context
    fault: PlantedFault | None
    release: NamedRelease | None = None
    golden: GoldenFacts
    limits: LimitFacts
    verdict: StepVerdict
    worst: TensorDifference | None
    origin: Origin | None
    origins: tuple[Origin, ...]
    passengers: tuple[str, ...]
    looks: tuple[InsideLook, ...]
    remarks: tuple[str, ...]
    broken: tuple[BrokenInvariant, ...]
    tensors: tuple[TensorDifference, ...]
    cases: tuple[CaseTime, ...]
    known: tuple[KnownFinding, ...]
    environment: Environment
    seconds: float
    tracking: Tracking | None = None

    @property
    def is_short(self) -> bool:
        """Is it about training steps on margin batches alone, and nothing on full ones?"""
        return bool(self.tensors) and not any(case.name.endswith("/full") for case in self.cases)

    @property
    def tensors_out(self) -> int:
        """Return how many tensors are beyond their limits."""
        return sum(each.is_out for each in self.tensors)

    @property
    def framework_version(self) -> str | None:
        """Return the framework's version as its runner told it; None where it came to nothing."""
        version = self.environment.get("framework_version")
        return None if version is None else str(version)


def times(ratio: float) -> str:
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
