"""batch_norm.json: what the public batch norms of frameworks do, layer by layer, and what differs from their documentation."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vigil.documents.document import Document, Part
from vigil.documents.failure import Failure
from vigil.documents.provenance import Environment, NamedRelease, Tracking
from vigil.documents.verification import StepVerdict


class BatchNormFinding(Part):
    """An answer that differs from what the documentation says, or from the eager mode. source: where `expected` stands."""

    layer: str
    question: str
    answer: str
    expected: str
    source: str


class BatchNormsOf(Part):
    """The batch norms of one framework.

    answers: by layer, then by question; `-` where a layer has no such form. absent: public names that the release lacks.
    same: public names that stand for another layer of the table. failure: of its process, which then has no answers.
    """

    framework: str
    framework_version: str | None
    release: NamedRelease | None
    answers: dict[str, dict[str, str]]
    absent: tuple[str, ...]
    same: dict[str, str]
    findings: tuple[BatchNormFinding, ...]
    failure: Failure | None
    environment: Environment
    seconds: float


class BatchNormTable(Document):
    """The table of batch norms. questions: as they are worded, by the name that answers have them under."""

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("tracking",)
    FILE_NAME: ClassVar[str] = "batch_norm.json"

    schema_: int = Field(1, alias="schema")
    table_id: str
    created: str
    command: str
    verdict: StepVerdict
    questions: dict[str, str]
    frameworks: tuple[BatchNormsOf, ...]
    tracking: Tracking | None = None

    @property
    def exit_code(self) -> int:
        return self.verdict.name.exit_code
