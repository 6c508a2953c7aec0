"""night.json: one night of `vigil nightly`: what it was asked for, its releases, every cell that was due, and its verdict.

A night is written at every change, so its cells stand a line each: indenting all of them takes long.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from vigil.documents.context import Context
from vigil.documents.document import Document, DocumentError, Part
from vigil.documents.failure import Triage
from vigil.documents.invocation import NamedRelease, Tracking
from vigil.documents.verdict import Verdict

VERIFY: Literal["verify"] = "verify"
REPRODUCE: Literal["reproduce"] = "reproduce"
STEP: Literal["step"] = "step"
AUDIT: Literal["audit"] = "audit"
CellKind = Literal["verify", "reproduce", "step", "audit"]
PENDING: Literal["pending"] = "pending"
RUNNING: Literal["running"] = "running"
DONE: Literal["done"] = "done"
LEFT: Literal["left"] = "left"
CellStatus = Literal["pending", "running", "done", "left"]
SAME_BITS, SAME_NUMBERS = "same bits", "other bits, same numbers"
OTHER_BITS, OTHER_NUMBERS = "other bits", "other numbers"
NO_TIME = "no time"  # how a narrowing ended that the budget broke off


class RecipeMetric(Part):
    """What a recipe is judged by."""

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("selection",)

    name: str
    unit: str
    direction: Literal["higher", "lower"]
    selection: str | None = None


class NightRecipe(Part):
    """A recipe of a night. source: where it was found. hash: of the night's profile."""

    source: str
    version: int
    hash: str
    metric: RecipeMetric


class ReleaseError(Part):
    """Why a release cannot be had: the installer's last lines, and how long that took."""

    reason: str
    log_tail: tuple[str, ...]
    seconds: float


class NightRelease(Part):
    """What a night tests of a framework. version, key and pins are null where it could not be resolved.

    previous: the version of the last night that could resolve one.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("extra_index",)

    request: str
    version: str | None
    key: str | None
    pins: tuple[str, ...] | None
    extra_index: tuple[str, ...] | None = None
    error: ReleaseError | None = None
    is_new: bool = True
    previous: str | None = None

    @property
    def named(self) -> NamedRelease:
        """Return it as invocations record it."""
        return NamedRelease(request=self.request, key=self.key, pins=self.pins, extra_index=self.extra_index)

    @property
    def text(self) -> str:
        """Return it as a person is told of it."""
        if self.error:
            return f"cannot be had: {self.error.reason}"
        if not self.is_new:
            return f"{self.version}, as before"
        if self.previous is None:
            return f"{self.version}, for the first time"
        if self.previous == self.version:
            return f"{self.version}, with other packages than before"
        return f"{self.version} is new (was {self.previous})"


class StandingFinding(Part):
    """A cell that is covered or left, and was wrong, failed or unknown. night: the one that found it."""

    key: str
    night: str
    verdict: Verdict
    reason: str
    directory: str | None


class Bits(Part):
    """The bits of a verification's answers beside those of an earlier night, on the same processor and golden tape.

    answer: same bits; other bits, same numbers, where both are right; other numbers, where one is wrong; other bits, where both
    are. night, release: of the earlier one. cases: how many both were asked; same: of how many the bits are equal.
    """

    answer: str
    night: str
    release: str | None
    cases: int
    same: int


class FailedTry(Part):
    """A try of a cell that failed, and was made again in the same night."""

    verdict: Verdict
    reason: str
    triage: Triage
    seconds: float
    directory: str | None


class LostTime(Part):
    """What failures of one category took from a night: their seconds, tries again, and how many of these failed too."""

    category: str
    name: str
    failures: int
    seconds: float
    tries: int
    useless: int


class CellRow(Part):
    """One cell of a night.

    is_short: verified by training steps on margin batches alone. basis: the hash of what its verdict stands on. chosen: why it
    was due. directory: below the folder of runs, once it has started. seconds: of all attempts. stands: of a number outside its
    band, whether it is beyond chance. bits: of a verification, how its bits are beside those of an earlier night. tries: those
    that failed before the last. triage: of the last, where that failed too.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("triage",)

    key: str
    kind: CellKind
    recipe: str
    profile: str
    context: Context
    is_short: bool = False
    basis: str
    chosen: str
    estimate_seconds: float | None = None
    status: CellStatus = PENDING
    directory: str | None = None
    seconds: float | None = None
    peak_memory_bytes: int | None = None
    verdict: Verdict | None = None
    reason: str | None = None
    p_value: float | None = None
    stands: bool | None = None
    bits: Bits | None = None
    tries: tuple[FailedTry, ...] = ()
    triage: Triage | None = None

    @model_validator(mode="after")
    def _ended_with_a_verdict(self) -> CellRow:
        if self.status == DONE and self.verdict is None:
            raise ValueError(f"{self.key} is done without a verdict")
        return self

    @property
    def is_done(self) -> bool:
        return self.status == DONE

    @property
    def ended_as(self) -> Verdict | None:
        """Return the verdict of a cell that is done."""
        return self.verdict if self.is_done else None

    @property
    def is_failed(self) -> bool:
        """Did it end without an answer?"""
        return self.ended_as is not None and self.ended_as.is_failed

    @property
    def is_outside(self) -> bool:
        """Did it end with a number outside its band, or with a wrong step?"""
        return self.ended_as is not None and self.ended_as.is_outside


