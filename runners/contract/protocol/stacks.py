"""Where every thread of a process is, written down when the conductor asks for it by a signal.

The handler is faulthandler's, in C: it needs no Python lock, and so works in a process that is blocked in a framework's call.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from pathlib import Path
from typing import BinaryIO

CONDUCTOR_VARIABLE = "VIGIL_CONDUCTOR_PID"
SIGNAL = getattr(signal, "SIGUSR1", None)
_kept: list[BinaryIO] = []  # the handler writes to the descriptor, as long as the process lives


def stacks_path(directory: Path, *, rank: int, pid: int) -> Path:
    """Return where a process writes its stacks."""
    return directory / f"stacks-{rank}-{pid}.txt"


def be_ready(directory: Path, *, rank: int = 0) -> None:
    """Write the stacks of all threads on the signal; only under a conductor, which removes the file."""
    if CONDUCTOR_VARIABLE not in os.environ or SIGNAL is None or not hasattr(faulthandler, "register"):
        return
    file = open(stacks_path(directory, rank=rank, pid=os.getpid()), "wb", buffering=0)  # noqa: SIM115, as long as the process
    _kept.append(file)
    faulthandler.register(SIGNAL, file=file, all_threads=True)
