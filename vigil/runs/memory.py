"""The memory that a run will take, told by two smaller batches before it is made, and the memory that there is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from vigil.documents.context import Context
from vigil.documents.failure import Failure
from vigil.frameworks import TABLE

# A rehearsal lacks what grows: losses, and what an allocator keeps. 24 runs of resnet_cifar in PyTorch took 0.87 to 1.16 times as
# much as one (docs/preflight.md).
MARGIN = 1.25


# What is smaller than this glibc may keep when it is freed; the rest it gives back at once. DEFAULT_MMAP_THRESHOLD_MAX in
# https://sourceware.org/git/?p=glibc.git;a=blob;f=malloc/malloc.c;hb=glibc-2.36
_KEPT_BELOW = 32 * 2**20
_TUNABLES = "GLIBC_TUNABLES"
_MOST_TRIES = 3
# What compiled programs tell of themselves leaves out what their operators take for a while, and what an allocator keeps between
# two of them. Four recipes took 1.06 to 1.80 times as much beyond 15 MiB, which the first call of any program takes: fp32, their
# quick batch and four times it (docs/preflight.md).
_OF_PROGRAMS, _FIRST_CALL = 1.5, 15 * 2**20


class MemoryLine(NamedTuple):
    """Peaks with two batches, in bytes: memory grows with the batch on a line. rows: that a batch is a multiple of."""

    small: tuple[int, int]
    large: tuple[int, int]
    rows: int = 1

    @property
    def slope(self) -> float:
        """Return the bytes that a row more takes. Less than none, which allocators can make it look like, is none."""
        return max(0.0, (self.large[1] - self.small[1]) / (self.large[0] - self.small[0]))

    def at(self, batch: int) -> float:
        """Return the peak with a batch, in bytes.

        >>> MemoryLine((10, 1000), (20, 2000)).at(40)
        4000.0
        """
        return self.large[1] + self.slope * (batch - self.large[0])

    def most(self, size: float) -> int | None:
        """Return the largest batch with a peak of so many bytes; None where memory does not grow with the batch.

        >>> MemoryLine((10, 1000), (20, 2000), rows=8).most(3999)
        32
        """
        if self.slope <= 0.0:
            return None
        return int((size - self.large[1]) / self.slope + self.large[0]) // self.rows * self.rows


def parts_of(batch: int, *, least: int, rows: int = 1) -> Iterator[int]:
    """Yield batches to tell a larger one by, each a multiple of `rows`: a half, a quarter and so on, and at last the least.

    >>> list(parts_of(32, least=3, rows=3))
    [15, 6, 3]
    """
    size = batch // 2 // rows * rows
    while size > least:
        yield size
        size = size // 2 // rows * rows
    yield least


def line_through(parts: Sequence[int], peak_of: Callable[[int], int | None], *, rows: int = 1) -> MemoryLine | None:
    """Return the line through the peaks of the largest part that comes to its end, and of the least; None where there is none.

    What scatters in the two peaks comes out enlarged in what they tell: by 2.2 for the whole batch, with a half and one row;
    by 9 with a quarter and an eighth.

    Args:
        peak_of: rehearses a part; returns its peak in bytes, None where it did not come to its end.
    """
    *larger, least = parts
    for size in larger:
        if (large := peak_of(size)) is not None:
            small = peak_of(least)
            return MemoryLine((least, small), (size, large), rows) if small is not None else None
    return None


def told_line(
    context: Context,
    batch: int,
    parts: Sequence[int],
    *,
    compiled: Callable[[int], int | None],
    taken: Callable[[int], int | None],
    rows: int = 1,
) -> MemoryLine | None:
    """Return the line of a context: by what programs say of the whole batch and a part, or by rehearsals of two parts.

    Args:
        compiled: returns the peak with a batch by what its compiled programs say; None where they do not.
        taken: rehearses it, and returns the peak; None where it did not come to its end.
    """
    line = None
    if context.mode in TABLE[context.framework].sized and parts[0] < batch:
        line = line_through([batch, parts[0]], compiled, rows=rows)
    return line or line_through(parts, taken, rows=rows)


def before_it_runs(compiled: int, programs: int) -> int:
    """Return the peak of a run by that of a process which has compiled its programs, and by what these say that they take."""
    return compiled + _FIRST_CALL + int(_OF_PROGRAMS * programs)


def allocator_of(part: int, batch: int) -> dict[str, str]:
    """Return variables under which glibc keeps, of a part of a batch, what it would keep of the whole.

    Half a batch has tensors of half the size. Where these are kept, and those of the whole are not, it takes more than the whole.
    """
    if _TUNABLES in os.environ:  # the user's own, which runs have too
        return {}
    size = max(_KEPT_BELOW * part // batch, 2**12)
    return {_TUNABLES: f"glibc.malloc.mmap_threshold={size}:glibc.malloc.trim_threshold={2 * size}"}


def fitting(line: MemoryLine | None, batch: int, has: int | None, peak_of: Callable[[int], int | None]) -> str:
    """Return, in words, a batch that fits into the memory that there is, the largest by the line; nothing where there is none.

    Args:
        peak_of: rehearses a batch, as it would be in a run; returns its peak in bytes, None where it did not come to its end.
    """
    if line is None or has is None:
        return ""
    for _ in range(_MOST_TRIES):
        most = line.most(has / MARGIN)
        if most is None or not line.small[0] < most < batch:
            break
        if (peak := peak_of(most)) is None:
            break
        if MARGIN * peak <= has:
            return f"; a batch of {most} would fit, of which a rehearsal took {mib(peak)}"
        line, batch = line._replace(large=(most, peak)), most
    return ""


def is_of_memory(failure: Failure) -> bool:
    """Did a process fail for want of memory? The kernel kills without a word."""
    return failure.category == "out_of_memory" or (failure.category == "died" and "SIGKILL" in failure.message)


def available_memory(root: Path = Path("/")) -> int | None:
    """Return how many bytes of memory can still be had: of the machine, or of the control group that this process is in.

    What a group keeps of files it gives back when memory is short, so it counts as free. None where neither is told.
    """
    found, group = [], root / "sys" / "fs" / "cgroup"
    with contextlib.suppress(OSError, ValueError, KeyError):
        found.append(1024 * _fields(root / "proc" / "meminfo")["MemAvailable:"])
    with contextlib.suppress(OSError, ValueError, KeyError):  # without a limit it reads `max`
        limit, used = (int((group / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current"))
        kept = _fields(group / "memory.stat")
        found.append(limit - used + kept["inactive_file"] + kept["active_file"])
    return min(found, default=None)


def _fields(file: Path) -> dict[str, int]:
    return {words[0]: int(words[1]) for line in file.read_text(encoding="ascii").splitlines() if len(words := line.split()) > 1}


def mib(size: float) -> str:
    """Return a number of bytes, in words."""
    return f"{size / 2**20:,.0f} MiB"
