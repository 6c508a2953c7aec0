"""What commands of this user have named: that alone may a directory of runs from somebody else run or install unasked.

It is remembered by its checksum in the cache directory, where no directory of runs reaches, one empty file each.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from vigil.errors import UsageError, VigilError
from vigil.paths import cache_directory

FAULTS, RELEASES, FILES = "faults", "releases", "files"


def remember(kind: str, sha256: str) -> None:
    """Note that a command of this user named what has this checksum. Where there is no cache, it is asked about later."""
    with contextlib.suppress(OSError, VigilError):
        path = _path(kind, sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def is_own(kind: str, sha256: str) -> bool:
    """Has a command of this user named what has this checksum?"""
    with contextlib.suppress(OSError, ValueError, VigilError):
        return _path(kind, sha256).is_file()
    return False


def require(what: str, *, question: str, otherwise: str) -> None:
    """Ask on a terminal, and refuse elsewhere.

    Args:
        otherwise: how it is allowed without being asked.

    Raises:
        UsageError: The answer is not yes, or nobody is there to give one.
    """
    if sys.stdin.isatty() and sys.stderr.isatty():
        print(f"vigil: {what}. {question} [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    raise UsageError(f"{what}. {otherwise}")


def _path(kind: str, sha256: str) -> Path:
    if not sha256.isalnum():
        raise ValueError(f"{sha256!r} is no checksum")
    return cache_directory() / kind / sha256
