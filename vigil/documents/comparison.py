"""compare.json: the same seeds under two releases of a framework, what each side gave, and the verdict on the difference."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, field_serializer

from vigil.documents.context import Context
from vigil.documents.document import Document, DocumentError, Number, Part
from vigil.documents.identity import Identity
from vigil.documents.invocation import FirstRung, NamedRelease
from vigil.documents.record import Environment
from vigil.documents.verdict import Verdict
from vigil.documents.word import Word
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN
from vigil.frameworks import TABLE


class ReleaseVerdict(Word):
    """How two releases compare. It is its own text, in documents, tables and messages."""

    NO_DIFFERENCE = "no difference seen"
    IDENTICAL = "identical"
    MOVED = "numbers moved, not worse"
    NEW_LOWER = "NEW is lower"
    NEW_HIGHER = "NEW is higher"
    NEW_WRONG = "a step of NEW is wrong"
    COULD_NOT_RUN = "could not run"
    TOO_FEW_RUNS = "too few runs"
    CANNOT_TELL = "cannot tell"

    @property
    def exit_code(self) -> int:
        """Return 0 no difference, 1 a difference or a wrong step of NEW, 3 could not run, 4 no power to tell."""
        if self in (ReleaseVerdict.NEW_LOWER, ReleaseVerdict.NEW_HIGHER, ReleaseVerdict.NEW_WRONG):
            return EXIT_OUTSIDE
        if self is ReleaseVerdict.COULD_NOT_RUN:
            return EXIT_COULD_NOT_RUN
        cannot_tell = self in (ReleaseVerdict.TOO_FEW_RUNS, ReleaseVerdict.CANNOT_TELL)
        return EXIT_UNKNOWN if cannot_tell else EXIT_REPRODUCED


class ComparedMetric(Part):
    """The metric whose difference is judged."""

    name: str
    unit: str
    direction: Literal["higher", "lower"]


class ComparedSide(Part):
    """What one release did.

    name: OLD or NEW. problem: why its runs say nothing, if they do not. values, states: of finished runs, by seed.
    versions: of what computes, by package.
    """

    name: str
    release: NamedRelease
    invocation: str | None = None
    verdict: Verdict | None = None
    environment: Environment = Field(default_factory=dict)
    values: dict[int, float] = Field(default_factory=dict)
    states: dict[int, str | None] = Field(default_factory=dict)
    verify: FirstRung | None = None
    first_step_seconds: float | None = None
    images_per_second: float | None = None
    problem: str | None = None
    log_tail: tuple[str, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)

    @field_serializer("values", "states", when_used="json")
    def _by_text(self, values: dict[int, float | str | None]) -> dict[str, float | str | None]:
        return {str(seed): value for seed, value in values.items()}

    @property
    def is_verified(self) -> bool:
        """Was one training step held against float64, and right?"""
        return self._step is Verdict.REPRODUCED

    @property
    def is_wrong(self) -> bool:
        """Was one training step held against float64, and wrong?"""
        return self._step is not None and self._step.is_wrong_step

    @property
    def _step(self) -> Verdict | None:
        return self.verify.verdict.name if self.verify and self.verify.verdict else None


class ReleaseDifference(Part):
    """The difference NEW - OLD of the metric, as `vigil.statistics.pairs` has it; null where too few runs tell nothing of it."""

    method: str
    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    n_new: int
    n_old: int
    n_pairs: int
    correlation: float | None
    detectable: Number | None
    decision: str
    coverage: float
    spread_floor: float


class StepMoved(Part):
    """One training step from a given state, under both: the tensor that is furthest from the other side's.

    tensors, equal: how many were held side by side, and how many have the same bits. ratio: how far the two are apart, in noise
    floors. old_ratio, new_ratio: how far each is from float64, likewise; null where nobody said.
    """

    case: str
    tensors: int
    equal: int
    tensor: str
    ratio: Number
    old_ratio: Number | None
    new_ratio: Number | None


class LossesMoved(Part):
    """By how much the losses of the same seeds differ: the largest share over all of them, of the first step and of any.

    first_step_floors: that of the first step in noise floors; null where none is known.
    step: which has that largest share, from 1. since: the first step that differs in any seed; null where none does.
    """

    first_step: Number
    first_step_floors: Number | None = None
    largest: Number
    step: int
    since: int | None
    seeds: int


class StatesMoved(Part):
    """How far the parameters at the end of the same seeds are apart.

    equal: of how many seeds they have the same bits. share: all together, as a share of their size, of the seed with most.
    between_seeds: the same between two seeds of OLD, the median; null for one seed.
    tensor: the array that is furthest in noise floors of one late step, or, where none are known, in its size.
    """

    seeds: int
    equal: int
    share: Number
    between_seeds: Number | None
    tensor: str
    tensor_share: Number
    tensor_floors: Number | None


class ComparisonVerdict(Part):
    """The verdict on two sides."""

    name: ReleaseVerdict
    reason: str
    exit_code: int


class Comparison(Document):
    """Two releases side by side. `difference`: null where a side has no number; `losses`, `states`: where a side has none.

    fault: the one that was planted under NEW alone. hold: packages that were asked for at one version under both.
    steps: by case. why_no_floors: why nothing of them can be told in noise floors.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("losses", "states", "why_no_floors", "fault")

    FILE_NAME: ClassVar[str] = "compare.json"

    schema_: int = Field(1, alias="schema")
    compare_id: str
    created: str
    command: str
    recipe: Identity
    context: Context
    seeds: tuple[int, ...]
    fault: str | None = None
    hold: tuple[str, ...] = ()
    metric: ComparedMetric
    old: ComparedSide
    new: ComparedSide
    verdict: ComparisonVerdict
    difference: ReleaseDifference | None
    steps: tuple[StepMoved, ...] = ()
    losses: LossesMoved | None = None
    states: StatesMoved | None = None
    why_no_floors: str | None = None
    remarks: tuple[str, ...]

    @property
    def when(self) -> datetime:
        """Return when it was written."""
        return datetime.fromisoformat(self.created).astimezone(timezone.utc)

    @property
    def besides(self) -> dict[str, tuple[str, str]]:
        """Return what has another version under NEW besides what is compared, by package: under OLD, under NEW."""
        old, new, compared = self.old.versions, self.new.versions, TABLE[self.context.framework].carriers
        return {name: (old[name], new[name]) for name in old if name in new and old[name] != new[name] and name not in compared}


def read_comparisons(runs: Path) -> tuple[list[Comparison], list[str]]:
    """Return the comparisons below a folder, the oldest first, and a remark for each that cannot be read."""
    found, remarks = [], []
    for path in sorted(runs.glob(f"*/{Comparison.FILE_NAME}")):
        try:
            found.append(Comparison.read(path.parent))
        except OSError as error:
            remarks.append(f"{path}: {error.strerror}. The comparison is left out.")
        except DocumentError as error:
            remarks.append(f"{error} The comparison is left out.")
    return sorted(found, key=lambda document: document.when), remarks
