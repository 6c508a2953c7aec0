"""The newest documents of one kind below the folder of runs, by the names of their directories."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from vigil.documents.document import Document, DocumentError

Kind = TypeVar("Kind", bound=Document)


def read_newest(kind: type[Kind], runs: Path, verb: str, *, most: int) -> tuple[list[Kind], list[str]]:
    """Return the newest documents of a kind, the newest first, and a remark for each that cannot be read.

    Args:
        verb: in the name of their directories, `20261125-131207-audit-jax-00f1`.
        most: of what one is of, `jax`: nights leave dozens of each.
    """
    pattern = re.compile(rf"(?P<when>\d{{8}}-\d{{6}})-{verb}-(?P<of>.+)-[0-9a-f]+")
    named = [(found["of"], found["when"], path) for path in runs.glob(f"*-{verb}-*/{kind.FILE_NAME}")
             if (found := pattern.fullmatch(path.parent.name))]  # fmt: skip
    documents: list[tuple[str, Kind]] = []
    remarks = []
    for _, group in itertools.groupby(sorted(named), key=lambda each: each[0]):
        newest: Sequence[tuple[str, str, Path]] = list(group)[: -most - 1 : -1]
        for _, when, path in newest:
            try:
                documents.append((when, kind.read(path.parent)))
            except OSError as error:
                remarks.append(f"{path}: {error.strerror}. The {verb} is left out.")
            except DocumentError as error:
                remarks.append(f"{error} The {verb} is left out.")
    return [document for _, document in sorted(documents, key=lambda each: each[0], reverse=True)], remarks
