"""Which public names of a framework an audit reaches, which are gaps with a reason, and which nobody has looked at.

A gap is a line of `runners/<framework>/gaps.txt`: a pattern of full names, and why. One that matches nothing that is public, or
an audited name, is an error.
"""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterator, Mapping
from pathlib import Path

from runners.contract.audit.ways import named_by
from vigil.documents.audit import AuditCoverage
from vigil.paths import project_root

_KERAS = "keras"


def audited_names(framework: str) -> set[str]:
    """Return the public names that a framework's calls have, Keras's among them, as their files say."""
    runners = project_root() / "runners"
    files = [*(runners / framework / "calls").glob("*.py"), *(runners / _KERAS).glob("*.py")]
    return {named_by(name) for path in files for names in calls_in(path).values() for name in names}


def calls_in(path: Path) -> dict[str, list[str]]:
    """Return the public names of each operator in a file's `CALLS`, which is not imported: it may need a framework."""
    found: dict[str, list[str]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not isinstance(node.value, ast.Dict):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if ast.unparse(target) == "CALLS":
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Dict):
                    names = [name.value for name in value.keys if isinstance(name, ast.Constant)]
                    found[str(key.value)] = [str(name) for name in names]
    return found


def gaps_of(framework: str) -> dict[str, str]:
    """Return the gaps of a framework and of Keras: pattern of full names -> reason."""
    found = {}
    for path in (project_root() / "runners" / framework / "gaps.txt", project_root() / "runners" / _KERAS / "gaps.txt"):
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                if line and not line.startswith("#"):
                    pattern, _, reason = line.partition(": ")
                    found[pattern] = reason
    return found


def coverage_of(framework: str, names: Mapping[str, Mapping[str, str]]) -> Iterator[AuditCoverage]:
    """Yield what an audit reaches of each namespace. A name is audited if another name of the same object is.

    Args:
        names: the public names of each, in full, as the release has them, and the first name of the same object.
    """
    own, gaps = audited_names(framework), list(gaps_of(framework))
    firsts = {first for public in names.values() for name, first in public.items() if name in own}
    for namespace, public in names.items():
        left = [name for name, first in public.items() if first not in firsts]
        given = [name for name in left if any(fnmatch.fnmatchcase(name, pattern) for pattern in gaps)]
        yield AuditCoverage(
            namespace=namespace,
            names=len(public),
            audited=len(public) - len(left),
            gaps=len(given),
            unseen=tuple(name for name in left if name not in set(given)),
        )
