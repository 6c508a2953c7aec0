"""replay.json: one step of a run, taken again: the first tensor that is not finite, its inputs, and what float64 has there."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from vigil.documents.context import Context
from vigil.documents.document import Document, Number, Part
from vigil.documents.identity import Identity
from vigil.documents.provenance import Environment, NamedRelease, PlantedFault
from vigil.errors import EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN

FOUND, FINITE, NOT_REPEATED = "not finite", "finite", "not repeated"
MODEL, RANGE, FRAMEWORK, UNKNOWN = "model", "range", "framework", "unknown"


class TensorRange(Part):
    """How large a tensor is. not_finite: of its elements; low, high: of those that are finite, null where none is."""

    tensor: str
    elements: int
    not_finite: int
    low: Number | None
    high: Number | None


class NotFinite(Part):
    """The first tensor of the step that is not finite, in order of computation.

    operator: what the layer computes, where the oracle's outline says so. index, value: of the first such element.
    then_nan: the first tensor with a NaN, where this one has only infinities; null where none has one.
    inputs: what it is made from.
    """

    tensor: str
    layer: str
    phase: str
    quantity: str
    operator: str | None
    not_finite: int
    elements: int
    index: tuple[int, ...]
    value: Number
    then_nan: str | None
    inputs: tuple[TensorRange, ...]


class InFloat64(Part):
    """What float64 has at the same tensor, from the same state and batch.

    cause: `model`, float64 is not finite either; `range`, it is beyond what `dtype` holds; `framework`, it is within; `unknown`.
    largest: of the tensor's magnitudes, times the loss scale where the framework's are; there: at the element that is not finite.
    """

    cause: Literal["model", "range", "framework", "unknown"]
    largest: Number | None
    there: Number | None
    dtype: str | None
    holds: Number | None
    reason: str


class Retraced(Part):
    """The way to the step. start: steps done at the checkpoint that it began from; equal: losses that are the run's, to the bit.

    first_different: the first step whose loss is not, counted from 1.
    """

    start: int
    steps: int
    equal: int
    first_different: int | None
    recorded: Number | None
    replayed: Number | None
    seconds: float


class StepLosses(Part):
    """The loss of the step: in the run, replayed, from state and batch alone in a fresh process, and with its taps looked at."""

    recorded: Number | None
    replayed: Number
    alone: Number | None
    looked: Number | None


class TensorBeside64(Part):
    """A tensor of the step beside float64's: how many elements are not finite, largest magnitudes, and the relative distance."""

    tensor: str
    not_finite: int
    largest: Number | None
    in_float64: Number | None
    distance: Number | None


class Replay(Document):
    """One step of a run again. step: counted from 1. origin: null where every tensor is finite. source: of one's own recipe.

    tensors: of the program with its taps looked at, and the update of the one without, in order of computation.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("source",)
    FILE_NAME: ClassVar[str] = "replay.json"

    schema_: int = Field(1, alias="schema")
    replay_id: str
    created: str
    command: str
    run: str
    recipe: Identity
    source: str | None = None
    context: Context
    seed: int
    framework_version: str | None
    release: NamedRelease | None
    fault: PlantedFault | None
    step: int
    state: Literal["not finite", "finite", "not repeated"]
    reason: str
    retraced: Retraced
    losses: StepLosses
    origin: NotFinite | None
    float64: InFloat64 | None
    remarks: tuple[str, ...]
    tensors: tuple[TensorBeside64, ...]
    environment: Environment
    seconds: float

    @property
    def exit_code(self) -> int:
        """Return 0 where the step is finite, as it was in the run, 1 where it is not, 4 where it did not come again."""
        return {FINITE: EXIT_REPRODUCED, FOUND: EXIT_OUTSIDE}.get(self.state, EXIT_UNKNOWN)
