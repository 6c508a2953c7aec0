"""An entry that supersedes reference samples, a line of reference_results/<recipe>/superseded.jsonl.

The rows stay as they are, and judge nothing from then on. An entry names its rows by run, says why and since when, and keeps the
bands of each framework before and after, as they were on that day.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, StrictInt

from vigil.documents.document import DocumentError, Part
from vigil.documents.identity import Identity
from vigil.documents.line import Line
from vigil.documents.reference_row import ReferenceError_, SampleData

FILE_NAME = "superseded.jsonl"
# Enough to say what was wrong with the samples; less is a word such as "stale".
_LEAST_CHARACTERS = 20
_LEAST_DIFFERENT = 6


def sound_reason(text: str) -> str:
    """Return a reason on one line. Raises ValueError for one that is empty or says nothing."""
    reason = " ".join(text.split())
    if len(reason) < _LEAST_CHARACTERS or len({letter for letter in reason if letter.isalpha()}) < _LEAST_DIFFERENT:
        raise ValueError(
            f"found {reason!r}. Allowed: a sentence of {_LEAST_CHARACTERS} characters or more that says what is wrong with these "
            "samples; everybody who meets the reference later reads it."
        )
    return reason


def _check_reason(text: str) -> str:
    sound_reason(text)
    return text


class KeptBand(Part):
    """Of a band, what two days can compare, however the statistics inside change."""

    n: StrictInt
    n_seeds: StrictInt
    mean: float
    spread: float
    low: float
    high: float
    coverage: float
    method: str


class SupersedingEntry(Line):
    """Rows of one group that judge nothing any more. old_bands, new_bands: by framework; None where there was no band.

    by: what supersedes them: a change, an issue, a link.
    """

    NOUN: ClassVar[str] = "superseding entry"
    ERROR: ClassVar[type[DocumentError]] = ReferenceError_

    schema_: int = Field(1, alias="schema")
    kind: Literal["superseded"] = "superseded"
    recipe: Identity
    metric: str
    unit: str
    data: SampleData
    run_ids: Annotated[tuple[str, ...], Field(min_length=1)]
    reason: Annotated[str, AfterValidator(_check_reason)]
    by: str | None
    date: str
    commit: str | None
    old_bands: dict[str, KeptBand | None]
    new_bands: dict[str, KeptBand | None]
