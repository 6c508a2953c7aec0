"""How far a correct call may be from what is right, in floors: from clean audits of released frameworks, never typed in.

A row is one audit: how far the farthest call of each operator was. The limit of an operator's outputs, or gradients, in a
precision is the largest row times what the largest of many audits with other seeds was over the others. An operator that no row
names has the widest limit that any has; in a reduced precision, the farthest that a row may tell of. No limit is more than a
tenth of a value that is rounded once, however few bits the precision has. Calls of known findings are in no row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vigil.audit.exact import UNITS
from vigil.digests import digest_of, read_listed
from vigil.documents.verification import LimitFacts
from vigil.paths import reference_directory

NAME = "audit"  # of the folder with clean audits and known findings
# Of one operator's outputs or gradients, the farthest of an audit with another seed is up to so many times the farthest of those
# on record: measured by `python -m benchmarks.audits spread` (docs/audit.md).
MARGIN = 8.0
# A call that is right is a few floors off: no row says more of one that was nearer.
LEAST = 4.0
# Farther than this from what is right is no rounding of a good algorithm: it stands in the list of known findings or nowhere.
LARGEST = 64.0
# Of a value, by which no call may be off in any precision: 512 floors of bfloat16 are more than the value, and zeros would pass.
# A tenth is 44 floors of it, beyond all that whole audits showed of calls that are right (docs/audit.md).
LARGEST_SHARE = 0.1
# Of these there are rows of PyTorch alone, of all operators that are right there: without one, no margin comes to the largest.
REDUCED = ("bf16", "fp16")


@dataclass(frozen=True)
class AuditLimits:
    """Limits by operator and key, `outputs fp32` or `gradients bf16`. margin: by how much they are wider than the rows."""

    largest: Mapping[tuple[str, str], float]
    facts: LimitFacts
    margin: float = MARGIN

    def of(self, operator: str, quantity: str, precision: str) -> float:
        """Return how many floors a quantity, `outputs/0`, may be off."""
        known = self.largest.get((operator, key_of(quantity, precision)))
        margin = min(self.margin, 1.0) if known is None and precision in REDUCED else self.margin
        return min(margin * (LARGEST if known is None else max(known, LEAST)), most_of(precision))


def most_of(precision: str) -> float:
    """Return how many floors the largest share of a value is: those of a value that is rounded once.

    >>> round(most_of("bf16"), 1), round(most_of("fp16"), 1)
    (44.3, 354.7)
    """
    return LARGEST_SHARE * math.sqrt(3.0) / UNITS[precision]


def key_of(quantity: str, precision: str) -> str:
    """Return the key of limits, and of `worst` in audit.json.

    >>> key_of("gradients/x", "bf16")
    'gradients bf16'
    """
    return f"{quantity.partition('/')[0]} {precision}"


# What clean rows are measured with: nothing that is farther than any of them may be goes into one.
NO_LIMITS = AuditLimits({}, LimitFacts(clean_rows=0), margin=1.0)


def clean_folder() -> Path:
    """Return where clean audits are kept."""
    return reference_directory() / NAME / "verify"


def clean_audits(folder: Path | None = None) -> dict[str, list[dict[str, Any]]]:
    """Return the clean audits on record, by file: one row an audit, `operators` by name and key.

    Raises:
        DataError: A file was altered, cut off, lost, or put there by hand.
    """
    folder = folder or clean_folder()
    listed = read_listed(folder, "clean-*.jsonl") if folder.is_dir() else {}
    return {name: [json.loads(line) for line in content.decode("utf-8").splitlines()] for name, content in listed.items()}


def limits_of(rows: Iterable[Mapping[str, Any]]) -> AuditLimits:
    """Return the limits of clean audits."""
    largest: dict[tuple[str, str], float] = {}
    count = 0
    for row in rows:
        count += 1
        for operator, keys in row["operators"].items():
            for key, ratio in keys.items():
                largest[operator, key] = max(largest.get((operator, key), 0.0), float(ratio))
    return AuditLimits(largest, LimitFacts(clean_rows=count))


def audit_limits(folder: Path | None = None) -> AuditLimits:
    """Return the limits of the clean audits on record. Raises DataError as `clean_audits` does."""
    folder = folder or clean_folder()
    limits = limits_of(row for rows in clean_audits(folder).values() for row in rows)
    digests = {f"{NAME}/verify/{path.name}": digest_of(path.read_bytes()) for path in sorted(folder.glob("clean-*.jsonl"))}
    return replace(limits, facts=LimitFacts(clean_rows=limits.facts.clean_rows, sha256=digests or None))
