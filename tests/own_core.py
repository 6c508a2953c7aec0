"""Imported first: gives each worker of pytest-xdist a core of its own, before NumPy counts the cores that it may use.

On shared cores the threads of OpenBLAS and OpenMP wait for each other, spinning: a verification took five times the processor
time that it takes on one core.
"""

import os

_worker = os.environ.get("PYTEST_XDIST_WORKER")
if _worker and hasattr(os, "sched_setaffinity"):
    _cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {_cores[int(_worker.removeprefix("gw")) % len(_cores)]})
