"""Known findings: contexts of released frameworks that are really wrong, with the evidence.

Strict both ways. A listed context is still reported, as `known-finding`, never as `reproduced`; and an entry whose context is
right again, or wrong somewhere else, is an error, so that the list cannot outlive the bug.
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from vigil.errors import UsageError
from vigil.paths import reference_directory

if TYPE_CHECKING:
    from vigil.verify.compare import Difference
    from vigil.verify.invariants import Broken
    from vigil.verify.localise import Localisation
    from vigil.verify.search import Origin

FILE_NAME = "known_findings.yaml"
_LISTS = ("releases", "contexts", "layers")
# What a gradient of parameters moves in one step, and what it is the gradient of.
_MOVED = ("parameter_gradient", "momentum", "params")
_LEAVES = {"weight gradient": "kernel", "bias gradient": "bias", "scale gradient": "scale"}


@dataclasses.dataclass(frozen=True)
class Known:
    """One finding.

    releases: framework versions it is in. contexts: patterns of short context forms, as `tensorflow-*-bf16-x1`.
    layers: patterns of the origin's layer; quantity: of what it gets wrong. evidence: a script in docs/findings/, or a link.
    """

    name: str
    recipe: str
    framework: str
    releases: tuple[str, ...]
    contexts: tuple[str, ...]
    layers: tuple[str, ...]
    quantity: str
    evidence: str

    def explains(self, origin: Origin) -> bool:
        """Is an origin that was found this one?"""
        return self._is_of(origin.place.layer) and fnmatch.fnmatch(origin.place.quantity, self.quantity)

    def reaches(self, tensor: str) -> bool:
        """May this tensor of a step be out because of the finding?

        A wrong gradient of a parameter moves that one, its buffer and nothing else; one of data, those of all parameters. What a
        layer gives wrongly forward may reach every tensor.
        """
        group, _, name = tensor.partition("/")
        layer, _, leaf = name.rpartition(".")
        if self.quantity in _LEAVES:
            return group in _MOVED and leaf == _LEAVES[self.quantity] and self._is_of(layer)
        return group in _MOVED or self.quantity != "data gradient"

    def _is_of(self, layer: str) -> bool:
        return any(fnmatch.fnmatch(layer, pattern) for pattern in self.layers)


def explain_all(
    known: Sequence[Known],
    localisation: Localisation | None,
    broken: Sequence[Broken],
    out: Sequence[Difference],
    *,
    quick: bool = False,
) -> bool:
    """Is every origin that was found a known one, every known one found, and every tensor that is out within reach of one?

    Origins are those of one case: what is out in another, and none of them reaches, has an origin that nobody looked for. An
    origin that may be chance needs no finding: it would make a verdict at a rate that no verdict has.

    Args:
        quick: the short form, which need not show every finding.
    """
    if broken or localisation is None or not localisation.origins:
        return False
    origins = localisation.origins
    return (
        all(any(entry.explains(origin) for entry in known) for origin in origins if origin.is_certain)
        and (quick or all(any(entry.explains(origin) for origin in origins) for entry in known))
        and all(any(entry.reaches(each.tensor) for entry in known) for each in out)
    )


def load_known(path: Path | None = None) -> list[Known]:
    """Read the list. Raises UsageError for what is no YAML, and for an entry with missing, unknown or wrong keys."""
    path = path or reference_directory() / FILE_NAME
    if not path.exists():
        return []
    names = {field.name for field in dataclasses.fields(Known)}
    try:
        listed = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(listed, list):
        raise UsageError(f"{path}: found {type(listed).__name__}. Allowed: a list of entries, each beginning with '- name:'.")
    entries = []
    for index, entry in enumerate(listed):
        if not isinstance(entry, dict) or set(entry) != names:
            found = sorted(entry) if isinstance(entry, dict) else entry
            raise UsageError(f"{path}: entry {index + 1}: found {found}. Allowed, and needed: {', '.join(sorted(names))}.")
        if scalars := [name for name in _LISTS if not isinstance(entry[name], list)]:
            raise UsageError(f'{path}: entry {index + 1}: {", ".join(scalars)}: found one value. Allowed: a list, as ["head"].')
        texts = [text for value in entry.values() for text in (value if isinstance(value, list) else [value])]
        if wrong := [text for text in texts if not isinstance(text, str)]:
            shown = ", ".join(map(repr, wrong))
            raise UsageError(f"{path}: entry {index + 1}: found {shown}. Allowed: text; quote numbers, as [\"2.13.0\"].")
        entries.append(Known(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}))
    return entries


def matching(known: Sequence[Known], record: dict[str, Any]) -> list[Known]:
    """Return the entries that speak of a run's recipe, framework, release and context; a planted fault has none."""
    if record["fault"]:
        return []
    version = record["environment"].get("framework_version", "").split("+")[0]
    return [
        entry
        for entry in known
        if entry.recipe == record["recipe"]["name"]
        and entry.framework == record["context"]["framework"]
        and version in entry.releases
        and any(fnmatch.fnmatch(record["context"]["text"], pattern) for pattern in entry.contexts)
    ]
