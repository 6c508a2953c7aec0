"""What the processes of a runner are doing when it hangs: each is asked for its stacks, and its processor time is watched.

A rank that waits for others is told from one that has not come, and one that computes from one that is idle.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from runners.contract.protocol.stacks import SIGNAL, stacks_path
from vigil.documents.failure import HungProcess
from vigil.redaction import redact

WATCHED_SECONDS = 2.0
_ANSWER_SECONDS = 3.0
_MOST_LINES, _MOST_PROCESSES, _MOST_LETTERS = 120, 16, 200
# A heartbeat and idle threads take less of a core than this.
_BUSY = 0.1
_FILE = re.compile(r"stacks-(\d+)-(\d+)\.txt")
_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')
# The thread that works is the one that the runner's frame has called.
_OF_MAIN = re.compile(r'runners/(?:contract/protocol/launch\.py", line \d+ in (?:_reported|conducted)|torch/peer\.py", )')
# What is called of them waits for the others; the backward pass waits for their gradients.
_COLLECTIVES = ("torch/distributed/distributed_c10d.py",)
_BACKWARD = {"_engine_run_backward", "backward"}


@dataclasses.dataclass(frozen=True)
class Frame:
    """One frame of a stack."""

    file: str
    line: int
    function: str

    @property
    def text(self) -> str:
        return f"{self.function} ({self.file.rpartition('/')[2]}:{self.line})"


def hung_processes(run_directory: Path, *, group: int) -> tuple[HungProcess, ...]:
    """Ask every process of a run's runner for its stacks, and watch for two seconds whether it computes.

    One that does not answer is stopped, or in a call of the kernel that cannot be left.

    Args:
        group: the number of the runner's process group; a process of another has only the number of one that is gone.
    """
    asked = [(rank, pid, _process(pid, group=group)) for rank, pid in _ready(run_directory)][:_MOST_PROCESSES]
    if not asked:
        return ()
    before = {pid: _cpu_seconds(process) for _, pid, process in asked}
    started = time.monotonic()
    time.sleep(WATCHED_SECONDS)
    seconds = time.monotonic() - started
    used = {pid: _difference(before[pid], _cpu_seconds(process)) for _, pid, process in asked}
    for _, pid, process in asked:
        if process is not None and SIGNAL is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, SIGNAL)
    texts = _settled({pid: stacks_path(run_directory, rank=rank, pid=pid) for rank, pid, _ in asked})
    return tuple(_told_of(rank, pid, texts[pid], cpu_seconds=used[pid], watched_seconds=seconds) for rank, pid, _ in asked)


def remove_stacks(run_directory: Path) -> None:
    """Remove the files that processes write their stacks to."""
    for path in run_directory.glob("stacks-*.txt"):
        if _FILE.fullmatch(path.name):
            path.unlink(missing_ok=True)


def told(processes: Sequence[HungProcess]) -> list[str]:
    """Return what hung processes were doing, a clause each: who waits, who has not come, and who computes."""
    if len(processes) == 1:
        return [_clause(processes[0].replace(collective=None), who="it", others_wait=False)]
    waits = any(each.collective for each in processes)
    return [_clause(each, who=f"rank {each.rank}", others_wait=waits) for each in processes]


def _clause(process: HungProcess, *, who: str, others_wait: bool) -> str:
    if process.where is None:
        gone = process.cpu_seconds is None
        return f"{who} is gone" if gone else f"{who} gave no stack: it is stopped, or in a call of the kernel"
    is_busy = process.cpu_seconds is not None and process.cpu_seconds > _BUSY * process.watched_seconds
    doing = (
        f"it computes, {process.cpu_seconds:.1f} s of processor time in {process.watched_seconds:.0f} s: slow, or a loop that "
        "does not end"
        if is_busy
        else "idle"
    )
    if process.collective and not is_busy:
        return f"{who} waits in {process.collective}"
    late = "has not come: it is" if others_wait and not process.collective else "is"
    return f"{who} {late} in {process.where}, {doing}"


def _ready(run_directory: Path) -> Iterator[tuple[int, int]]:
    """Yield rank and number of each process that has said where it writes its stacks."""
    found = (_FILE.fullmatch(path.name) for path in run_directory.glob("stacks-*.txt"))
    yield from sorted((int(match[1]), int(match[2])) for match in found if match)


def _process(pid: int, *, group: int) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        return process if process.status() != psutil.STATUS_ZOMBIE and os.getpgid(pid) == group else None
    except (psutil.Error, ProcessLookupError, PermissionError):
        return None


def _cpu_seconds(process: psutil.Process | None) -> float | None:
    try:
        times = process.cpu_times() if process else None
    except psutil.Error:
        return None
    return times.user + times.system if times else None


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else round(after - before, 2)


def _settled(paths: Mapping[int, Path]) -> dict[int, str]:
    """Return what is in each file, once all have something and none grows; what is there after some seconds else."""
    deadline = time.monotonic() + _ANSWER_SECONDS
    before: dict[int, str] = {}
    while True:
        time.sleep(0.2)
        now = {pid: _text(path) for pid, path in paths.items()}
        if (all(now.values()) and now == before) or time.monotonic() > deadline:
            return now
        before = now


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _told_of(rank: int, pid: int, text: str, *, cpu_seconds: float | None, watched_seconds: float) -> HungProcess:
    lines = text.splitlines()
    frames = main_frames(lines)
    kept = lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], f"... and {len(lines) - _MOST_LINES} more lines"]
    return HungProcess(
        rank=rank,
        pid=pid,
        collective=collective_of(frames),
        where=redact(frames[0].text) if frames else None,
        cpu_seconds=cpu_seconds,
        watched_seconds=round(watched_seconds, 2),
        stacks=tuple(redact(line)[:_MOST_LETTERS] for line in kept),
    )


def main_frames(lines: Sequence[str]) -> list[Frame]:
    """Return the frames of the thread that does the runner's work, the innermost first; of the current one where none does."""
    threads: list[tuple[bool, list[str]]] = []
    for line in lines:
        if not line.startswith("  "):
            threads.append((line.startswith("Current thread"), []))
        elif threads:
            threads[-1][1].append(line)
    own = [frames for _, frames in threads if any(_OF_MAIN.search(frame) for frame in frames)]
    current = [frames for is_current, frames in threads if is_current]
    matches = (_FRAME.match(line) for line in (own or current or [[]])[0])
    return [Frame(match[1], int(match[2]), match[3]) for match in matches if match]


def collective_of(frames: Sequence[Frame]) -> str | None:
    """Return in which sum or barrier over devices a thread is, as its frames say, or None.

    A sum of gradients is made by the backward pass in C++, whose frame is then the innermost.
    """
    called = [frame.function for frame in frames if frame.file.endswith(_COLLECTIVES) and frame.function != "wrapper"]
    if called:
        return called[-1]  # the one that was called, and not what it calls
    if frames and frames[0].function in _BACKWARD and "/torch/autograd/" in frames[0].file:
        return "the backward pass, or its sum of gradients over devices"
    return None
