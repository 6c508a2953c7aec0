"""What a verdict of a night stands on. A cell is covered while nothing of it has changed.

It errs towards looking again: what may move a number is in it, and a file too many costs only time. The machine's processor is
not in it: hosted machines are handed out at random, and no cell would ever be covered there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vigil.environment import describe_machine
from vigil.nightly.cells import REPRODUCE, Cell
from vigil.paths import project_root, reference_directory
from vigil.verify.golden import path_of

# Under the project's root: what runs in a framework's process, and what judges it. `*` ends a file's stem.
_CODE = ("runners/contract", "runners/{framework}", "vigil/verify")
_JUDGEMENT = ("vigil/coco", "vigil/bands*", "vigil/verdict*", "vigil/reference.py")


class Bases:
    """The bases of many cells: each file is read once."""

    def __init__(
        self, keys: Mapping[str, str], hashes: Mapping[str, str], *, root: Path | None = None, reference: Path | None = None
    ) -> None:
        """keys: framework -> key of its environment. hashes: recipe -> hash of its resolved profile."""
        self._keys, self._hashes = keys, hashes
        self._root, self._reference = root or project_root(), reference or reference_directory()
        self._variables = {name: value for name, value in describe_machine().items() if name.startswith("env.")}
        self._seen: dict[tuple[str, ...], str] = {}

    def ingredients(self, cell: Cell) -> dict[str, Any]:
        """Return what the basis of a cell is made of."""
        tape = path_of({"name": cell.recipe, "profile": cell.profile}, self._reference)
        folder = self._reference / cell.recipe
        judges = [*folder.glob("verify/*.jsonl"), self._reference / "known_findings.yaml"]
        code = [pattern.format(framework=cell.framework) for pattern in _CODE]
        if cell.kind == REPRODUCE:
            judges += [path for path in folder.glob("*") if path.is_file()]
            code += _JUDGEMENT
        return {
            "environment": self._keys[cell.framework],
            "variables": self._variables,
            "recipe": self._hashes[cell.recipe],
            "golden": self._of_files("golden", cell.recipe, cell.profile, files=[tape]),
            "code": self._of_files("code", cell.kind, cell.framework, files=self._code(code)),
            "reference": self._of_files("reference", cell.kind, cell.recipe, files=judges),
        }

    def of(self, cell: Cell) -> str:
        """Return the hash of a cell's basis."""
        return hashlib.sha256(json.dumps(self.ingredients(cell), sort_keys=True).encode()).hexdigest()

    def _code(self, patterns: Iterable[str]) -> list[Path]:
        found = [path for pattern in patterns for path in self._root.glob(pattern)]
        return [file for path in found for file in (path.rglob("*.py") if path.is_dir() else [path])]

    def _of_files(self, *name: str, files: Iterable[Path]) -> str:
        """Return the hash of files and their names, a missing one left out."""
        if name not in self._seen:
            digest = hashlib.sha256()
            for path in sorted(path for path in files if path.is_file()):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{path.name} {path.parent.name} {content}\n".encode())
            self._seen[name] = digest.hexdigest()
        return self._seen[name]
