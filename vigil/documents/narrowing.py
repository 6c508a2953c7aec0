"""narrow.json: one failure, from an alarm to a script, the release that brought it, and the switches that hide it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from vigil.documents.document import Document, Number, Part
from vigil.documents.provenance import Environment, NamedRelease, PlantedFault
from vigil.errors import EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN


class NarrowedFrom(Part):
    """What was narrowed. kind: script, audit, verification, replay, operator or step; the last two are of the user's own file.

    path: of the script, or of the run. what: the failure, in words.
    """

    kind: str
    path: str
    what: str


class NarrowedScript(Part):
    """The script. says: its line here; runs: how often it said so, of how many.

    without_fault: what it says where the planted fault is not, if one is planted.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("without_fault",)

    path: str
    sha256: str
    lines: int
    says: str
    wrong: int
    runs: int
    without_fault: str | None = None


class Shrinking(Part):
    """How a script was made smaller: how much was asked, and what it came down to. needs: without which it does not show."""

    asked: int
    before: str
    after: str
    needs: tuple[str, ...]


class ReleaseLook(Part):
    """What the script said on one release. outcome: right, wrong, wrong otherwise, or why it is no evidence."""

    version: str
    outcome: str
    wrong: int
    runs: int
    says: str
    key: str | None


class MixedLook(Part):
    """One package of the release after a change, put alone beside those of the release before it."""

    package: str
    version: str
    outcome: str
    says: str


class ReleaseChange(Part):
    """One change of what the script says, the oldest first.

    last_before: the last release that says what came before. first, last: the first release that says what comes after is one of
    first..last; between them are releases that gave no evidence. probability: that it is. runs_to_know: more that would decide.
    carriers: packages of which each alone brings the change; empty where none does, or none could be tried.
    """

    before: str
    after: str
    last_before: str
    first: str
    last: str
    probability: Number
    is_decided: bool
    runs_to_know: int | None
    mixed: tuple[MixedLook, ...]
    carriers: tuple[str, ...]


class ReleaseSearch(Part):
    """The releases of a package that were searched. releases: how many there are between oldest and newest."""

    package: str
    hold: tuple[str, ...]
    oldest: str
    newest: str
    releases: int
    looks: tuple[ReleaseLook, ...]
    changes: tuple[ReleaseChange, ...]
    says: str
    rounds: int
    seconds: float


class SwitchLook(Part):
    """What the script said with a switch. tells: what that means if it hides the failure."""

    name: str
    outcome: str
    says: str
    tells: str
    is_workaround: bool


class Narrowing(Document):
    """A failure, narrowed. releases, switches: None where they were not asked for.

    state: narrowed; does not show, where the script is right or gives no evidence; withheld, where an answer is too unlikely.
    """

    FILE_NAME: ClassVar[str] = "narrow.json"

    schema_: int = Field(1, alias="schema")
    narrow_id: str
    created: str
    command: str
    source: NarrowedFrom
    framework: str
    framework_version: str | None
    release: NamedRelease | None
    fault: PlantedFault | None
    state: str
    reason: str
    script: NarrowedScript | None
    smaller: Shrinking | None
    releases: ReleaseSearch | None
    switches: tuple[SwitchLook, ...] | None
    environment: Environment
    seconds: float

    @property
    def exit_code(self) -> int:
        """Return 0 narrowed, 1 it does not show, 4 withheld."""
        return {"narrowed": EXIT_REPRODUCED, "withheld": EXIT_UNKNOWN}.get(self.state, EXIT_OUTSIDE)


def place_of(run: Path, finding: int = 1) -> Path:
    """Return where the narrowing of a run lies: below it, so that whatever shows or uploads the run has it at hand.

    Args:
        finding: of an audit, which one, from 1 on.
    """
    return run / "narrowed" / str(finding)
