"""Which line of a user's own code is being carried out."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig
from pathlib import Path
from types import FrameType

_OURS = Path(__file__).resolve().parents[3]
_LIBRARIES = (sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"])


def user_line() -> str:
    """Return file and line of the innermost function that is of no library; an empty text where all are."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _is_library(frame.f_code.co_filename):
            return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


@functools.cache
def _is_library(file: str) -> bool:
    folder = os.path.dirname(os.path.abspath(file))
    ours = (str(_OURS / "runners"), str(_OURS / "vigil"))
    return file.startswith("<") or folder.startswith((*_LIBRARIES, *site.getsitepackages(), *ours))
