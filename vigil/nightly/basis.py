"""What a verdict of a night stands on. A cell is covered while nothing of it has changed.

It errs towards looking again: what may move a number is in it, and a file too many costs only time. The machine's processor is
not in it: hosted machines are handed out at random, and no cell would ever be covered there.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from vigil.audit.limits import NAME as AUDITS
from vigil.documents.night import AUDIT, REPRODUCE, STEP
from vigil.nightly.cells import NightCell
from vigil.paths import project_root, reference_directory
from vigil.process.environment import describe_machine
from vigil.steps.limits import NAME as LIMITS
from vigil.verify.golden import path_of

# Under the project's root: what runs in a framework's process, and what verifies it.
_CODE = ("runners/contract", "runners/{framework}", "vigil/verify")
# What says what a runner is asked for, and what judges a number, with all that these import of Vigil: a list of them would be out
# of date soon.
_ASKED = ("vigil/process/build_spec.py",)
_JUDGEMENT = ("vigil/references/judge.py", "vigil/data/coco/measured.py")


class Bases:
    """The bases of many cells: each file is read once."""

    def __init__(
        self,
        keys: Mapping[str, str | None],
        hashes: Mapping[str, str],
        *,
        root: Path | None = None,
        reference: Path | None = None,
        own: Mapping[str, Path] | None = None,
        steps: Mapping[str, Path] | None = None,
    ) -> None:
        """keys: framework -> key of its environment. hashes: recipe -> hash of its resolved profile.

        own: recipe -> the folder of its references, where that is not Vigil's. steps: users' own, by the names of their files.
        """
        self._keys, self._hashes = keys, hashes
        self._root, self._reference = root or project_root(), reference or reference_directory()
        self._own, self._steps = own or {}, steps or {}
        self._variables = {name: value for name, value in describe_machine().items() if name.startswith("env.")}
        self._seen: dict[tuple[str, ...], str] = {}

    def ingredients(self, cell: NightCell) -> dict[str, object]:
        """Return what the basis of a cell is made of."""
        if cell.kind == STEP:
            return {
                "environment": self._keys[cell.framework],
                "variables": self._variables,
                "file": self._of_files("file", cell.recipe, files=lambda: own_code(self._steps[cell.recipe])),
                "code": self._of_files("code", cell.kind, cell.framework, files=lambda: self._code(cell)),
                "limits": self._of_files("limits", files=lambda: self._reference.glob(f"{LIMITS}/*")),
            }
        if cell.kind == AUDIT:
            return {
                "environment": self._keys[cell.framework],
                "variables": self._variables,
                "code": self._of_files("code", cell.kind, cell.framework, files=lambda: self._code(cell)),
                "limits": self._of_files("limits", AUDITS, files=lambda: self._reference.glob(f"{AUDITS}/**/*")),
            }
        return {
            "environment": self._keys[cell.framework],
            "variables": self._variables,
            "recipe": self._hashes[cell.recipe],
            "golden": self._of_files("golden", cell.recipe, cell.profile, files=lambda: [self._tape(cell)]),
            "code": self._of_files("code", cell.kind, cell.framework, files=lambda: self._code(cell)),
            "reference": self._of_files("reference", cell.kind, cell.recipe, files=lambda: self._judges(cell)),
        }

    def of(self, cell: NightCell) -> str:
        """Return the hash of a cell's basis."""
        return hashlib.sha256(json.dumps(self.ingredients(cell), sort_keys=True).encode()).hexdigest()

    def _tape(self, cell: NightCell) -> Path:
        return path_of(cell.recipe, cell.profile, self._own.get(cell.recipe, self._reference))

    def _code(self, cell: NightCell) -> list[Path]:
        folders = [self._root / name.format(framework=cell.framework) for name in _CODE]
        files = [path for folder in folders for path in folder.rglob("*.py")]
        if cell.kind == AUDIT:
            own = [*(self._root / "vigil/audit").rglob("*.py"), *(self._root / "runners/keras").rglob("*.py")]
            return files + with_imports(own, root=self._root)
        if cell.kind == STEP:
            return files + with_imports([self._root / "vigil/steps/verify.py"], root=self._root)
        names = (*_ASKED, *_JUDGEMENT) if cell.kind == REPRODUCE else _ASKED
        return files + with_imports([self._root / name for name in names], root=self._root)

    def _judges(self, cell: NightCell) -> list[Path]:
        folder = self._own.get(cell.recipe, self._reference) / cell.recipe
        files = [*folder.glob("verify/*.jsonl"), self._reference / "known_findings.yaml"]
        return files + [path for path in folder.glob("*") if path.is_file()] if cell.kind == REPRODUCE else files

    def _of_files(self, *name: str, files: Callable[[], Iterable[Path]]) -> str:
        """Return the hash of files and their names, a missing one left out."""
        if name not in self._seen:
            digest = hashlib.sha256()
            for path in sorted(path for path in files() if path.is_file()):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{path.name} {path.parent.name} {content}\n".encode())
            self._seen[name] = digest.hexdigest()
        return self._seen[name]


def own_code(file: Path) -> list[Path]:
    """Return a user's file with the modules and packages beside it that it imports, and that those import."""
    reached: set[Path] = set()
    waiting = [file]
    while waiting:
        path = waiting.pop()
        if path in reached or not path.is_file():
            continue
        reached.add(path)
        try:
            nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        except (SyntaxError, ValueError):  # its bytes count all the same
            continue
        names = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module.split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
        for name in names:
            waiting += [file.parent / f"{name}.py", *(file.parent / name).rglob("*.py")]
    return sorted(reached)


def with_imports(files: Iterable[Path], *, root: Path) -> list[Path]:
    """Return files with every file of Vigil that they import, and that those import, at their top or inside functions."""
    reached: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path in reached or not path.is_file():
            continue
        reached.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "vigil":
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name.split(".")[0] == "vigil"]
            else:
                continue
            for name in names:
                place = root.joinpath(*name.split("."))
                waiting += [place.with_suffix(".py"), place / "__init__.py"]
    return sorted(reached)
