"""The folders that runs are written to: can they be, what is a new one called, and who is at work in one."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from vigil.errors import CannotRun, DirectoryError
from vigil.locks import Held, locked

_FREE_BYTES = 300 * 2**20


def require_writable(runs: Path) -> None:
    """Raise DirectoryError unless the folder of runs can be written and has room."""
    try:
        runs.mkdir(parents=True, exist_ok=True)
        probe = runs / f".writable-{os.getpid()}-{threading.get_ident()}"
        probe.write_bytes(b"vigil")
        probe.unlink()
        free = shutil.disk_usage(runs).free
    except OSError as error:
        raise DirectoryError(
            f"{runs}: cannot be written ({error.strerror}). Set VIGIL_RUNS_DIR to a directory that can."
        ) from error
    if free < _FREE_BYTES:
        raise DirectoryError(
            f"{runs}: {free / 2**20:.0f} MiB free, {_FREE_BYTES / 2**20:.0f} MiB are needed. "
            "Free some space, or set VIGIL_RUNS_DIR to another disk."
        )


def new_directory(runs: Path, name: str) -> Path:
    """Create a directory of this name with four random hexadecimal digits behind it. Raises DirectoryError.

    MLflow knows runs by these names: two machines may begin the same thing in the same second, and the upload of the one would
    replace that of the other.
    """
    for _ in range(1000):
        directory = runs / f"{name}-{secrets.token_hex(2)}"
        try:
            directory.mkdir(parents=True)
            return directory
        except FileExistsError:
            continue
    raise DirectoryError(f"{runs}: a thousand invocations named {name} exist already")


@contextlib.contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Hold a directory against other conductors. Raises CannotRun where one is at work in it."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(directory / "conductor.lock", wait=False))
        except Held as error:
            raise CannotRun(f"{directory}: another vigil is at work here. Wait for it, or end it first.") from error
        yield
