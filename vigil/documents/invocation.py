"""invocation.json: all runs of one command, how their first training step was verified, and the verdict on them."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vigil.documents.context import Context
from vigil.documents.document import Document, Part
from vigil.documents.failure import Failure
from vigil.documents.identity import Identity
from vigil.documents.judgement import Judgement, SequentialLook
from vigil.documents.provenance import NamedRelease, Tracking
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Origin, StepVerdict, TensorDifference


class FirstRung(Part):
    """The short verification before the first seed. `verdict`: null while it is still to be made."""

    verdict: StepVerdict | None
    origin: Origin | None = None
    worst: TensorDifference | None = None
    seconds: float | None = None
    tensors: int | None = None
    tensors_out: int | None = None
    path: str | None = None

    @classmethod
    def pending(cls) -> FirstRung:
        """Return one that is still to be made."""
        return cls(verdict=None)

    @classmethod
    def not_climbed(cls, verdict: StepVerdict) -> FirstRung:
        """Return one that could not be made, for the verdict's reason."""
        return cls(verdict=verdict, origin=None, worst=None, seconds=None, tensors=None, tensors_out=None, path=None)

    @property
    def is_pending(self) -> bool:
        return self.verdict is None

    @property
    def name(self) -> Verdict | None:
        """The verdict's name."""
        return self.verdict.name if self.verdict else None

    @property
    def failure(self) -> Failure | None:
        """Why its runner failed, if it did."""
        return self.verdict.failure if self.verdict else None

    @property
    def text(self) -> str:
        """Where the step is wrong, or else why the verdict is what it is."""
        if self.origin:
            return self.origin.text
        return self.verdict.reason if self.verdict else ""


class ExactTarget(Part):
    """That a published value is to come out digit for digit: of one seed, in some precisions, by so much at most."""

    seed: int
    within: float
    precisions: tuple[str, ...]


class PublishedTarget(Part):
    """A published value, as the recipe has it.

    metric: where it is of another one than the recipe's. standard_error: of its own small test, in the metric's unit.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("metric", "exact", "standard_error")

    value: float
    published_as: str
    source: str
    link: str
    selection: str
    protocol: str
    profile: str
    metric: str | None = None
    exact: ExactTarget | None = None
    standard_error: float | None = None


class SequentialRule(Part):
    """The rule by which seeds are added; `effect` null stands for `delta` deviations of the reference."""

    alpha: float
    beta: float
    delta: float
    effect: float | None
    planned: tuple[int, ...]
    looks: tuple[SequentialLook, ...] = ()


class Invocation(Document):
    """One command's runs. `runs`: their directories, relative. `verdict`: null until all of them have ended.

    source: the file of a recipe of a user's own, whose references lie beside it.
    """

    FILE_NAME: ClassVar[str] = "invocation.json"
    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("source",)

    schema_: int = Field(1, alias="schema")
    invocation_id: str
    created: str
    command: str
    night: str | None = None
    recipe: Identity
    source: str | None = None
    context: Context
    seeds: tuple[int, ...]
    fault: str | None
    release: NamedRelease | None = None
    targets: tuple[PublishedTarget, ...]
    runs: tuple[str, ...]
    verify: FirstRung | None = None
    sequential: SequentialRule | None = None
    verdict: Judgement | None
    wall_seconds: float | None
    tracking: Tracking | None

    @property
    def is_to_be_verified(self) -> bool:
        return self.verify is not None and self.verify.is_pending
