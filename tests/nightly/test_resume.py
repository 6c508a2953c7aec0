"""Nights that are broken off at any moment, and gone on with: nothing is lost, and nothing is run twice."""

import json
import time

import pytest

from tests.nightly.bench import N_CELLS, Bench, FakeBases, Killed, kill_at, small_budget, statuses
from tests.nightly.nights import FakeReleases, FakeWork
from vigil.documents.night import DONE, LEFT, PENDING, RUNNING
from vigil.errors import UsageError
from vigil.failures.retries import MOST_TRIES
from vigil.nightly import cell_pool
from vigil.nightly.cell_pool import CellOutcome


def test_a_longer_budget_takes_what_was_left(bench, monkeypatch):
    """A finished night goes on, and runs nothing again."""
    small_budget(bench, monkeypatch)
    first, work = bench.begin(FakeWork()), FakeWork()
    before = {row.key for row in first.document.cells if row.status == DONE}
    night = bench.resume(work, budget=240.0)
    assert statuses(night) == {DONE: 4, LEFT: 1}
    assert not before & set(work.started)


@pytest.mark.parametrize("torn", ["before", "half", "after"])
def test_killed_at_any_write_nothing_is_lost_or_run_twice(bench, monkeypatch, torn):
    """Whichever write is the last, the night that is resumed looks at every cell, and at none again whose verdict was written."""
    broken_off = 0
    for write in range(1, 22):
        root = bench.nights.parent / f"{torn}{write}"
        root.mkdir()
        here, first, second = Bench(root), FakeWork(), FakeWork()
        restore = kill_at(monkeypatch, write, torn=torn)
        try:
            here.begin(first)
        except Killed:
            broken_off += 1
        finally:
            restore()
        if not here.earlier():  # killed before there was a document: nothing had been started
            assert first.started == []
            continue
        night = here.earlier()[-1]
        assert night.document.schema_ == 1
        had_verdict = {row.key for row in night.document.cells if row.status == DONE}
        was_running = {row.key for row in night.document.cells if row.status == RUNNING}
        assert set(first.started) <= had_verdict | was_running
        finished = here.resume(second)
        assert statuses(finished) == {DONE: N_CELLS}
        assert not had_verdict & set(second.started)
        assert sorted([*had_verdict, *second.started]) == sorted(finished.cells)
        # What was running goes on in its own directory: it is not prepared anew.
        assert not was_running & set(second.prepared)
    assert broken_off > 12


def test_a_resume_that_runs_a_done_cell_twice_is_caught(bench, monkeypatch):
    """Planted: the verdicts of a night that was broken off are forgotten, and the same check finds cells run twice."""
    first, second = FakeWork(), FakeWork()
    restore = kill_at(monkeypatch, 12, torn="after")
    with pytest.raises(Killed):
        bench.begin(first)
    restore()
    night = bench.earlier()[-1]
    done_before = {row.key for row in night.document.cells if row.status == DONE}
    assert done_before
    for key in night.cells:
        night.mark(key, status=PENDING, directory=None)
    night.save()
    bench.resume(second)
    assert done_before & set(second.started)


def test_the_directory_is_written_down_before_a_cell_starts(bench):
    """At the moment of its start, night.json on the disk says where it runs."""
    seen = []

    def look(key):
        on_disk = json.loads(next(bench.nights.glob("*/night.json")).read_text())
        seen.append(next((row["status"], bool(row["directory"])) for row in on_disk["cells"] if row["key"] == key))

    bench.begin(FakeWork(on_start=look))
    assert set(seen) == {(RUNNING, True)}


def test_an_interrupted_cell_goes_on_in_its_directory(bench, monkeypatch):
    """Ctrl-C in the middle: what ran has no verdict and keeps its directory; it is the first to go on."""
    real = cell_pool.wait

    def interrupted(*arguments, **options):
        monkeypatch.setattr(cell_pool, "wait", real)
        raise KeyboardInterrupt

    class Waiting(FakeWork):
        def carry_out(self, cell, directory, cores, stop):
            super().carry_out(cell, directory, cores, stop)
            stop.wait()
            return CellOutcome(None)

    monkeypatch.setattr(cell_pool, "wait", interrupted)
    first, second = Waiting(), FakeWork()
    with pytest.raises(KeyboardInterrupt):
        bench.begin(first)
    assert first.is_closed
    assert statuses(bench.earlier()[-1]) == {RUNNING: 2, PENDING: N_CELLS - 2}
    night = bench.resume(second)
    assert sorted(second.started[:2]) == sorted(first.started)
    assert not set(first.started) & set(second.prepared)
    assert statuses(night) == {DONE: N_CELLS}


def test_what_other_code_has_done_is_begun_anew(bench, monkeypatch):
    """A cell half done, or done but for the note of it, says nothing of the code that the night is resumed with."""
    restore = kill_at(monkeypatch, 6, torn="after")
    with pytest.raises(Killed):
        bench.begin(FakeWork())
    restore()
    was_running = {row.key for row in bench.earlier()[-1].document.cells if row.status == RUNNING}
    assert was_running
    monkeypatch.setattr(FakeBases, "of", lambda self, cell: "basis of other code")
    second = FakeWork()
    night = bench.resume(second)
    assert was_running <= set(second.prepared)
    assert {night.cells[key].basis for key in was_running} == {"basis of other code"}


def test_a_cell_that_somebody_else_ended_has_failed(bench):
    """Its runner was told to end, and not by us: it is tried once more, and not begun again and again."""
    key = "verify resnet_cifar quick jax-jit-fp32-x1"
    work = FakeWork({key: CellOutcome(None)})
    assert bench.begin(work).cells[key].verdict == "failed:interrupted"
    assert work.started.count(key) == MOST_TRIES


def test_time_that_was_spent_counts(bench):
    """A night that had used up its budget when it was killed starts nothing more but what had been started."""
    bench.begin(FakeWork())
    night = bench.earlier()[-1]
    running, pending = night.document.cells[0], night.document.cells[1:]
    night.mark(running.key, status=RUNNING, verdict=None, directory="run-1")
    for row in pending[:2]:
        night.mark(row.key, status=PENDING, verdict=None, directory=None)
    night.change(finished=None, spent_seconds=bench.budget)
    work = FakeWork()
    resumed = bench.resume(work)
    assert work.started == [running.key]
    assert statuses(resumed) == {DONE: N_CELLS - 2, LEFT: 2}


def test_time_that_went_into_an_environment_counts(bench):
    """Ctrl-C while it is built: the night that is resumed has that much less, and the environment is there now."""

    class Slow(FakeReleases):
        def hold(self, release, *, tell):
            time.sleep(0.2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.begin(FakeWork(), releases=Slow({"jax": "1.0"}))
    night = bench.earlier()[-1]
    assert night.document.spent_seconds >= 0.2
    error = {"reason": "disk full", "log_tail": (), "seconds": 1.0}
    night.change(releases={"jax": night.document.releases["jax"].replace(error=error)})
    resumed = bench.resume(FakeWork())
    assert (statuses(resumed), resumed.document.releases["jax"].error) == ({DONE: N_CELLS}, None)


def test_a_changed_recipe_is_not_gone_on_with(bench):
    """Its cells would not be those of the night."""
    bench.begin(FakeWork())
    night = bench.earlier()[-1]
    night.change(recipes={"resnet_cifar": night.document.recipes["resnet_cifar"].replace(hash="another")})
    with pytest.raises(UsageError, match="has changed since night"):
        bench.resume(FakeWork())
