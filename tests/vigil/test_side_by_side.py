"""Jobs that follow from jobs: the most urgent first, a core each, and an end to all of them. Items that take several cores."""

from __future__ import annotations

import threading
import time

import pytest

from vigil.process import side_by_side as module
from vigil.process.side_by_side import Job, one_by_another, side_by_side


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_an_item_takes_the_cores_of_as_many_workers_as_it_needs(monkeypatch, jobs):
    """Never those of another at the same time; two that each hold one core and wait for a second would never end."""
    monkeypatch.setattr(module, "available_cores", lambda: [0, 1, 2, 3])
    in_use, overlaps, lock = set(), [], threading.Lock()

    def work(item: str, cores: list[int] | None) -> tuple[str, list[int] | None]:
        with lock:
            overlaps.append(in_use.intersection(cores or ()))
            in_use.update(cores or ())
        time.sleep(0.01)
        with lock:
            in_use.difference_update(cores or ())
        return item, cores

    items = ["wide", "narrow", "wide", "wide", "narrow", "wide", "narrow"] * 3
    found = side_by_side(
        items, work, jobs=jobs, stop=threading.Event(), on_end=lambda *ended: None, shares_of=lambda item: 1 + (item == "wide")
    )
    assert [item for item, _ in found] == items
    assert not any(overlaps)
    sizes = {item: {len(cores or ()) for name, cores in found if name == item} for item in ("wide", "narrow")}
    each = 0 if jobs == 1 else 4 // jobs
    assert sizes == {"wide": {2 * each}, "narrow": {each}}


def test_what_others_wait_for_goes_before_what_was_there():
    """A job's followers begin when it has ended, by rank, and in their order where ranks are equal."""
    seen: list[str] = []

    def job(name: str, *then: Job, rank: float = 0.0) -> Job:
        def work() -> tuple[Job, ...]:
            seen.append(name)
            return then

        return Job(work, rank)

    first = job("first", job("late", rank=2.0), job("second", job("third")), job("soon", rank=1.0))
    one_by_another([first], jobs=1, stop=threading.Event())
    assert seen == ["first", "second", "third", "soon", "late"]


def test_an_error_ends_what_runs_and_starts_nothing_more():
    """Beside it a job sees that it must end; what was ready is never begun; the error is raised."""
    stop, seen = threading.Event(), []

    def run_until_stopped() -> tuple[Job, ...]:
        assert stop.wait(30.0)
        seen.append("stopped")
        return ()

    def fail() -> tuple[Job, ...]:
        raise ValueError("it left the others")

    def begin() -> tuple[Job, ...]:
        seen.append("begun")
        return ()

    with pytest.raises(ValueError, match="left the others"):
        one_by_another([Job(fail), Job(run_until_stopped), Job(begin, 1.0)], jobs=2, stop=stop)
    assert seen == ["stopped"]
