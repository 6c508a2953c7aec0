"""Known findings: contexts of released frameworks that are really wrong, with the evidence.

Strict both ways. A listed context is still reported, as `known-finding`, never as `reproduced`; and an entry whose context is
right again, or wrong somewhere else, is an error, so that the list cannot outlive the bug.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from vigil.digests import read_one
from vigil.documents.record import Record
from vigil.documents.verification import BrokenInvariant, KnownFinding, Origin
from vigil.errors import UsageError
from vigil.paths import reference_directory
from vigil.verify.limits import TRAJECTORY, size_of
from vigil.verify.oracle.outline import GRADIENTS, Outline

if TYPE_CHECKING:
    from vigil.verify.distance import Difference
    from vigil.verify.localise import Localisation

FILE_NAME = "known_findings.yaml"
_LISTS = ("releases", "contexts", "layers", "cpu_flags")
_NOT = "!"


def explains(entry: KnownFinding, origin: Origin) -> bool:
    """Is an origin that was found this one?"""
    return _is_of(entry, origin.layer) and fnmatch.fnmatch(origin.quantity, entry.quantity)


def reaches(entry: KnownFinding, tensor: str, outline: Outline) -> bool:
    """May this tensor of a step be out because of the finding?

    A wrong gradient of a parameter moves that one, what the optimizer keeps of it and nothing else; one of data, those of all
    parameters. What a layer gives wrongly forward may reach every tensor.
    """
    # Whatever group it is of: the gradient, what the optimizer keeps, or the parameter itself.
    parameter = outline.parameters.get(tensor.partition("/")[2])
    if stays(entry):
        own = fnmatch.filter(GRADIENTS.values(), entry.quantity)
        return parameter is not None and GRADIENTS[parameter.part] in own and _is_of(entry, parameter.layer)
    return parameter is not None if fnmatch.fnmatch("data gradient", entry.quantity) else True


def stays(entry: KnownFinding) -> bool:
    """Is it of gradients of parameters, which reach nothing but their own parameter?"""
    return bool(fnmatch.filter(GRADIENTS.values(), entry.quantity)) and not fnmatch.fnmatch("data gradient", entry.quantity)


def unreached(known: Sequence[KnownFinding], out: Sequence[Difference], outline: Outline) -> list[Difference]:
    """Return what none of the findings reaches. Several steps in a row carry any of them everywhere."""
    single = (each for each in out if size_of(each.case) != TRAJECTORY)
    return [each for each in single if not any(reaches(entry, each.tensor, outline) for entry in known)]


def _is_of(entry: KnownFinding, layer: str) -> bool:
    return any(fnmatch.fnmatch(layer, pattern) for pattern in entry.layers)


def explain_all(
    known: Sequence[KnownFinding],
    localisation: Localisation,
    broken: Sequence[BrokenInvariant],
    out: Sequence[Difference],
    outline: Outline,
    *,
    quick: bool = False,
) -> bool:
    """Is every origin that was found a known one, every known one found, and every tensor that is out within reach of one?

    Origins are those of one case: what is out in another, and none of them reaches, has an origin that nobody looked for. An
    origin that may be chance needs no finding: it would make a verdict at a rate that no verdict has.

    Args:
        quick: the short form, which need not show every finding.
    """
    if broken or not localisation.origins:
        return False
    origins = localisation.origins
    return (
        all(any(explains(entry, origin) for entry in known) for origin in origins if origin.is_certain)
        and (quick or all(any(explains(entry, origin) for origin in origins) for entry in known))
        and not unreached(known, out, outline)
    )


def load_known(path: Path | None = None) -> list[KnownFinding]:
    """Read the list.

    Raises:
        UsageError: It is no YAML, or an entry has missing, unknown or wrong keys.
        DataError: It was altered, cut off or lost.
    """
    path = path or reference_directory() / FILE_NAME
    content = read_one(path)
    if content is None:
        return []
    names = set(KnownFinding.model_fields)
    needed = {name for name, field in KnownFinding.model_fields.items() if field.is_required()}
    try:
        listed = yaml.safe_load(content.decode("utf-8")) or []
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(listed, list):
        raise UsageError(f"{path}: found {type(listed).__name__}. Allowed: a list of entries, each beginning with '- name:'.")
    entries = []
    for index, entry in enumerate(listed):
        if not isinstance(entry, dict) or not needed <= set(entry) <= names:
            found = sorted(entry) if isinstance(entry, dict) else entry
            raise UsageError(
                f"{path}: entry {index + 1}: found {found}. Needed: {', '.join(sorted(needed))}. Allowed besides: "
                f"{', '.join(sorted(names - needed))}."
            )
        if scalars := [name for name in _LISTS if name in entry and not isinstance(entry[name], list)]:
            raise UsageError(f'{path}: entry {index + 1}: {", ".join(scalars)}: found one value. Allowed: a list, as ["head"].')
        texts = [text for value in entry.values() for text in (value if isinstance(value, list) else [value])]
        if wrong := [text for text in texts if not isinstance(text, str)]:
            shown = ", ".join(map(repr, wrong))
            raise UsageError(f'{path}: entry {index + 1}: found {shown}. Allowed: text; quote numbers, as ["2.13.0"].')
        entries.append(KnownFinding(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}))
    return entries


def matching(known: Sequence[KnownFinding], record: Record) -> list[KnownFinding]:
    """Return the entries that speak of a run's recipe, framework, release, context and processor; a planted fault has none."""
    if record.fault:
        return []
    flags = str(record.environment.get("cpu_flags", ""))
    version = str(record.environment.get("framework_version", "")).split("+")[0]
    return [
        entry
        for entry in known
        if entry.recipe == record.recipe.name
        and entry.framework == record.context.framework
        and version in entry.releases
        and any(fnmatch.fnmatch(record.context.text, pattern) for pattern in entry.contexts)
        and (entry.cpu_flags is None or is_such_a_processor(flags, entry.cpu_flags))
    ]


def is_such_a_processor(flags: str, patterns: Sequence[str]) -> bool:
    """Do the flags match one of the patterns, as far as there are any, and none of those that begin with `!`?"""
    wanted = [pattern for pattern in patterns if not pattern.startswith(_NOT)]
    refused = [pattern.removeprefix(_NOT) for pattern in patterns if pattern.startswith(_NOT)]
    is_one = any(fnmatch.fnmatch(flags, pattern) for pattern in wanted) or not wanted
    return is_one and not any(fnmatch.fnmatch(flags, pattern) for pattern in refused)
