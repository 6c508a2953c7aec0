"""What records, invocations and verifications say alike: machine, release, fault, and where in MLflow it is."""

from __future__ import annotations

from typing import ClassVar

from vigil.documents.document import Part

Environment = dict[str, "str | int | float | bool | list[str] | None"]
"""What is known of interpreter, framework and machine, flat."""


class PlantedFault(Part):
    """A fault that was planted on purpose."""

    name: str
    sha256: str


class NamedRelease(Part):
    """The release that was asked for, and the packages of its environment; both null where it cannot be had."""

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("extra_index",)

    request: str
    key: str | None
    pins: tuple[str, ...] | None
    extra_index: tuple[str, ...] | None = None


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
