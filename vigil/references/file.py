"""Files of one JSON object a line: appended to by one process at a time, and replaced whole."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vigil.errors import DirectoryError


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the folder of references alone; whoever comes second waits. It must be held from reading to writing.

    The folder itself is locked, so that no lock file lies in a folder that git shows. The lock ends with its process.

    Raises:
        DirectoryError: The folder cannot be made or locked.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise DirectoryError(f"{directory}: cannot be opened ({error.strerror}). References are kept there.") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            raise DirectoryError(
                f"{directory}: cannot be locked ({error.strerror}); some network file systems lock no folders. Use a checkout "
                "on a local disk."
            ) from error
        yield
    finally:
        os.close(handle)


def append_lines(path: Path, objects: Sequence[Mapping[str, Any]]) -> None:
    """Append objects to a file, and keep the lines that are there byte for byte. A kill leaves it as it was, or complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_bytes() if path.exists() else b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    added = "".join(json.dumps(each, allow_nan=False, ensure_ascii=False) + "\n" for each in objects)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(before + added.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes it private; the file belongs to the repository
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
