"""Known findings of audits: public calls of released frameworks that are really wrong, with the evidence.

Strict both ways, as those of verify: a listed call is reported as `known-finding`, and an entry that an audit should have seen
and did not is told as one that no longer holds. Lost accuracy, of which `most` says how much, is within limits for some
arguments: that it does not show tells nothing.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from vigil.audit.limits import NAME
from vigil.digests import read_one
from vigil.documents.document import Part
from vigil.errors import DataError
from vigil.paths import reference_directory
from vigil.verify.known_findings import is_such_a_processor

FILE_NAME = "known_findings.yaml"


class KnownCall(Part):
    """One known finding. All but `most` are patterns, or lists of them.

    kinds: of findings. quantities: `gradients/*`. most: floors beyond which it is another finding; left out where numbers are
    wrong. evidence: a script below docs/findings/, or a link. cpu_flags: of the processor, as in `verify.known_findings`.
    forms: of what is tried, in words (`Trial.form`): `*, transposed` where it is of a layout alone, `*, nan and infinities` where
        what is given else is right.
    devices: where the calls are made. counts: over how many of them arguments are cut, where it shows. What shows on one shows
        on several as well, as far as these are asked the same.
    """

    name: str
    frameworks: tuple[str, ...]
    releases: tuple[str, ...]
    operators: tuple[str, ...]
    ways: tuple[str, ...]
    kinds: tuple[str, ...] = ("wrong",)
    quantities: tuple[str, ...] = ("*",)
    precisions: tuple[str, ...] = ("*",)
    modes: tuple[str, ...] = ("*",)
    forms: tuple[str, ...] = ("*",)
    most: float = Field(default=float("inf"), gt=0)
    cpu_flags: tuple[str, ...] = ()
    devices: tuple[str, ...] = ("cpu",)
    counts: tuple[int, ...] = (1,)
    evidence: str

    def covers(self, *, framework: str, release: str, mode: str) -> bool:
        """Is it one of this framework, release and mode?"""
        return is_like(framework, self.frameworks) and is_like(release, self.releases) and is_like(mode, self.modes)

    def names(self, operator: str, way: str | None) -> bool:
        """Is it one of this call?"""
        return is_like(operator, self.operators) and is_like(way or "", self.ways)

    def explains(
        self,
        *,
        operator: str,
        way: str | None,
        kind: str,
        quantity: str | None,
        precision: str,
        ratio: float | None,
        form: str = "",
    ) -> bool:
        """Is a finding this one?"""
        is_of = is_like(kind, self.kinds) and is_like(quantity or "", self.quantities) and is_like(precision, self.precisions)
        return self.names(operator, way) and is_of and is_like(form, self.forms) and not (ratio or 0.0) > self.most


def of_processor(known: Sequence[KnownCall], flags: str, *, device: str = "cpu", devices: int = 1) -> list[KnownCall]:
    """Return the known findings of a device, or so many of them, on a processor with these flags."""
    return [
        each
        for each in known
        if device in each.devices and {1, devices} & set(each.counts) and is_such_a_processor(flags, each.cpu_flags)
    ]


def is_like(value: str, patterns: Sequence[str]) -> bool:
    """Is a value like any of the patterns?"""
    return any(fnmatch.fnmatchcase(value, pattern) for pattern in patterns)


def known_calls(path: Path | None = None) -> list[KnownCall]:
    """Return the known findings of audits. Raises DataError for a file that is not as it was listed, or has no such form."""
    path = path or reference_directory() / NAME / FILE_NAME
    content = read_one(path)
    if content is None:
        return []
    try:
        return [KnownCall(**row) for row in yaml.safe_load(content) or []]
    except (yaml.YAMLError, TypeError, ValidationError) as error:
        raise DataError(f"{path}: {error}") from error
