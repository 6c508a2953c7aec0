"""Jobs that follow from jobs: the most urgent first, a core each, and an end to all of them. Items that take several cores.

Processes of commands side by side, each bound to cores of its own.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from vigil.process import side_by_side as module
from vigil.process.side_by_side import Job, one_by_another, side_by_side, take_cores

_OTHER_COMMAND = """
from vigil.process.side_by_side import take_cores
with take_cores({count}, [0, 1, 2]) as cores:
    print(*cores, flush=True)
    input()
"""


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


@pytest.mark.parametrize("count", [1, 2])
def test_processes_of_two_commands_are_bound_to_other_cores(monkeypatch, tmp_path, count):
    """Both on the first core would take twice as long as they need, with the others idle."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    program = [sys.executable, "-c", _OTHER_COMMAND.format(count=count)]
    other = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline().split() == list(map(str, range(count)))
    with take_cores(1, [0, 1, 2]) as mine, take_cores(2, [0, 1, 2]) as rest, take_cores(9, [4, 7]) as few:
        assert (mine, few) == ((count,), (4, 7))
        assert rest == ((0, 2) if count == 1 else (0, 1))  # what is free, and then the first
    other.communicate("\n")
    with take_cores(1, [0, 1, 2]) as mine:
        assert mine == (0,)


def test_without_a_place_for_locks_the_first_cores_are_taken(monkeypatch, tmp_path):
    """As on a machine whose temporary folder is another's: a command runs all the same."""
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path / "absent" / "folder"))
    with take_cores(2, [3, 4, 5]) as mine:
        assert mine == (3, 4)


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
