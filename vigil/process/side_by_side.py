"""Pieces of work next to each other, each on its share of the cores."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import queue
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
from pathlib import Path
from typing import NamedTuple, TypeVar

from vigil.locks import Held, locked

Item = TypeVar("Item")
Result = TypeVar("Result")


class Job(NamedTuple):
    """A piece of work, which returns those that may begin now that it has ended.

    rank: the lower, the sooner.
    """

    work: Callable[[], Sequence[Job]]
    rank: float = 0.0


def available_cores() -> list[int]:
    """Return the CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


@contextlib.contextmanager
def take_cores(count: int, among: Sequence[int] | None = None) -> Iterator[tuple[int, ...]]:
    """Yield `count` cores for a process that is bound to them, those first that no other such process of this user has.

    Commands that each took the first core would share it and leave the others idle. Where all are taken, the first are shared.

    Args:
        among: those that it may have, None: all that this process may use. All of them where they are fewer than `count`.
    """
    allowed = list(among or available_cores())
    free: list[int] = []
    with contextlib.ExitStack() as held:
        for core in allowed:
            if len(free) < count:
                # Whoever cannot lock there takes the first ones, as without others.
                with contextlib.suppress(Held, OSError):
                    folder = Path(tempfile.gettempdir()) / f"vigil-cores-{os.getuid()}"
                    folder.mkdir(mode=0o700, exist_ok=True)
                    held.enter_context(locked(folder / str(core), wait=False))
                    free.append(core)
        yield tuple(sorted([*free, *(core for core in allowed if core not in free)][:count]))


def share_cores(cores: Sequence[int], jobs: int) -> list[list[int] | None]:
    """Return the cores of each of `jobs` workers; one worker is not bound at all.

    >>> share_cores([0, 1, 2, 3], 2), share_cores([0, 1], 1)
    ([[0, 2], [1, 3]], [None])
    """
    if jobs == 1:
        return [None]
    return [list(cores[worker::jobs]) or [cores[worker % len(cores)]] for worker in range(jobs)]


def side_by_side(
    items: Sequence[Item],
    work: Callable[[Item, list[int] | None], Result],
    *,
    jobs: int,
    stop: threading.Event,
    on_end: Callable[[int, Result], None],
    shares_of: Callable[[Item], int] = lambda item: 1,
) -> list[Result]:
    """Return work(item, cores) of every item, in the order given, `jobs` at a time.

    An error, or Ctrl-C, sets `stop`, at which `work` ends what it runs; nothing more is started, and it is raised again.

    Args:
        on_end: told how many are done, and the result, as each ends.
        shares_of: how many workers' cores an item takes, of those that there are.
    """
    free: queue.Queue[list[int] | None] = queue.Queue()
    for share in share_cores(available_cores(), jobs):
        free.put(share)
    # One item at a time waits for cores: two that each hold a part of what they need would wait for each other.
    taking = threading.Lock()

    def take(item: Item) -> list[Result]:
        with taking:
            shares = [free.get() for _ in range(min(shares_of(item), jobs))]
        try:
            cores = sorted({core for share in shares for core in share or ()})
            return [] if stop.is_set() else [work(item, cores or None)]
        finally:
            for share in shares:
                free.put(share)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(take, item) for item in items]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                for result in future.result():
                    on_end(done, result)
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
    return [result for future in futures for result in future.result()]


def one_by_another(first: Sequence[Job], *, jobs: int, stop: threading.Event) -> None:
    """Run jobs and those that they return, `jobs` at a time.

    An error, or Ctrl-C, sets `stop`, at which jobs end themselves; nothing more is started, and it is raised again.
    """
    ready: list[tuple[float, int, Job]] = []
    order = itertools.count()
    running: set[Future[Sequence[Job]]] = set()
    with ThreadPoolExecutor(max_workers=jobs) as pool:

        def add(found: Sequence[Job]) -> None:
            for job in found:
                heapq.heappush(ready, (job.rank, next(order), job))

        try:
            add(first)
            while ready or running:
                while ready and len(running) < jobs:
                    _, _, job = heapq.heappop(ready)
                    running.add(pool.submit(job.work))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    add(future.result())
        except BaseException:
            stop.set()
            raise
