"""Data made from a seed, kept on disk: every process of a night would make the same images again, scenes for 12 s.

What is kept belongs to the source text that made it; an edit of any file here makes all anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.errors import DAMAGED_ARCHIVE
from runners.contract.files import cache_directory, replacing

_LARGEST = 256 * 2**20
_KEY = 16
_is_on = True


def keep_nothing() -> None:
    """Make all data anew in this process, and leave none to others: a planted fault may have changed how they are made."""
    global _is_on
    _is_on = False


def kept(name: str, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the arrays that `make` makes, read-only: those of the cache if they are there whole; else they are made, and kept.

    Above 256 MiB, and in a cache that cannot be written to, nothing is kept.
    """
    directory = cache_directory() if _is_on else None
    path = directory / "data" / f"{name}-{_sources()}.npz" if directory else None
    arrays = (_read(path) if path else None) or make()
    if path and not path.exists() and sum(array.nbytes for array in arrays.values()) <= _LARGEST:
        _write(path, arrays)
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def _read(path: Path) -> dict[str, np.ndarray] | None:
    """Return what was kept, or None if it is not there or damaged: an archive has a CRC-32 of every array."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except FileNotFoundError:
        return None
    except DAMAGED_ARCHIVE:
        with contextlib.suppress(OSError):
            path.unlink()
        return None


def _write(path: Path, arrays: dict[str, Any]) -> None:
    """Keep arrays in the place of those of the same name that an older source text made."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f"{path.stem[:-_KEY]}{'?' * _KEY}.npz*"):
            old.unlink(missing_ok=True)
        with replacing(path, shared=True) as file:
            np.savez(file, **arrays)


@functools.lru_cache(maxsize=1)
def _sources() -> str:
    """Return the first characters of the SHA-256 of all modules here."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:_KEY]
