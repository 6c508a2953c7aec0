"""Whole nights, with fakes for releases and frameworks: begun, broken off at any moment, gone on with, run twice."""

import dataclasses
import json
import os
import shutil
import threading
import time

import psutil
import pytest

from tests.nightly.nights import RECIPE, FakeReleases, FakeWork, a_cell, a_document, a_row, day
from vigil.errors import CannotRun, UsageError
from vigil.nightly import conduct, document, pool
from vigil.nightly.cells import REPRODUCE
from vigil.nightly.conduct import Nothing, Order, begin, jobs_for, resume
from vigil.nightly.document import DONE, LEFT, RUNNING, alone, read_nights
from vigil.nightly.ledger import Ledger
from vigil.nightly.pool import Outcome

N_CELLS = 3 + 2


class Killed(BaseException):
    """What a kill is to a test: nothing of ours catches it and goes on."""


class Bench:
    """A folder of nights, and what runs them."""

    def __init__(self, path, *, budget=1e6):
        self.nights, self.budget, self.told = path / "nights", budget, []
        self.nights.mkdir()

    def order(self, *, frameworks=("jax",), **facts):
        return Order({"resnet_cifar": RECIPE}, "quick", list(frameworks), self.budget, "vigil nightly", jobs=2, **facts)

    def earlier(self):
        return read_nights(self.nights)[0]

    def begin(self, work, *, releases=None, when=0, **facts):
        return begin(
            self.order(**facts), self.nights, earlier=self.earlier(), releases=releases or FakeReleases({"jax": "1.0"}),
            make_work=lambda document, pythons: work, tell=self.told.append, when=day(when),
        )  # fmt: skip

    def resume(self, work, *, releases=None, **facts):
        *earlier, night = self.earlier()
        return resume(
            night, {"resnet_cifar": RECIPE}, earlier=earlier, releases=releases or FakeReleases({"jax": "1.0"}),
            make_work=lambda document, pythons: work, tell=self.told.append, **facts,
        )  # fmt: skip


@pytest.fixture
def whole(tmp_path, monkeypatch):
    """Return a bench with every cell of ResNet's quick profile."""
    # The sources of this checkout are hashed in test_basis.py; here a basis is the release.
    monkeypatch.setattr(conduct, "Bases", lambda keys, hashes: FakeBases(keys))
    return Bench(tmp_path)


@pytest.fixture
def bench(whole, monkeypatch):
    """Return a bench with five cells: jit in fp32, verified on one device, two, and two uneven ones, reproduced on two."""
    real = conduct.night_cells

    def some(recipe, profile, *, frameworks, is_verified=True):
        cells = real(recipe, profile, frameworks=frameworks, is_verified=is_verified)
        return [cell for cell in cells if cell.context.mode == "jit" and cell.context.precision == "fp32"]

    monkeypatch.setattr(conduct, "night_cells", some)
    return whole


class FakeBases:
    def __init__(self, keys):
        self.keys = keys

    def of(self, cell):
        return f"basis of {self.keys[cell.framework]}"


def statuses(night):
    """Return how many cells have which status."""
    found = [row["status"] for row in night.document["cells"]]
    return {status: found.count(status) for status in set(found)}


def test_a_night_looks_at_every_cell_once(bench):
    """Each verification and reproduction has its verdict, and the night its own."""
    work = FakeWork()
    night = bench.begin(work)
    assert sorted(work.started) == sorted(row["key"] for row in night.document["cells"])
    assert len(work.started) == N_CELLS
    assert night.document["verdict"]["exit_code"] == 0
    assert json.loads((night.directory / "night.json").read_text()) == night.document


def test_run_twice_the_second_says_that_nothing_is_new(bench):
    """It resolves releases to know, and starts nothing."""
    first, work, releases = bench.begin(FakeWork()), FakeWork(), FakeReleases({"jax": "1.0"})
    second = bench.begin(work, releases=releases)
    assert second == Nothing(first.id, second.releases, 0, [])
    assert (work.started, releases.built) == ([], [])
    assert second.releases["jax"]["is_new"] is False


