"""Locks between processes: held on a file or a folder, and let go by the kernel when their process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path


class Held(Exception):
    """Another process holds the lock."""


@contextlib.contextmanager
def locked(path: Path, *, shared: bool = False, wait: bool = True, tell: Callable[[], None] | None = None) -> Iterator[int]:
    """Hold a lock on a file, which is made where there is none, or on a folder that is there; yield its descriptor.

    Args:
        shared: with others that share it, against those that do not.
        wait: for whoever holds it; otherwise Held is raised at once.
        tell: called once, before waiting.

    Raises:
        Held: Another process holds it, and nobody waits.
        OSError: It cannot be opened or locked: some network file systems lock no folders.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, flags, 0o644)
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise Held(str(path)) from None
            if tell is not None:
                tell()
            fcntl.flock(descriptor, kind)
        yield descriptor
    finally:
        os.close(descriptor)
