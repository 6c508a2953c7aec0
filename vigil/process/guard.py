"""Run a command that ends when its parent does, however that ended: `python -I guard.py COMMAND...`, in a session of its own.

Its standard input is a pipe from the parent, which the kernel closes at the parent's end, also at one by force. A signal at the
parent's death would reach one process; a server starts others, and they would live on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

STOP_SECONDS = 5


def _end_group_with_parent() -> None:
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGTERM)
    time.sleep(STOP_SECONDS)
    os.killpg(0, signal.SIGKILL)


def main() -> int:
    """Return the command's exit code, or end with the whole group."""
    # The request to end is for the command; it comes to the whole group.
    signal.signal(signal.SIGTERM, lambda *_: None)
    command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_group_with_parent, daemon=True).start()
    return command.wait()


if __name__ == "__main__":
    sys.exit(main())