def test_a_new_release_makes_its_own_cells_due(bench):
    """The other framework's cells stay covered."""
    old = FakeReleases({"torch": "2.0", "jax": "1.0"})
    bench.begin(FakeWork(), releases=old, frameworks=("torch", "jax"))
    new = FakeReleases({"torch": "2.0", "jax": "1.1"})
    night = bench.begin(FakeWork(), releases=new, frameworks=("torch", "jax"), when=1)
    assert {row["context"]["framework"] for row in night.document["cells"]} == {"jax"}
    assert (night.document["covered"], new.built) == (N_CELLS, ["jax-1.1"])
    assert "jax: 1.1 is new (was 1.0)" in bench.told


def test_asked_for_again_everything_is_looked_at(bench):
    """`--again` covers nothing."""
    bench.begin(FakeWork())
    work = FakeWork()
    bench.begin(work, is_again=True)
    assert len(work.started) == N_CELLS


def small_budget(bench, monkeypatch):
    """Let a night of this bench reach only some cells: every cell is said to take a minute, and the budget is two."""
    monkeypatch.setattr(conduct.Estimator, "seconds", lambda self, cell: 60.0)
    monkeypatch.setattr(conduct.Clock, "left", lambda self: max(self.budget - 60.0 * done(bench), 0.0))
    bench.budget = 120.0


def done(bench):
    """Return how many cells of the newest night are done or running."""
    nights = bench.earlier()
    return sum(row["status"] in (DONE, RUNNING) for row in nights[-1].document["cells"]) if nights else 0


def test_what_the_budget_leaves_waits_for_another_date(bench, monkeypatch):
    """Two of five cells; on the same date nothing is new and three wait; on the next the next are taken."""
    small_budget(bench, monkeypatch)
    first = bench.begin(FakeWork())
    assert statuses(first) == {DONE: 2, LEFT: 3}
    second = bench.begin(FakeWork())
    assert (second.since, second.left) == (first.id, 3)
    third = bench.begin(FakeWork(), when=1)
    keys = [{row["key"] for row in night.document["cells"] if row["status"] == DONE} for night in (first, third)]
    assert len(keys[1]) == 2
    assert not keys[0] & keys[1]


def test_a_longer_budget_takes_what_was_left(bench, monkeypatch):
    """A finished night goes on, and runs nothing again."""
    small_budget(bench, monkeypatch)
    first, work = bench.begin(FakeWork()), FakeWork()
    before = {row["key"] for row in first.document["cells"] if row["status"] == DONE}
    night = bench.resume(work, budget=240.0)
    assert statuses(night) == {DONE: 4, LEFT: 1}
    assert not before & set(work.started)


def test_a_framework_that_cannot_be_had_fails_its_own_cells_only(bench):
    """Not resolved, or not built: with the installer's last lines, and the others go on."""
    releases = FakeReleases({"torch": None, "tensorflow": "2.0", "jax": "1.0"}, unbuildable=["tensorflow"])
    night = bench.begin(FakeWork(), releases=releases, frameworks=("torch", "tensorflow", "jax"))
    found = {row["context"]["framework"]: (row["verdict"], row["reason"]) for row in night.document["cells"]}
    assert found["torch"] == ("failed:environment", "torch: no set of packages fits\nno matching distribution")
    assert found["tensorflow"] == ("failed:environment", "tensorflow: could not be installed\ndisk quota exceeded")
    assert found["jax"][0] == "reproduced"
    assert night.document["verdict"]["exit_code"] == 3


def test_a_cell_that_crashes_takes_no_other_with_it(bench):
    """An error of ours in one cell is that cell's verdict."""
    key = "verify resnet_cifar quick jax-jit-fp32-x1"
    night = bench.begin(FakeWork({key: RuntimeError("a bug"), "reproduce resnet_cifar quick jax-jit-fp32-x2": CannotRun("no")}))
    verdicts = [row["verdict"] for row in night.document["cells"]]
    assert night.cells[key]["verdict"] == "failed:crash"
    assert (verdicts.count("failed:crash"), verdicts.count("failed:could_not_start"), verdicts.count("reproduced")) == (1, 1, 3)


def test_a_wrong_number_is_never_silent(bench):
    """It fails its night, and a second run that finds nothing new says it still; the night after looks at nothing else."""
    key = "verify resnet_cifar quick jax-jit-fp32-x2"
    night = bench.begin(FakeWork({key: Outcome("regressed", "3 of 824 tensors are out")}))
    assert night.document["verdict"]["exit_code"] == 1
    second = bench.begin(FakeWork(), when=1)
    assert [each["key"] for each in second.standing] == [key]


