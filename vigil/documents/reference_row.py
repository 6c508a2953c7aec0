"""One raw reference sample, a line of reference_results/<recipe>/<profile>-<framework>-<date>.jsonl.

`verify` alone is missing from rows that were kept before `vigil reference add` verified first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, model_validator

from vigil.documents.context import Context
from vigil.documents.document import DocumentError, Part
from vigil.documents.identity import Identity
from vigil.documents.line import Line
from vigil.documents.record import Environment
from vigil.documents.verdict import Verdict

Sample = tuple[Identity, str, str, int, str, str]
"""What two runs have in common that count as one sample."""


class ReferenceError_(DocumentError):
    """A reference file cannot be read, or a run cannot be a reference sample."""


class SampleData(Part):
    """The data of a sample: its set, and the checksum of the images and labels in use."""

    name: str
    checksum: str


class VerificationNote(Part):
    """What verify said of the context of a sample. `unknown`: there was no golden tape to hold it against."""

    verdict: Literal[Verdict.REPRODUCED, Verdict.UNKNOWN]
    reason: str
    verify_id: str | None
    golden: str | None


def _whole_context(value: Any) -> Any:
    """Check that a context in a file says in text what its fields say."""
    if not isinstance(value, Mapping):
        return value
    missing = [key for key in ("framework", "text") if key not in value]
    if missing:
        raise ValueError(f"{missing[0]} is missing")
    context = Context.from_dict(value)
    if value["text"] != context.text:
        raise ValueError(f"its fields are those of {context.text}")
    return context


class ReferenceRow(Line):
    """A measured value and where it comes from. data.checksum: rows of other data judge nothing.

    dirty: whether tracked files differed from the commit; None outside a checkout.
    """

    NOUN: ClassVar[str] = "reference row"
    ERROR: ClassVar[type[DocumentError]] = ReferenceError_
    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("verify",)

    schema_: int = Field(1, alias="schema")
    kind: Literal["measured"] = "measured"
    recipe: Identity
    metric: str
    unit: str
    value: Annotated[float, Field(strict=True, allow_inf_nan=False)]
    seed: StrictInt
    context: Annotated[Context, BeforeValidator(_whole_context)]
    framework_version: str
    packages: dict[str, str]
    python: str
    hardware: str | None
    environment: Environment
    data: SampleData
    commit: str | None
    dirty: StrictBool | None
    date: str
    run_id: str
    state_sha256: str | None
    verify: VerificationNote | None = None

    @model_validator(mode="after")
    def _check_range(self) -> ReferenceRow:
        if self.unit == "percent" and not 0.0 <= self.value <= 100.0:
            raise ValueError(f"value: found {self.value} percent, allowed is 0 to 100")
        return self

    @property
    def framework(self) -> str:
        """The framework that the sample was measured in."""
        return self.context.framework

    @property
    def is_verified(self) -> bool:
        """Was a training step of its context held against float64, and right?"""
        return self.verify is not None and self.verify.verdict is Verdict.REPRODUCED

    @property
    def sample(self) -> Sample:
        """What it is a sample of. On other data a seed is another sample."""
        return self.recipe, self.metric, self.data.checksum, self.seed, self.context.text, self.framework_version
