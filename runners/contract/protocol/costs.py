"""What a process has cost."""

from __future__ import annotations

import resource


def costs() -> dict[str, float]:
    """Return the largest memory and the CPU time of this process and its helpers until now."""
    own, helpers = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "peak_memory_bytes": 1024 * (own.ru_maxrss + helpers.ru_maxrss),
        "cpu_seconds": own.ru_utime + own.ru_stime + helpers.ru_utime + helpers.ru_stime,
    }
