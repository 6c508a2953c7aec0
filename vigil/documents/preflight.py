"""preflight.json: what a run needs until its end, tried before it begins."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from vigil.documents.context import Context
from vigil.documents.document import Document, Number, Part
from vigil.documents.identity import Identity
from vigil.documents.provenance import Environment, NamedRelease, PlantedFault
from vigil.documents.step import OwnFileFacts
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_REPRODUCED

# How a check ends. A warning is of what costs a run nothing that was finished.
HOLDS, WARNS, FAILS, LEFT_OUT = "holds", "warning", "fails", "left out"


class Check(Part):
    """One thing that is needed. when: the phase of the run that would fail without it. says: what was found, or what is wrong."""

    name: str
    when: str
    outcome: str
    says: str
    seconds: float


class Ahead(Part):
    """What the runs will take, from two rehearsed steps and one evaluated batch. seconds, bytes: of all seeds.

    peak_bytes: the memory of the rehearsal, which had the batches of the run. has_bytes, free_bytes: of memory, of the disk.
    """

    seeds: int
    steps: int
    step_seconds: Number
    seconds: Number
    bytes: int
    free_bytes: int
    peak_bytes: int | None
    has_bytes: int | None


class Preflight(Document):
    """What was tried, in the order in which a run needs it. ahead: null where the rehearsal did not come to its end.

    file: a user's own step, of which there is no recipe, and of which nobody knows how many steps are ahead.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ()
    FILE_NAME: ClassVar[str] = "preflight.json"

    schema_: int = Field(1, alias="schema")
    preflight_id: str
    created: str
    command: str
    recipe: Identity | None
    file: OwnFileFacts | None = None
    context: Context
    release: NamedRelease | None
    fault: PlantedFault | None
    checks: tuple[Check, ...]
    ahead: Ahead | None
    environment: Environment
    seconds: float

    @property
    def what(self) -> str:
        """Return what was tried, in words."""
        if self.recipe is None:
            return f"{Path(self.file.path).name if self.file else '-'}, {self.context.text}"
        return f"{self.recipe.name}, profile {self.recipe.profile}, {self.context.text}"

    @property
    def failing(self) -> tuple[Check, ...]:
        """Return what a run would fail by."""
        return tuple(each for each in self.checks if each.outcome == FAILS)

    @property
    def exit_code(self) -> int:
        """Return 0 where all holds, 3 where a run would fail."""
        return EXIT_COULD_NOT_RUN if self.failing else EXIT_REPRODUCED
