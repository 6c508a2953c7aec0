"""events.jsonl: one JSON object a line, flushed; written by a runner, followed by the conductor.

A killed process may leave half a line at the end: readers pass over it, a resumed writer begins on a line of its own.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE_NAME = "events.jsonl"
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
        half_line = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115, closed by close()
        if half_line:
            self._file.write("\n")
        self._lock = threading.Lock()
        self._started = time.time() - time.monotonic()  # a clock that is set under way moves no event
        self._progress = 0
        self.phase = PHASES[0]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(heartbeat_seconds,), name="heartbeat", daemon=True)
        self._thread.start()

    def emit(self, kind: str, **fields: Any) -> None:
        """Append one event. Its time and the current phase are added."""
        event = {"kind": kind, "time": round(self._started + time.monotonic(), 3), "phase": self.phase, **_encode(fields)}
        line = json.dumps(event, allow_nan=False) + "\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()

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
        os.fsync(self._file.fileno())
        self._file.close()

    def _beat(self, seconds: float) -> None:
        while not self._stop.wait(seconds):
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
        return list(_parse(block[:end].splitlines()))


def read_events(run_directory: Path) -> list[dict]:
    """Return every complete event of a run directory; an empty list if there is no file."""
    return EventReader(run_directory).new()


def _parse(lines: list[bytes]) -> Iterator[dict]:
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the half line of a killed writer
        if isinstance(event, dict) and "kind" in event:
            yield event
