"""step.json: a user's own training step, in every context that was asked for, held against the same program in float64."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vigil.documents.context import Context
from vigil.documents.document import Document, Number, Part
from vigil.documents.failure import Failure
from vigil.documents.provenance import Environment, NamedRelease, PlantedFault, Tracking
from vigil.documents.verdict import Verdict
from vigil.documents.verification import LimitFacts, StepVerdict, TensorDifference


def in_short(context: Context, threads: int) -> str:
    """Return the short form of a context, with its threads where there are several."""
    return f"{context.text}{f' on {threads} threads' if threads > 1 else ''}"


class OwnFileFacts(Part):
    """The user's file, as it was."""

    path: str
    sha256: str


class DirectionalDerivative(Part):
    """The loss's derivative along random signs: by central differences in float64, and by the gradients.

    parameter: whose; None for all of them. error: what the two may differ by.
    """

    parameter: str | None
    central: Number
    gradients: Number
    error: Number

    @property
    def differs(self) -> bool:
        return not abs(self.central - self.gradients) <= self.error


class OracleFacts(Part):
    """The program in float64, for contexts of one precision.

    seed: of the batch, that of `candidates` which rounding moves least. flips: how many draws of rounding changed what an
    operator chose, by case and operator. derivatives: of all parameters, and of each one where that differs.
    """

    precision: str
    seed: int | None
    candidates: int | None
    operators: int | None
    loss_scale: Number | None
    draws: int
    flips: dict[str, dict[str, int]]
    derivatives: tuple[DirectionalDerivative, ...]
    remarks: tuple[str, ...]
    failure: Failure | None
    seconds: float


class StepOrigin(Part):
    """The first tensor inside the step that is out, where all that was computed before it agrees.

    phase: forward, backward, gradient, update, statistics or evaluation. where: a module, or an operator.
    """

    phase: str
    where: str
    tensor: str
    ratio: Number

    @property
    def text(self) -> str:
        return f"{self.where}, {self.phase}"


class Repeated(Part):
    """Calls from the same state: how many, and how many different results they gave."""

    calls: int
    results: int


class StepContext(Part):
    """One context. out: tensors beyond their limits, the farthest first, at most some."""

    context: Context
    threads: int
    verdict: StepVerdict
    tensors: int
    tensors_out: int
    worst: TensorDifference | None
    out: tuple[TensorDifference, ...]
    origin: StepOrigin | None
    repeated: Repeated | None
    environment: Environment
    directory: str
    seconds: float

    @property
    def text(self) -> str:
        """Return the short form of the context, with its threads where there are several."""
        return in_short(self.context, self.threads)


class StepVerification(Document):
    """A user's file, verified. night: that verified it. not_seen: what this verification cannot see, in words."""

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("tracking",)
    FILE_NAME: ClassVar[str] = "step.json"

    schema_: int = Field(1, alias="schema")
    step_id: str
    created: str
    command: str
    night: str | None = None
    file: OwnFileFacts
    framework: str
    framework_version: str | None
    release: NamedRelease | None
    fault: PlantedFault | None
    verdict: StepVerdict
    oracles: tuple[OracleFacts, ...]
    contexts: tuple[StepContext, ...]
    limits: LimitFacts
    not_seen: tuple[str, ...]
    seconds: float
    tracking: Tracking | None = None

    @property
    def exit_code(self) -> int:
        return Verdict(self.verdict.name).exit_code
