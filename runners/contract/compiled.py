"""Where a framework keeps the programs that it compiles to verify, so that the next context need not compile them again.

Each build of a framework, kind of processor, set of its instructions, number of threads and kernel of attention has a folder of
its own: nothing that another one compiled is ever run. Training runs compile as they would without Vigil.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from runners.contract.files import cache_directory

FOLDER = "compiled"
# Limits the instruction set that PyTorch compiles for. Inductor's own key leaves that out, and half of a result is then not
# computed: docs/findings/torch_compile_cache_ignores_instructions.py.
_INSTRUCTIONS = "ATEN_CPU_CAPABILITY"


class Compiling(Protocol):
    """What a process is asked, as far as it matters here: the spec of a run, or the request of a user's step."""

    framework: str
    task: str
    mode: str
    precision: str
    fault: dict[str, str] | None
    attention: str
    devices: int
    shards: tuple[int, ...]


def directory_for(spec: Compiling, *, version: str, libraries: Iterable[Path], distribution: str) -> Path | None:
    """Return the folder for a process's compiled programs; None where it keeps none: it trains, a fault is planted, no leave.

    The folder's time is that of its last use, by which `vigil env prune` goes.

    Args:
        version: of the framework.
        libraries: the files that hold its compiler, which tell another build of the same version.
        distribution: what has installed them.
    """
    cache = cache_directory()
    if cache is None or spec.task == "train" or spec.fault:
        return None
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts = [version, sys.version, processor(), str(threads), spec.attention]
    facts += [os.environ[_INSTRUCTIONS]] if _INSTRUCTIONS in os.environ else []
    facts += builds(sorted(libraries), distribution)
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    folder = cache / FOLDER / f"{spec.framework}-{version}-{digest}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    return folder


def builds(libraries: Sequence[Path], distribution: str) -> list[str]:
    """Return of each library what tells its build: the digest that it was installed with, by which two environments share one.

    What they share is the folder: the names that Inductor gives its programs hold the paths of an environment's headers, besides.
    A library that is newer than that list was built again in its place: then sizes and times tell it, as without a list.
    """
    roots = (root for path in libraries[:1] for root in path.parents)
    for record in (found for root in roots for found in root.glob(f"{distribution}-*.dist-info/RECORD")):
        installed = record.stat().st_mtime_ns
        root = record.parent.parent
        listed = {line.partition(",")[0]: line for line in record.read_text(encoding="utf-8").splitlines()}
        lines = [listed.get(path.relative_to(root).as_posix(), "") for path in libraries]
        if all(",sha256=" in line for line in lines) and all(path.stat().st_mtime_ns <= installed for path in libraries):
            return lines
    return [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in libraries]


def processor() -> str:
    """Return what the processor is called and what it can do."""
    facts = [cpuinfo(key) for key in ("model name", "flags", "Features", "CPU part")]
    return "\n".join([platform.machine(), platform.processor(), *(fact for fact in facts if fact)])


def cpuinfo(key: str) -> str | None:
    """Return what Linux says of the first processor under a key; None where it says nothing."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith(key)), None)
    except OSError:
        return None
