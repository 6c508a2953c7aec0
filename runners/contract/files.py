"""Files that are there whole or as they were: a kill at any moment leaves no half of one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Yield a file beside `path` that takes its place when the block ends; where it raises, `path` stays as it was.

    Args:
        durable: whether the content must survive a power cut, too; that waits for the disk.
    """
    partial = path.with_name(f"{path.name}.partial")
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


def replace_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Replace a file by a text in UTF-8."""
    with replacing(path, durable=durable) as file:
        file.write(text.encode("utf-8"))
