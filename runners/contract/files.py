"""Files that are there whole or as they were: a kill at any moment leaves no half of one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO


def cache_directory() -> Path | None:
    """Return the folder for what can be made again: $VIGIL_CACHE_DIR, $XDG_CACHE_HOME/vigil, or ~/.cache/vigil.

    None where there is no home.
    """
    try:
        if chosen := os.environ.get("VIGIL_CACHE_DIR"):
            return Path(chosen).expanduser().resolve()
        # The XDG base directory specification: a path that is not absolute is to be ignored.
        shared = Path(os.environ.get("XDG_CACHE_HOME") or "")
        return (shared if shared.is_absolute() else Path.home() / ".cache") / "vigil"
    except RuntimeError:
        return None


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = False, shared: bool = False) -> Iterator[BinaryIO]:
    """Yield a file beside `path` that takes its place when the block ends; where it raises, `path` stays as it was.

    Args:
        durable: whether the content must survive a power cut, too; that waits for the disk.
        shared: whether several processes may replace it at once: what one leaves that is killed, the next does not replace.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial" if shared else f"{path.name}.partial")
    try:
        with open(partial, "wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def digest_of_values(values: dict[str, Any]) -> str:
    """Return the SHA-256 of JSON values, however they are laid out in a file."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def replace_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Replace a file by a text in UTF-8."""
    with replacing(path, durable=durable) as file:
        file.write(text.encode("utf-8"))
