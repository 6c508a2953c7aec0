"""trace.json: is a script bit for bit the same each time it runs, where does it part, and what makes that go away."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vigil.documents.document import Document, Number, Part
from vigil.documents.provenance import Environment
from vigil.errors import EXIT_OUTSIDE, EXIT_REPRODUCED

SAME, PARTS = "the same", "parts"


class TracedScript(Part):
    """The script: its arguments, and how often it ran unchanged. parted: in how many of the runs after the first it parted."""

    path: str
    sha256: str
    arguments: tuple[str, ...]
    runs: int
    parted: int
    records: int
    steps: int


class Bound(Part):
    """What could have been missed, at a chance of 5 %: a difference that shows in a smaller share of runs, or of steps."""

    runs: Number
    steps: Number | None


class Parting(Part):
    """The first record that differs. number: of all records, from 0; in_step: within its step, from 1.

    elements: how many differ, of all; largest, ulps: by how much at most. They are null where the numbers did not come again, or
    are no floats. other: what the other run did here, where that is another record.
    """

    step: int
    number: int
    in_step: int
    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    elements: int | None
    of: int
    largest: Number | None
    ulps: int | None
    other: str | None


class PartingOperator(Part):
    """The first operator with equal inputs and another output.

    where: the node of the backward pass, or the line of the script. is_random: it draws numbers at random.
    """

    name: str
    where: str
    number: int
    is_random: bool


class OperatorTrial(Part):
    """The operator alone, called again with the same inputs. results: how many different ones. message: why it was refused."""

    what: str
    calls: int
    results: int
    message: str | None


class ScriptTrial(Part):
    """The script run again with a change. outcome: goes away, stays, another place, cannot tell, or failed."""

    change: str
    runs: int
    outcome: str
    says: str


class Trace(Document):
    """Runs of one script, held to each other. beyond: why no operator is named, where none is.

    parting: null where the runs are the same, or one of them ended in an error. needed: where no change alone makes it go
    away and several together do, the fewest of them.
    """

    FILE_NAME: ClassVar[str] = "trace.json"

    schema_: int = Field(1, alias="schema")
    trace_id: str
    created: str
    command: str
    script: TracedScript
    frameworks: dict[str, str]
    state: str
    reason: str
    bound: Bound | None
    parting: Parting | None
    operator: PartingOperator | None
    beyond: str | None
    trials: tuple[OperatorTrial, ...]
    changes: tuple[ScriptTrial, ...]
    needed: tuple[str, ...] = ()
    environment: Environment
    seconds: float

    @property
    def exit_code(self) -> int:
        """Return 0 the same, 1 parts."""
        return EXIT_REPRODUCED if self.state == SAME else EXIT_OUTSIDE
