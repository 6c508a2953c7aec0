"""Who hears what happens while invocations are carried out, and how long a runner may be silent."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runners.contract.protocol.spec import RunSpec
from vigil.documents.record import Record
from vigil.documents.verification import Verification
from vigil.process.execute import HEARTBEAT_TIMEOUT_SECONDS, PROGRESS_TIMEOUT_SECONDS


def ignore(*facts: Any) -> None:
    """Hear something, and do nothing."""


@dataclasses.dataclass(frozen=True)
class Watch:
    """What is called when something happens; unless it is given, nothing is.

    on_start: with the spec of a run, its place among the invocation's runs, and how many there are.
    on_event, on_end: with each event of a run, and with its record.
    on_recorded: with the directory of a run whose record is written, before it is tracked.
    on_verify: with the directory of a first rung; returns what is called with its events. on_verified: with its document.
    on_unverified: with the reason why a first rung can find nothing out, and its directory.
    on_build: with words, when an environment is built or waited for.
    stop: ends what runs, when it is set.
    keep_tensors: what first rungs asked and were answered stays, although all of it was right, for whoever holds it side by side.
    """

    on_start: Callable[[RunSpec, int, int], None] = ignore
    on_event: Callable[[dict], None] = ignore
    on_end: Callable[[Record], None] = ignore
    on_recorded: Callable[[Path], Any] = ignore
    on_verify: Callable[[Path], Callable[[dict], None]] = lambda directory: ignore
    on_verified: Callable[[Verification, Path], None] = ignore
    on_unverified: Callable[[str, Path], None] = ignore
    on_build: Callable[[str], None] = ignore
    heartbeat_timeout: float = HEARTBEAT_TIMEOUT_SECONDS
    progress_timeout: float = PROGRESS_TIMEOUT_SECONDS
    stop: threading.Event | None = None
    keep_tensors: bool = False
