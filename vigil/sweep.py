"""Many cells, side by side: each in its own process on its own cores, one line as each ends."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

from vigil.invocation import Request, Watch, carry_out, plan, preflight
from vigil.plan import share_cores
from vigil.spec import available_cores


def _ignore(*facts: Any) -> None:
    """Cells of a sweep report when they end, not on the way."""


def sweep(
    requests: Sequence[Request],
    runs: Path,
    *,
    jobs: int,
    progress_timeout: float,
    on_end: Callable[[int, dict[str, Any], Path], None],
    on_data: Callable[[int, int | None], None],
) -> list[tuple[dict[str, Any], Path]]:
    """Carry out every request; return (invocation, directory) in the order given.

    Ctrl-C ends the cells that are running, each with its record, starts no more, and is raised again.
    """
    data_directory = None
    kinds = {(request.context, request.recipe.profiles[request.profile].data.name): request for request in requests}
    for request in kinds.values():  # all of them, before the first trains
        data_directory = preflight(request, runs, on_data=on_data) or data_directory
    stop = threading.Event()
    watch = Watch(_ignore, _ignore, _ignore, _ignore, progress_timeout=progress_timeout, stop=stop)
    cores: queue.Queue = queue.Queue()
    for share in share_cores(available_cores(), jobs):
        cores.put(share)

    def work(request: Request) -> tuple[dict[str, Any], Path] | None:
        if stop.is_set():
            return None
        share = cores.get()
        try:
            directory = plan(replace(request, cores=share), runs, data_directory=data_directory)
            return carry_out(directory, watch=watch), directory
        finally:
            cores.put(share)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(work, request) for request in requests]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                if result := future.result():
                    on_end(done, *result)
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
    return [future.result() for future in futures if future.result()]
