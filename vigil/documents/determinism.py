"""determinism.json: short runs of a recipe in one context, each of which differs from the others in one thing alone."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vigil.documents.context import Context
from vigil.documents.document import Document, Number, Part
from vigil.documents.failure import Failure
from vigil.documents.identity import Identity
from vigil.documents.provenance import Environment, NamedRelease, PlantedFault
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED

# How two runs that differ in one thing compare.
SAME, ROUNDING, DIFFERENT, FAILED, UNSTABLE = "same bits", "rounding", "different", "failed", "not comparable"


class DeterminismRun(Part):
    """One run. weights: the sum of all of them, in float64. loss: the last. rate: examples a second, after the first step."""

    name: str
    is_on: bool
    state_sha256: str | None
    weights: Number | None
    loss: Number | None
    seconds: float
    rate: Number | None
    failure: Failure | None
    directory: str


class RunToRun(Part):
    """Runs that differ in nothing: how many, and how many distinct results they have."""

    is_on: bool
    runs: int
    distinct: int
    failed: int


class Cost(Part):
    """How much longer a step takes with the framework's determinism: a ratio of pairs, with its 95 % interval."""

    ratio: Number
    low: Number
    high: Number
    pairs: int


class Axis(Part):
    """Runs that differ in one thing from the others. answer: same bits, rounding, different, failed or not comparable.

    first_step: whose loss is the first that differs. distance: of the final weights, relative to their norm; floors: the same in
    what rounding alone makes of it. evaluation: whether what is evaluated has the same bits. says: in words.
    """

    name: str
    what: str
    answer: str
    first_step: int | None = None
    distance: Number | None = None
    floors: Number | None = None
    says: str = ""


class OtherMachine(Part):
    """The same runs as another machine recorded them.

    same: whether the final weights have the same bits. losses: the last one, here and there.
    """

    hardware: str
    cpu_flags: str
    same: bool
    losses: tuple[Number | None, Number | None]


class Determinism(Document):
    """One context of a recipe. steps: of each run. floor: the largest distance that rounding alone makes, of `twins` runs.

    others: the same on other machines, from their documents.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ()
    FILE_NAME: ClassVar[str] = "determinism.json"

    schema_: int = Field(1, alias="schema")
    determinism_id: str
    created: str
    command: str
    recipe: Identity
    context: Context
    framework_version: str | None
    release: NamedRelease | None
    fault: PlantedFault | None
    steps: int
    runs: tuple[DeterminismRun, ...]
    run_to_run: tuple[RunToRun, ...]
    switch: str
    cost: Cost | None
    floor: Number | None
    twins: int
    axes: tuple[Axis, ...]
    others: tuple[OtherMachine, ...]
    environment: Environment
    seconds: float

    @property
    def is_stable(self) -> bool | None:
        """Do runs that differ in nothing have the same bits, as the framework is? None where too few of them came to an end."""
        off = next(each for each in self.run_to_run if not each.is_on)
        return None if off.runs - off.failed < 2 else off.distinct == 1

    @property
    def exit_code(self) -> int:
        """Return 0 where nothing is different but for rounding, 1 where it is, 3 where the runs did not come to an end."""
        if self.is_stable is None:
            return EXIT_COULD_NOT_RUN
        is_wrong = not self.is_stable or any(each.answer == DIFFERENT for each in self.axes)
        return EXIT_OUTSIDE if is_wrong else EXIT_REPRODUCED


def rule_of_three(runs: int) -> float:
    """Return what share of runs could differ at most, with 95 % confidence, where none of so many did.

    Hanley and Lippman-Hand, JAMA 249 (1983) 1743.
    """
    return min(1.0, 3.0 / runs)
