"""Jobs that follow from jobs: the most urgent first, a core each, and an end to all of them."""

from __future__ import annotations

import threading

import pytest

from vigil.process.side_by_side import Job, one_by_another


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
