"""Many cells, side by side: each in its own process on its own cores, one line as each ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vigil.documents.invocation import Invocation
from vigil.process.side_by_side import side_by_side
from vigil.releases.resolve import Unavailable
from vigil.runs.carry_out import carry_out, give_up
from vigil.runs.plan import Request, plan, preflight
from vigil.runs.watch import Watch, ignore


def sweep(
    requests: Sequence[Request],
    runs: Path,
    *,
    jobs: int,
    progress_timeout: float,
    on_end: Callable[[int, Invocation, Path], None],
    on_data: Callable[[int, int | None], None],
    on_recorded: Callable[[Path], Any] = ignore,
) -> list[tuple[Invocation, Path]]:
    """Carry out every request; return (invocation, directory) in the order given.

    Ctrl-C ends the cells that are running, each with its record, starts no more, and is raised again.
    """
    data_directory = None
    kinds = {
        (request.context, request.release is None, request.recipe.profiles[request.profile].data.name): request
        for request in requests
    }
    for request in kinds.values():  # all of them, before the first trains
        data_directory = preflight(request, runs, on_data=on_data) or data_directory
    stop = threading.Event()
    watch = Watch(on_recorded=on_recorded, progress_timeout=progress_timeout, stop=stop)

    def work(request: Request, cores: list[int] | None) -> tuple[Invocation, Path]:
        directory = plan(replace(request, cores=cores), runs, data_directory=data_directory)
        if isinstance(request.release, Unavailable):
            return give_up(directory, request.release.failure), directory
        return carry_out(directory, watch=watch).invocation, directory

    return side_by_side(requests, work, jobs=jobs, stop=stop, on_end=lambda done, result: on_end(done, *result))