def test_a_number_that_chance_explains_is_looked_at_first_next_night(whole):
    """One of twelve at p 0.008 does not stand; the next night looks at it alone, with another seed."""
    key = "reproduce resnet_cifar quick jax-jit-fp32-x1"
    outcomes = {f"reproduce resnet_cifar quick {row.context.text}": Outcome("reproduced", "", p_value=0.5)
                for row in conduct.night_cells(RECIPE, "quick", frameworks=["jax"]) if row.kind == REPRODUCE}  # fmt: skip
    night = whole.begin(FakeWork(outcomes | {key: Outcome("regressed", "low", p_value=0.008)}))
    assert (night.cells[key]["stands"], night.document["verdict"]["exit_code"]) == (False, 0)
    again = whole.begin(FakeWork(outcomes | {key: Outcome("regressed", "low", p_value=0.008)}), when=1)
    assert [row["key"] for row in again.document["cells"]] == [key]
    assert again.document["seeds"] != night.document["seeds"]
    assert (again.cells[key]["stands"], again.document["verdict"]["exit_code"]) == (True, 1)


def kill_at(monkeypatch, write, *, torn):
    """Let the n-th write of a night be the last: before it replaces the file, with a part of it written, or right after."""
    count, lock, real = 0, threading.Lock(), document.replace

    def dying(path, text):
        nonlocal count
        with lock:
            count += 1
            if count < write:
                return real(path, text)
        if count == write and torn == "after":
            real(path, text)
        elif count == write and torn == "half":
            path.with_suffix(".partial").write_text(text[: len(text) // 2])
        raise Killed

    monkeypatch.setattr(document, "replace", dying)
    return lambda: monkeypatch.setattr(document, "replace", real)


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
        assert night.document["schema"] == 1
        had_verdict = {row["key"] for row in night.document["cells"] if row["status"] == DONE}
        was_running = {row["key"] for row in night.document["cells"] if row["status"] == RUNNING}
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
    done_before = {row["key"] for row in night.document["cells"] if row["status"] == DONE}
    assert done_before
    for row in night.document["cells"]:
        row |= {"status": document.PENDING, "directory": None}
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
    real = pool.wait

    def interrupted(*arguments, **options):
        monkeypatch.setattr(pool, "wait", real)
        raise KeyboardInterrupt

    class Waiting(FakeWork):
        def carry_out(self, cell, directory, cores, stop):
            super().carry_out(cell, directory, cores, stop)
            stop.wait()
            return Outcome(None)

    monkeypatch.setattr(pool, "wait", interrupted)
    first, second = Waiting(), FakeWork()
    with pytest.raises(KeyboardInterrupt):
        bench.begin(first)
    assert statuses(bench.earlier()[-1]) == {RUNNING: 2, document.PENDING: N_CELLS - 2}
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
    was_running = {row["key"] for row in bench.earlier()[-1].document["cells"] if row["status"] == RUNNING}
    assert was_running
    monkeypatch.setattr(FakeBases, "of", lambda self, cell: "basis of other code")
    second = FakeWork()
    night = bench.resume(second)
    assert was_running <= set(second.prepared)
    assert {night.cells[key]["basis"] for key in was_running} == {"basis of other code"}


def test_a_cell_that_somebody_else_ended_has_failed(bench):
    """Its runner was told to end, and not by us: it is not begun again and again."""
    key = "verify resnet_cifar quick jax-jit-fp32-x1"
    work = FakeWork({key: Outcome(None)})
    assert bench.begin(work).cells[key]["verdict"] == "failed:interrupted"
    assert work.started.count(key) == 1


def test_time_that_was_spent_counts(bench):
    """A night that had used up its budget when it was killed starts nothing more but what had been started."""
    bench.begin(FakeWork())
    night = bench.earlier()[-1]
    running, pending = night.document["cells"][0], night.document["cells"][1:]
    running |= {"status": RUNNING, "verdict": None, "directory": "run-1"}
    for row in pending[:2]:
        row |= {"status": document.PENDING, "verdict": None, "directory": None}
    night.document |= {"finished": None, "spent_seconds": bench.budget}
    night.save()
    work = FakeWork()
    resumed = bench.resume(work)
    assert work.started == [running["key"]]
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
    assert night.document["spent_seconds"] >= 0.2
    night.document["releases"]["jax"]["error"] = {"reason": "disk full", "log_tail": [], "seconds": 1.0}
    night.save()
    resumed = bench.resume(FakeWork())
    assert (statuses(resumed), resumed.document["releases"]["jax"]["error"]) == ({DONE: N_CELLS}, None)


def test_two_nights_at_once_are_refused(bench):
    """The second says whose process id it is; once the first is gone, by whatever end, it may begin."""
    with alone(bench.nights), pytest.raises(CannotRun, match=f"process {os.getpid()}"), alone(bench.nights):
        pass
    with alone(bench.nights):
        pass


def test_a_night_that_cannot_be_read_stops_no_other(bench):
    """It is left out with a remark, and its number is not given twice."""
    broken = bench.nights / "2026-11-01-1"
    broken.mkdir()
    (broken / "night.json").write_text('{"schema": 1, "numb')
    nights, remarks = read_nights(bench.nights)
    assert nights == []
    assert "JSONDecodeError" in remarks[0]
    night = bench.begin(FakeWork())
    assert (night.document["number"], night.id) == (305, "2026-11-01-2")


def test_seeds_take_turns(bench):
    """The night's number chooses them, and they recur after 16 nights, so that two releases share them."""
    nights = [bench.begin(FakeWork(), n_seeds=2, is_again=True, when=when) for when in (0, 1, 16)]
    first, second, later = (night.document["seeds"] for night in nights)
    assert first == later == [nights[0].document["number"] % 16, (nights[0].document["number"] + 1) % 16]
    assert first[1] == second[0]


def test_numbers_grow_whatever_became_of_earlier_nights(bench):
    """Twice on a date, on the next, and after the folder was cleared: MLflow's timelines take no number twice."""
    nights = [bench.begin(FakeWork(), is_again=True, when=when) for when in (0, 0, 1)]
    numbers = [night.document["number"] for night in nights]
    assert numbers == [304, 305, 306]
    for night in nights:
        shutil.rmtree(night.directory)
    assert bench.begin(FakeWork(), when=3).document["number"] == 307


def test_as_many_jobs_as_memory_bears():
    """Never more than cores; fewer where the largest that was seen would not fit; one at the least."""
    cell = a_cell()
    ledger = Ledger([a_document([a_row(cell, peak_memory_bytes=2 * 2**30)])])
    sizes = [jobs_for([cell], ledger, available_bytes=free * 2**30, cores=8) for free in (64, 16, 1)]
    assert sizes == [8, 6, 1]
    # What a small recipe took says nothing of a large one that was never run.
    other = a_cell(recipe="tiny_mask_rcnn")
    assert jobs_for([cell, other], ledger, available_bytes=16 * 2**30, cores=8) == 2
    assert jobs_for([cell], Ledger([]), available_bytes=psutil.virtual_memory().total * 1000, cores=2) == 2


@pytest.mark.parametrize("verdict", ["failed:environment", "unsupported"])
def test_jobs_are_counted_where_no_peak_was_ever_seen(verdict):
    """After a night without a network, say: what has failed has shown nothing, and what was refused needs next to nothing."""
    ledger = Ledger([a_document([a_row(a_cell(), verdict=verdict)])])
    assert jobs_for([a_cell()], ledger, available_bytes=16 * 2**30, cores=8) == 2


def test_the_night_after_one_without_a_network_runs(bench, monkeypatch):
    """No release could be resolved, so that every cell was looked at and none has a peak; nobody says how many jobs."""
    bench.begin(FakeWork(), releases=FakeReleases({"jax": None}))
    monkeypatch.setattr(bench, "order", lambda **facts: dataclasses.replace(Bench.order(bench, **facts), jobs=None))
    assert statuses(bench.begin(FakeWork(), when=1)) == {DONE: N_CELLS}


def test_a_changed_recipe_is_not_gone_on_with(bench):
    """Its cells would not be those of the night."""
    bench.begin(FakeWork())
    night = bench.earlier()[-1]
    night.document["recipes"]["resnet_cifar"]["hash"] = "another"
    night.save()
    with pytest.raises(UsageError, match="has changed since night"):
        bench.resume(FakeWork())
