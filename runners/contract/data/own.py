"""Data that belong to Vigil: files beside this module, read only if they are the ones meant."""

from __future__ import annotations

import hashlib
from pathlib import Path

from runners.contract.errors import UnusableData


def read(path: Path, *, sha256: str) -> bytes:
    """Return what a file holds. Raises UnusableData unless it is the one meant."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnusableData(f"{path}: cannot be read ({error.strerror}). It belongs to Vigil: install it again.") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise UnusableData(f"{path}: its SHA-256 is {found}, expected is {sha256}. It belongs to Vigil: install it again.")
    return content
