"""The pictures that are drawn of a run when its record is written: what it trained on, and what a detector found."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

from reports.masks import draw_found
from reports.views_picture import draw_views

_DRAWN: dict[str, Callable[[Path], Path | None]] = {"views.png": draw_views, "masks.png": draw_found}
# Runs side by side end in threads of one process, and Matplotlib is not made for several at a time.
_ONE_AT_A_TIME = threading.Lock()


def draw_pictures(directory: Path) -> list[Path]:
    """Draw what a run's directory has pictures of, beside it, and return their paths.

    The run has its record and its verdict by then: a picture that cannot be drawn is said on standard error, and no more.
    """
    paths = []
    for name, draw in _DRAWN.items():
        try:
            with _ONE_AT_A_TIME:
                path = draw(directory)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            print(f"{directory / name}: not drawn ({reason}). The run itself is whole.", file=sys.stderr, flush=True)
        else:
            paths += [] if path is None else [path]
    return paths
