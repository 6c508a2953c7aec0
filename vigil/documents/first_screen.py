"""What the report's first screen says, for programs: `data.json` beside its pages."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vigil.documents.document import Document, Part


class ShownAnswer(Part):
    """Is anything wrong? state: `reproduced`, what the worst cause is, `neutral` or `unknown`. sentence: as on the page."""

    state: str
    sentence: str
    details: tuple[str, ...]


class ShownTile(Part):
    """A framework: what was tested, since when, and what is known of it."""

    framework: str
    release: str
    since: str
    told: tuple[str, ...]


class ShownCell(Part):
    """A cell, and the page that shows it."""

    recipe: str
    profile: str
    context: str
    page: str


class ShownBegin(Part):
    """Since when. told: as on the page. night: null where it was so all along; began: when that night did.

    release, before: of the framework; before is null where no new release began with it.
    """

    told: str
    night: str | None
    began: str | None
    release: str | None
    before: str | None


class ShownFinding(Part):
    """A finding on record that a cause may be. evidence: a script in docs/findings/, or a link."""

    name: str
    evidence: str


class ShownCause(Part):
    """One cause. id: the same in every report that has it. state: `new`, `ongoing`, `stale` or `fixed`; null without a night.

    word: wrong step, worse, better, failed ... cells: the worst first; none of a release that could not be tested.
    sure: how sure, as on the page. search: an address in the framework's issue tracker. command: to copy.
    """

    id: str
    state: str | None
    word: str
    framework: str
    where: str
    what: str
    told: str
    since: ShownBegin
    sure: str
    command: str | None
    search: str | None
    known: tuple[ShownFinding, ...]
    cells: tuple[ShownCell, ...]


class FirstScreen(Document):
    """One report's first screen. id: of the history that it is of. written: the time that ages are counted from.

    note: what must be known of all of it.
    """

    FILE_NAME: ClassVar[str] = "data.json"

    schema_: int = Field(1, alias="schema")
    id: str
    written: str
    night: str | None
    note: str | None
    answer: ShownAnswer
    tiles: tuple[ShownTile, ...]
    causes: tuple[ShownCause, ...]
    fixed: tuple[ShownCause, ...]
