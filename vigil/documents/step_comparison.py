"""compare-step.json: a user's own training step under two releases of its framework, and whether it computes the same."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vigil.documents.context import Context
from vigil.documents.document import Document, Number, Part
from vigil.documents.provenance import NamedRelease, PlantedFault, Tracking
from vigil.documents.step import OwnFileFacts, Repeated, StepOrigin, in_short
from vigil.documents.verdict import Verdict
from vigil.documents.verification import LimitFacts, StepVerdict, TensorDifference, times
from vigil.documents.word import Word
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN


class SidesVerdict(Word):
    """How a step under two releases compares. It is its own text, in documents, tables and messages."""

    IDENTICAL = "identical"
    ROUNDED = "no difference but for rounding"
    NEW_WRONG = "a step of NEW is wrong"
    OLD_WRONG = "NEW is right where OLD is wrong"
    PROGRAMS_DIFFER = "the programs differ in float64"
    NEW_COARSER = "NEW rounds more than OLD"
    BEGINS_OTHERWISE = "the model begins with other numbers"
    OTHER_BATCH = "the batch has other numbers"
    COULD_NOT_RUN = "could not run"
    CANNOT_TELL = "cannot tell"

    @property
    def exit_code(self) -> int:
        """Return 0 no difference, 1 a difference or a wrong step of NEW, 3 could not run, 4 cannot tell."""
        if self in (SidesVerdict.IDENTICAL, SidesVerdict.ROUNDED):
            return EXIT_REPRODUCED
        if self is SidesVerdict.COULD_NOT_RUN:
            return EXIT_COULD_NOT_RUN
        return EXIT_UNKNOWN if self is SidesVerdict.CANNOT_TELL else EXIT_OUTSIDE


class StepSide(Part):
    """One side. name: OLD or NEW. python: the interpreter of the user's own environment, where that was asked for.

    verification: the folder of its step.json. versions: of what computes, by package.
    """

    name: str
    release: NamedRelease | None
    python: str | None
    framework_version: str | None
    versions: dict[str, str]
    verdict: StepVerdict
    verification: str

    @property
    def text(self) -> str:
        """Return what was asked for."""
        return self.release.request if self.release else str(self.python)


class ExactMoved(Part):
    """The programs of both sides in float64, for contexts of one precision, on one batch and from the same first numbers.

    batches: seeds whose batches NEW makes otherwise; OLD's were taken. moved: first numbers of the model that NEW makes
    otherwise; OLD's were taken. moved_by, batches_by: as a share of their size, at most. unmatched: first numbers that one side
    alone has, or in another form; each side began with its own. farthest: of what a step computes. updated: of OLD's update,
    held to NEW's optimizer in float64 of the same gradients; None where there is no optimizer, or NEW's could not say. is_same:
    are all nearer than rounding explains? draws_otherwise: does the program draw at random, and NEW's framework other numbers of
    the same key?
    """

    precision: str
    batches: tuple[int, ...]
    moved: tuple[str, ...]
    unmatched: tuple[str, ...]
    tensors: int
    farthest: TensorDifference | None
    updated: TensorDifference | None
    is_same: bool
    remark: str | None
    draws_otherwise: bool = False
    moved_by: Number = 0.0
    batches_by: Number = 0.0


class ContextMoved(Part):
    """One context under both. tensors: of both sides. equal: how many have the same bits. farthest: in noise floors.

    repeated: of each side, how many results calls from the same state gave. coarser: of NEW, where both sides are right and
    one program, the tensor that would be wrong by OLD's noise floors; None where there is none.
    """

    context: Context
    threads: int
    old: StepVerdict
    new: StepVerdict
    tensors: int
    equal: int
    farthest: TensorDifference | None
    old_origin: StepOrigin | None
    new_origin: StepOrigin | None
    old_repeated: Repeated | None
    new_repeated: Repeated | None
    coarser: TensorDifference | None = None

    @property
    def text(self) -> str:
        """Return the short form of the context, with its threads where there are several."""
        return in_short(self.context, self.threads)

    @property
    def apart(self) -> str:
        """Return in words how far the sides are apart."""
        if self.farthest is None:
            return "nothing to hold side by side"
        if self.equal == self.tensors:
            return f"the same bits in all {self.tensors:,} tensors"
        if not self.farthest.ratio:
            return "all that a step computes has the same bits, and what its optimizer leaves has not"
        return f"at most {far(self.farthest)}"

    @property
    def scatter(self) -> str:
        """Return in words which side gives other bits when it is asked again; nothing where none does."""
        sides = (("OLD", self.old_repeated), ("NEW", self.new_repeated))
        text = "{} by itself gave {} different results in {} calls"
        return "; ".join(text.format(name, each.results, each.calls) for name, each in sides if each and each.results > 1)

    @property
    def rounds_more(self) -> str:
        """Return in words how far NEW is beyond what OLD's rounding explains; nothing where it is not."""
        if self.coarser is None:
            return ""
        off = self.coarser.problem or f"{times(self.coarser.ratio)} OLD's noise floor off float64"
        return f"NEW's {self.coarser.tensor} in case {self.coarser.case} is {off}, which its own program explains: it rounds more"

    @property
    def is_identical(self) -> bool:
        """Has every tensor the same bits, whenever it is asked for?"""
        return self.equal == self.tensors and not self.scatter

    @property
    def is_left_out(self) -> bool:
        """Can neither side have it?"""
        return self.old.name is self.new.name is Verdict.UNSUPPORTED


def far(difference: TensorDifference) -> str:
    """Return in words how far a tensor of one side is from the other's."""
    apart = f"{difference.problem} on one side" if difference.problem else f"{times(difference.ratio)} its noise floor apart"
    return f"{difference.tensor} in case {difference.case}, {apart}"


class SidesJudgement(Part):
    """The verdict on two sides."""

    name: SidesVerdict
    reason: str
    exit_code: int


class StepComparison(Document):
    """A user's file under two releases. fault: the one that was planted under NEW alone.

    not_seen: what this comparison cannot see, in words.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("tracking",)
    FILE_NAME: ClassVar[str] = "compare-step.json"

    schema_: int = Field(1, alias="schema")
    compare_id: str
    created: str
    command: str
    file: OwnFileFacts
    framework: str
    fault: PlantedFault | None
    old: StepSide
    new: StepSide
    verdict: SidesJudgement
    exact: tuple[ExactMoved, ...]
    contexts: tuple[ContextMoved, ...]
    limits: LimitFacts
    not_seen: tuple[str, ...]
    seconds: float
    tracking: Tracking | None = None