class StepRow(CellRow):
    """One context of a user's own step, verified, or a family of operators, audited.

    recipe: the name of the file, or of the family. since: the night that first had this verdict.
    """

    since: str | None = None


class NightNarrowing(Part):
    """What came of narrowing one cause of a night. key: of the cell that was narrowed. cause: framework, and what is wrong.

    directory: of the narrowing, below the folder of runs; None where none was left. state: as in narrow.json, or "no time".
    """

    key: str
    cause: str
    directory: str | None
    state: str
    reason: str
    seconds: float

    @property
    def is_done(self) -> bool:
        """Was it carried out to its end, so that no coming night needs to?"""
        return self.state != NO_TIME


class NightVerdict(Part):
    """What a night comes to. judged: how many numbers a band was laid on. by_chance: keys of those outside that do not stand."""

    exit_code: int
    counts: dict[str, int]
    judged: int
    false_alarms_expected: float
    by_chance: tuple[str, ...]


class Night(Document):
    """One night. `id`: its directory. `number`: its step in every timeline. `finished`, `verdict`: null while it is at work.

    `token`: tells it from another machine's night of the same id. `covered`: how many cells needed no look.
    `files`: users' own steps, by their paths. `steps`: their contexts, and audits. `narrowed`: what is newly wrong, by cause.
    `lost`: the time that went into failures, by category, what cost most first.
    """

    FILE_NAME: ClassVar[str] = "night.json"
    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("token",)

    schema_: int = Field(1, alias="schema")
    id: str
    token: str | None = None
    number: int
    created: str
    command: str
    profile: str
    budget_seconds: float
    jobs: int | None
    seeds: tuple[int, ...] = ()
    recipes: dict[str, NightRecipe]
    releases: dict[str, NightRelease]
    covered: int
    standing: tuple[StandingFinding, ...]
    cells: tuple[CellRow, ...]
    files: tuple[str, ...] = ()
    steps: tuple[StepRow, ...] = ()
    narrowed: tuple[NightNarrowing, ...] = ()
    lost: tuple[LostTime, ...] = ()
    spent_seconds: float
    finished: str | None
    verdict: NightVerdict | None
    tracking: Tracking | None

    @field_validator("created", "finished")
    @classmethod
    def _is_a_time(cls, value: str | None) -> str | None:
        if value is not None:
            datetime.fromisoformat(value)
        return value

    @model_validator(mode="after")
    def _cells_are_of_the_night(self) -> Night:
        """Every reader looks up a cell's recipe and release."""
        for row in self.cells:
            if row.recipe not in self.recipes:
                raise ValueError(f"recipes: {row.recipe} is missing, of which there is a cell")
        names = {Path(path).name for path in self.files}
        if strange := [row.recipe for row in self.steps if row.kind == STEP and row.recipe not in names]:
            raise ValueError(f"files: {strange[0]} is missing, of which there is a step")
        for row in self.rows:
            if row.context.framework not in self.releases:
                raise ValueError(f"releases: {row.context.framework} is missing, of which there is a cell")
        if len({row.key for row in self.rows}) < len(self.rows):
            raise ValueError("cells: one of them stands there twice")
        if self.finished and self.verdict is None:
            raise ValueError("verdict: null, though the night is finished")
        return self

    @property
    def when(self) -> datetime:
        """Return when it was begun, in UTC."""
        return datetime.fromisoformat(self.created).astimezone(timezone.utc)

    @property
    def rows(self) -> tuple[CellRow, ...]:
        """Return its cells, those of users' own steps and of audits behind the others."""
        return (*self.cells, *self.steps)

    def release_of(self, row: CellRow) -> NightRelease:
        """Return the release that a cell is looked at with."""
        return self.releases[row.context.framework]

    def _laid_out(self, content: dict[str, Any]) -> str:
        """Return night.json's content: a cell a line."""
        rows = [json.dumps(row, allow_nan=False) for row in content["cells"]]
        rest = json.dumps({**content, "cells": []}, indent=1, allow_nan=False)
        return rest.replace('\n "cells": []', '\n "cells": [\n  ' + ",\n  ".join(rows) + "\n ]", 1) + "\n"


def nights_directory(runs: Path) -> Path:
    """Return the folder of nights in a folder of runs."""
    return runs / "nights"


def read_nights(nights: Path, *, newest: int | None = None) -> tuple[dict[Path, Night], list[str]]:
    """Return the nights below a folder in the order of their numbers, by directory, and a remark for each that cannot be read.

    Args:
        newest: so many of them, by date; all unless given.
    """
    documents: dict[Path, Night] = {}
    remarks = []
    for directory in sorted(path for path in nights.glob("*") if path.is_dir())[-(newest or 0) :]:
        try:
            documents[directory] = Night.read(directory)
        except OSError as error:
            remarks.append(f"{directory / Night.FILE_NAME}: {error.strerror}. The night is left out.")
        except DocumentError as error:
            remarks.append(f"{error} The night is left out.")
    return dict(sorted(documents.items(), key=lambda item: item[1].number)), remarks
