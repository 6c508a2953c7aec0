"""Who is told what happens while an invocation is carried out."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vigil.process.execute import HEARTBEAT_TIMEOUT_SECONDS, PROGRESS_TIMEOUT_SECONDS


def _ignore(*facts: Any) -> None:
    """Nobody is told."""


@dataclasses.dataclass(frozen=True)
class Watch:
    """Who is told what happens, and how long silence may last.

    on_verify: told the directory of the first rung, returns what is told its events. on_verified: told its document.
    on_recorded: told the directory of a run whose record is written, before it is tracked.
    on_build: told in words that an environment is built or waited for.
    """

    on_start: Callable[[dict, int, int], None]
    on_event: Callable[[dict], None]
    on_end: Callable[[dict], None]
    on_data: Callable[[int, int | None], None]
    heartbeat_timeout: float = HEARTBEAT_TIMEOUT_SECONDS
    progress_timeout: float = PROGRESS_TIMEOUT_SECONDS
    stop: threading.Event | None = None
    on_verify: Callable[[Path], Callable[[dict], None]] = lambda directory: _ignore
    on_verified: Callable[[dict[str, Any], Path], None] = _ignore
    on_recorded: Callable[[Path], None] = _ignore
    on_build: Callable[[str], None] = _ignore
