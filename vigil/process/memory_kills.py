"""How many processes the kernel has killed for memory, as the cgroup of this process counts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path


def memory_kills(proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the kernel's count for this process's cgroup, of version 2 or 1; 0 where none can be read.

    Processes started from here are counted too. The count never falls: what died meanwhile is the difference.
    """
    for path in _files(proc, root):
        try:
            found = re.search(r"^oom_kill (\d+)$", path.read_text(encoding="ascii", errors="replace"), re.MULTILINE)
        except OSError:
            continue
        if found:
            return int(found[1])
    return 0


def _files(proc: Path, root: Path) -> Iterator[Path]:
    try:
        lines = proc.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = [*line.split(":", 2), "", ""][:3]
        own = place.lstrip("/")
        # In a container the cgroup's own root is mounted, whatever its path is called outside.
        if "memory" in controllers.split(","):
            yield from (root / "memory" / own / "memory.oom_control", root / "memory" / "memory.oom_control")
        elif not controllers:
            yield from (root / own / "memory.events", root / "memory.events")
