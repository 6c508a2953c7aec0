"""record.json: one run, complete without MLflow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from vigil.digests import digest_of
from vigil.documents.context import Context
from vigil.documents.document import Document, DocumentError, Number, Part
from vigil.documents.failure import Failure
from vigil.documents.identity import Identity
from vigil.documents.invocation import FirstRung
from vigil.documents.judgement import Metric
from vigil.documents.provenance import Environment, PlantedFault

RESTORE = "Restore it, or start a new invocation."
Status = Literal["finished", "failed", "unsupported", "interrupted"]


class MeasuredMetric(Metric):
    """What a run is judged by, and how much of it it reached; null where it did not end well."""

    value: Annotated[float, Field(strict=True)] | None


class CurvePoint(Part):
    """One evaluation. `metrics`: by name, as the recipe's kind has them; in the file they stand beside the other keys."""

    step: int
    epoch: float
    train_loss: Number | None
    metrics: dict[str, Number]
    images_per_second: float | None

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "metrics" in values:
            return values
        own = {name: values[name] for name in cls.model_fields if name in values}
        return {**own, "metrics": {name: value for name, value in values.items() if name not in own}}

    @model_serializer(mode="wrap")
    def _spread(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content = handler(self)
        rate, metrics = content.pop("images_per_second"), content.pop("metrics")
        return {**content, **metrics, "images_per_second": rate}


class Timing(Part):
    """In seconds; the wall's are summed over attempts."""

    wall_seconds: float
    cpu_seconds: float | None
    first_step_seconds: float | None
    images_per_second: float | None


class DataFacts(Part):
    """Which data a run saw. checksum: of the images and labels in use, in records; of the whole set, in recipes that name one."""

    name: str
    n_train: int
    n_test: int
    checksum: str | None


class Code(Part):
    """The commit of the checkout, and whether tracked files differed from it; both null outside a checkout."""

    commit: str | None
    dirty: bool | None


class AnsweredCase(Part):
    """A case of a verification that was answered."""

    index: int
    name: str
    seconds: float


class Resumption(Part):
    """When a run went on, and from which step."""

    time: float
    step: int


class Record(Document):
    """One run. `losses`: of every step, in order. `files`: name -> SHA-256 of each file beside it that it was made of."""

    FILE_NAME: ClassVar[str] = "record.json"

    schema_: int = Field(1, alias="schema")
    run_id: str
    invocation_id: str
    created: str
    recipe: Identity
    context: Context
    seed: int
    status: Status
    failure: Failure | None
    metric: MeasuredMetric
    curve: tuple[CurvePoint, ...]
    losses: tuple[Number, ...]
    state_sha256: str | None
    timing: Timing
    peak_memory_bytes: int | None
    fault: PlantedFault | None
    environment: Environment
    data: DataFacts
    code: Code
    probed: tuple[AnsweredCase, ...] = ()
    verify: FirstRung | None = None
    resumed: tuple[Resumption, ...] = ()
    files: dict[str, str] | None = None

    def require_files(self, directory: Path, *names: str) -> None:
        """Hold files of the run's directory to their digests: those that are named and listed, or all that are listed.

        Records from before there were digests list none.

        Raises:
            DocumentError: One is gone, or is not what this was made of.
        """
        listed = self.files or {}
        for name in sorted(listed.keys() & set(names) if names else listed):
            path = directory / name
            try:
                found = digest_of(path.read_bytes())
            except OSError as error:
                raise DocumentError(
                    f"{path}: cannot be read ({error.strerror}), although {self.FILE_NAME} was made of it. {RESTORE}"
                ) from error
            if found != listed[name]:
                raise DocumentError(
                    f"{path}: its SHA-256 is not the one in {self.FILE_NAME}: it was altered, cut off or damaged. {RESTORE}"
                )
