"""What a recipe is judged by."""

from __future__ import annotations

from typing import Any, Literal

from vigil.documents.document import Part


class Metric(Part):
    """A number of an evaluation. selection: of which one of a run, the last or the best."""

    name: str
    unit: str
    direction: Literal["higher", "lower"]
    selection: str

    @classmethod
    def of(cls, training: dict[str, Any]) -> Metric:
        """Return the metric of a recipe's resolved content."""
        return cls.model_validate(training["metric"])
