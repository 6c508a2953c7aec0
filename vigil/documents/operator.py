"""operator.json: a user's own operator, tried on many inputs and held against a plain one in float64."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vigil.documents.context import Context
from vigil.documents.document import Document, Number, Part
from vigil.documents.failure import Failure
from vigil.documents.provenance import Environment, NamedRelease, PlantedFault, Tracking
from vigil.documents.step import OwnFileFacts
from vigil.documents.verdict import Verdict
from vigil.documents.verification import LimitFacts, StepVerdict


class Inputs(Part):
    """Inputs that show something: `inputs(seed, **sizes)`, with other values, or another layout in memory."""

    seed: int
    sizes: dict[str, int]
    precision: str
    values: str
    layout: str

    def call(self, usual: dict[str, int]) -> str:
        """Return the call that makes them. Sizes that are usual are left out."""
        named = ", ".join(f"{name}={size}" for name, size in self.sizes.items() if size != usual.get(name))
        text = f"inputs({self.seed}{f', {named}' if named else ''})"
        if self.values != "given":
            text += f" with values {self.values}"
        if self.layout != "plain":
            text += f" laid out {self.layout}"
        return text


class Rate(Part):
    """How often something happened, and between what its rate lies with 95 % confidence (Clopper and Pearson 1934)."""

    count: int
    of: int
    low: float
    high: float


class Elements(Part):
    """Which elements of a tensor are out: how many, the farthest of them, what it is and what it should be."""

    out: int
    of: int
    index: tuple[int, ...]
    got: Number
    expected: Number


class OperatorFinding(Part):
    """One thing that is wrong, or looks as if it were.

    kind: bug, race, raises, writes (the candidate changes an input), kink (inputs where the derivative jumps).
    usual: how many inputs of usual sizes show it. others: the same of all others, by why they were tried.
    wrong_calls: of a race, how many calls with the same inputs are wrong, of how many.
    ratio: how far the tensor is off, in floors; limit: how far a correct one may be.
    """

    kind: str
    threads: int
    precision: str
    tensor: str | None
    usual: Rate
    others: dict[str, tuple[int, int]]
    smallest: Inputs
    elements: Elements | None
    shapes: tuple[tuple[int, ...] | None, tuple[int, ...]] | None
    ratio: Number | None
    limit: Number | None
    wrong_calls: Rate | None
    message: str | None


class OwnTest(Part):
    """The user's own test, |candidate - reference| <= atol + rtol |reference|: how often it fails on inputs of usual sizes.

    at_kink: in how many of these the derivative jumps by as much. pairs: of correct operators, simulated by rounding;
    largest_need: the largest absolute tolerance that one of them needed. supported: the one that all but one in a million pass.
    """

    precision: str
    atol: float
    rtol: float
    fails: Rate
    at_kink: int
    pairs: int
    largest_need: Number
    supported: Number

    @property
    def is_too_tight(self) -> bool:
        return self.atol < self.supported


class OperatorProcess(Part):
    """One process: so many threads. trials: by what they came to."""

    threads: int
    trials: dict[str, int]
    repeated: dict[str, int] | None
    refused: tuple[str, ...]
    unstable: tuple[str, ...]
    worst: dict[str, Number]
    failure: Failure | None
    environment: Environment
    directory: str
    seconds: float


class OperatorVerification(Document):
    """A user's operator, verified. not_seen: what this verification cannot see, in words."""

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("tracking",)
    FILE_NAME: ClassVar[str] = "operator.json"

    schema_: int = Field(1, alias="schema")
    operator_id: str
    created: str
    command: str
    file: OwnFileFacts
    context: Context
    framework_version: str | None
    release: NamedRelease | None
    fault: PlantedFault | None
    verdict: StepVerdict
    usual: dict[str, int]
    precisions: tuple[str, ...]
    findings: tuple[OperatorFinding, ...]
    tests: tuple[OwnTest, ...]
    processes: tuple[OperatorProcess, ...]
    limits: LimitFacts
    not_seen: tuple[str, ...]
    seconds: float
    tracking: Tracking | None = None

    @property
    def exit_code(self) -> int:
        return Verdict(self.verdict.name).exit_code
