"""Which public names of a framework an audit reaches, which are gaps with a reason, and which nobody has looked at.

A gap is a line of `runners/<framework>/gaps.txt`: a pattern of full names, and why. One that matches nothing that is public, or
an audited name, is an error.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterator, Mapping, Sequence

from runners.contract.audit.ways import named_by
from vigil.documents.audit import AuditCoverage
from vigil.paths import project_root

_KERAS = "keras"


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


def coverage_of(
    framework: str,
    public: Mapping[str, Mapping[str, str]],
    called: Mapping[str, Sequence[str]],
    *,
    answered: Collection[str] | None = None,
) -> Iterator[AuditCoverage]:
    """Yield what an audit reaches of each namespace. A name is audited if another name of the same object is.

    Args:
        public: the public names of each, in full, as the release has them, and the first name of the same object.
        called: the names that each operator is called by.
        answered: those of them that were held to something, in an audit; None: no call was made.
    """
    own = {named_by(name) for names in called.values() for name in names if answered is None or name in answered}
    gaps = list(gaps_of(framework))
    firsts = {first for names in public.values() for name, first in names.items() if name in own}
    for namespace, names in public.items():
        left = [name for name, first in names.items() if first not in firsts]
        given = [name for name in left if any(fnmatch.fnmatchcase(name, pattern) for pattern in gaps)]
        yield AuditCoverage(
            namespace=namespace,
            names=len(names),
            audited=len(names) - len(left),
            gaps=len(given),
            unseen=tuple(name for name in left if name not in set(given)),
        )
