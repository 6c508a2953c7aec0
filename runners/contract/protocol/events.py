"""events.jsonl: one JSON object a line, flushed; written by a runner, followed by the conductor.

A killed process may leave half a line at the end: readers pass over it, a resumed writer begins on a line of its own.
Each line ends with the SHA-256 of the whole file up to there, so that no line can be altered, lost or put in between unseen. Of
lines that are cut off at the end nothing in the file can tell; a checkpoint does, and the record of a run that has ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

FILE_NAME = "events.jsonl"
_DIGEST = "sha256"
_ENDING = b', "sha256": "%s"}\n'
_LISTED = re.compile(rb', "sha256": "([0-9a-f]{64})"}\Z')
PHASES = ("import", "set_up", "data", "build", "train", "evaluate", "checkpoint", "verify", "finish")


def encode_float(value: float) -> float | str:
    """Return the value, or `nan`, `inf`, `-inf` as text: JSON has no such numbers."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def _encode(value: Any) -> Any:
    if isinstance(value, float):
        return encode_float(value)
    if isinstance(value, dict):
        return {key: _encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(item) for item in value]
    return value


class EventWriter:
    """Appends events, and a heartbeat every few seconds that tells how far the work is."""

    def __init__(self, run_directory: Path, *, heartbeat_seconds: float) -> None:
        path = run_directory / FILE_NAME
        earlier = path.read_bytes() if path.exists() else b""
        self._digest = hashlib.sha256(earlier)
        self._file = open(path, "ab")  # noqa: SIM115, closed by close()
        if earlier and not earlier.endswith(b"\n"):
            self._append(b"\n")
        self._lock = threading.Lock()
        self._started = time.time() - time.monotonic()  # a clock that is set under way moves no event
        self._progress = 0
        self.phase = PHASES[0]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(heartbeat_seconds,), name="heartbeat", daemon=True)
        self._thread.start()

    def emit(self, kind: str, **fields: Any) -> None:
        """Append one event. Its time and the current phase are added."""
        event = {"kind": kind, "time": round(self._started + time.monotonic(), 6), "phase": self.phase, **_encode(fields)}
        line = json.dumps(event, allow_nan=False)[:-1].encode()
        with self._lock:
            digest = self._digest.copy()
            digest.update(line)
            self._append(line + _ENDING % digest.hexdigest().encode())
            self._file.flush()

    def settle(self) -> None:
        """Wait until all that was said survives a power cut, as a checkpoint does that rests on it."""
        os.fsync(self._file.fileno())

    def enter(self, phase: str) -> None:
        """Change the phase. Counts as progress."""
        self.phase = phase
        self.advance()
        self.emit("phase")

    def advance(self) -> None:
        """Note that the work has moved: what a heartbeat reports."""
        self._progress += 1

    def close(self) -> None:
        self._stop.set()
        self._thread.join(timeout=1.0)
        self.settle()
        self._file.close()

    def _append(self, content: bytes) -> None:
        self._file.write(content)
        self._digest.update(content)

    def _beat(self, seconds: float) -> None:
        while not self._stop.wait(seconds):
            # A disk that is full for a while ends the run only where the work itself has something to write.
            with contextlib.suppress(OSError):
                self.emit("heartbeat", progress=self._progress)


class EventReader:
    """Follows an events file as it grows; each call of `new()` returns the complete lines since the last."""

    def __init__(self, run_directory: Path) -> None:
        self._path = run_directory / FILE_NAME
        self._offset = 0

    def new(self) -> list[dict]:
        if not self._path.exists():
            return []
        with open(self._path, "rb") as file:
            file.seek(self._offset)
            block = file.read()
        end = block.rfind(b"\n") + 1
        self._offset += end
        return [event for line in block[:end].split(b"\n") if (event := _parse(line))]


def read_events(run_directory: Path) -> list[dict]:
    """Return every complete event of a run directory; an empty list if there is no file.

    Raises:
        ValueError: The file is not as it was written: at which line.
    """
    path = run_directory / FILE_NAME
    content = path.read_bytes() if path.exists() else b""
    lines = content.split(b"\n")[:-1]
    digest, has_digests, events = hashlib.sha256(), False, []
    for number, line in enumerate(lines, start=1):
        event, listed = _parse(line), _LISTED.search(line)
        if listed is not None:
            digest.update(line[: listed.start()])
            is_whole, has_digests = listed[1].decode() == digest.hexdigest(), True
            line = line[listed.start() :]
        else:
            # It is of an earlier writer, before all that have a digest; or the half of a killed one's, and others follow.
            is_whole = not has_digests or (event is None and number < len(lines))
        if not is_whole:
            raise ValueError(f"line {number}: the file up to there is not what was written")
        digest.update(line + b"\n")
        events += [event] if event else []
    return events


def _parse(line: bytes) -> dict | None:
    """Return the event of a line without its digest; None for the half line of a killed writer."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    if not isinstance(event, dict) or "kind" not in event:
        return None
    event.pop(_DIGEST, None)
    return event
