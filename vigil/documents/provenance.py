"""What records, invocations and verifications say alike: machine, release, fault, and where in MLflow it is."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from vigil.documents.document import Part

Environment = dict[str, "str | int | float | bool | list[str] | None"]
"""What is known of interpreter, framework and machine, flat."""


class PlantedFault(Part):
    """A fault that was planted on purpose."""

    name: str
    sha256: str


class NamedRelease(Part):
    """The release that was asked for, and the packages of its environment; both null where it cannot be had.

    key: it names a folder, which is made and removed: a word, and no path. pins, extra_index, hold: lines that an installer
    reads, and none that tells it more. hold: packages that were asked for at one version beside it, as `flax==0.12.8`.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("extra_index", "hold")

    request: str
    key: Annotated[str, Field(pattern=r"^\w[\w.-]*$")] | None
    pins: tuple[Annotated[str, Field(pattern=r"^[\w.-]+==[\w.+!-]+( sha256:[0-9a-f]{64})?$")], ...] | None
    extra_index: tuple[Annotated[str, Field(pattern=r"^\S+$")], ...] | None = None
    hold: tuple[Annotated[str, Field(pattern=r"^\w[\w.-]*==[\w.+!-]+$")], ...] | None = None

    @model_validator(mode="after")
    def _both_or_neither(self) -> NamedRelease:
        if (self.key is None) != (self.pins is None):
            raise ValueError("a release has both key and pins, or neither")
        return self


class Tracking(Part):
    """Where in MLflow it is, or why it is not."""

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("uri", "experiment", "run_id", "error")

    uri: str | None = None
    experiment: str | None = None
    run_id: str | None = None
    error: str | None = None


def processor_of(hardware: str) -> str:
    """Return the processor of what an environment says of its machine.

    >>> processor_of("AMD EPYC, 2 cores, 24 GiB")
    'AMD EPYC'
    """
    return hardware.split(",")[0]
