"""Whole nights, with fakes for releases and frameworks: begun, run twice, and what each leaves to the next."""

import dataclasses
import os
import shutil
from types import SimpleNamespace

import psutil
import pytest

from tests.nightly.bench import N_CELLS, Bench, small_budget, statuses
from tests.nightly.nights import RECIPE, FakeReleases, FakeWork, a_cell, a_document, a_row
from vigil.documents.night import DONE, LEFT, REPRODUCE, VERIFY, Night
from vigil.documents.verdict import Verdict
from vigil.errors import CannotRun
from vigil.nightly import cell_pool, conduct
from vigil.nightly.cell_pool import CellOutcome
from vigil.nightly.cells import row_of
from vigil.nightly.conduct import NothingNew, jobs_for
from vigil.nightly.ledger import Ledger
from vigil.nightly.night_file import alone, read_night_files


def test_a_night_looks_at_every_cell_once(bench):
    """Each verification and reproduction has its verdict, and the night its own."""
    work = FakeWork()
    night = bench.begin(work)
    assert sorted(work.started) == sorted(row.key for row in night.document.cells)
    assert len(work.started) == N_CELLS
    assert night.document.verdict.exit_code == 0
    assert Night.read(night.directory) == night.document


def test_what_is_held_to_a_companion_waits_while_that_runs():
    """Not for one that is left: a night may have no time for it."""
    one, two = (dataclasses.replace(a_cell(VERIFY, f"jax-eager-bf16-{n}"), is_short=True) for n in ("x1", "x2"))
    night = SimpleNamespace(is_begun=True, cells={each.key: row_of(each, basis="b", chosen="") for each in (one, two)})
    estimator = SimpleNamespace(seconds=lambda cell: 90.0 if cell == one else 30.0)
    for active, left, expected in ((set(), 100.0, one), ({one.key}, 100.0, None), (set(), 60.0, two)):
        assert cell_pool._next(night, [one, two], active, left=left, estimator=estimator) == expected


def test_run_twice_the_second_says_that_nothing_is_new(bench):
    """It resolves releases to know, and starts nothing."""
    first, work, releases = bench.begin(FakeWork()), FakeWork(), FakeReleases({"jax": "1.0"})
    second = bench.begin(work, releases=releases)
    assert second == NothingNew(first.id, second.releases, 0, ())
    assert (work.started, releases.built) == ([], [])
    assert second.releases["jax"].is_new is False


def test_a_new_release_makes_its_own_cells_due(bench):
    """The other framework's cells stay covered."""
    old = FakeReleases({"torch": "2.0", "jax": "1.0"})
    bench.begin(FakeWork(), releases=old, frameworks=("torch", "jax"))
    new = FakeReleases({"torch": "2.0", "jax": "1.1"})
    night = bench.begin(FakeWork(), releases=new, frameworks=("torch", "jax"), when=1)
    assert {row.context.framework for row in night.document.cells} == {"jax"}
    assert (night.document.covered, new.built) == (N_CELLS, ["jax-1.1"])
    assert "jax: 1.1 is new (was 1.0)" in bench.told


def test_asked_for_again_everything_is_looked_at(bench):
    """`--again` covers nothing."""
    bench.begin(FakeWork())
    work = FakeWork()
    bench.begin(work, is_again=True)
    assert len(work.started) == N_CELLS


def test_what_the_budget_leaves_waits_for_another_date(bench, monkeypatch):
    """Two of five cells; on the same date nothing is new and three wait; on the next the next are taken."""
    small_budget(bench, monkeypatch)
    first = bench.begin(FakeWork())
    assert statuses(first) == {DONE: 2, LEFT: 3}
    second = bench.begin(FakeWork())
    assert (second.since, second.left) == (first.id, 3)
    third = bench.begin(FakeWork(), when=1)
    keys = [{row.key for row in night.document.cells if row.status == DONE} for night in (first, third)]
    assert len(keys[1]) == 2
    assert not keys[0] & keys[1]


def test_a_framework_that_cannot_be_had_fails_its_own_cells_only(bench):
    """Not resolved, or not built: with the installer's last lines, and the others go on."""
    releases = FakeReleases({"torch": None, "tensorflow": "2.0", "jax": "1.0"}, unbuildable=["tensorflow"])
    night = bench.begin(FakeWork(), releases=releases, frameworks=("torch", "tensorflow", "jax"))
    found = {row.context.framework: (row.verdict, row.reason) for row in night.document.cells}
    assert found["torch"] == ("failed:environment", "torch: no set of packages fits\nno matching distribution")
    assert found["tensorflow"] == ("failed:environment", "tensorflow: could not be installed\ndisk quota exceeded")
    assert found["jax"][0] == "reproduced"
    assert night.document.verdict.exit_code == 3


def test_a_cell_that_crashes_takes_no_other_with_it(bench):
    """An error of ours in one cell is that cell's verdict."""
    key = "verify resnet_cifar quick jax-jit-fp32-x1"
    night = bench.begin(FakeWork({key: RuntimeError("a bug"), "reproduce resnet_cifar quick jax-jit-fp32-x2": CannotRun("no")}))
    verdicts = [row.verdict for row in night.document.cells]
    assert night.cells[key].verdict == "failed:crash"
    assert (verdicts.count("failed:crash"), verdicts.count("failed:could_not_start"), verdicts.count("reproduced")) == (1, 1, 3)


def test_a_wrong_number_is_never_silent(bench):
    """It fails its night, and a second run that finds nothing new says it still; the night after looks at nothing else."""
    key = "verify resnet_cifar quick jax-jit-fp32-x2"
    night = bench.begin(FakeWork({key: CellOutcome(Verdict.REGRESSED, "3 of 824 tensors are out")}))
    assert night.document.verdict.exit_code == 1
    second = bench.begin(FakeWork(), when=1)
    assert [finding.key for finding in second.standing] == [key]


def test_a_number_that_chance_explains_is_looked_at_first_next_night(whole):
    """One of twelve at p 0.008 does not stand; the next night looks at it alone, with another seed."""
    key = "reproduce resnet_cifar quick jax-jit-fp32-x1"
    outcomes = {f"reproduce resnet_cifar quick {row.context.text}": CellOutcome(Verdict.REPRODUCED, "", p_value=0.5)
                for row in conduct.night_cells(RECIPE, "quick", frameworks=["jax"]) if row.kind == REPRODUCE}  # fmt: skip
    night = whole.begin(FakeWork(outcomes | {key: CellOutcome(Verdict.REGRESSED, "low", p_value=0.008)}))
    assert (night.cells[key].stands, night.document.verdict.exit_code) == (False, 0)
    again = whole.begin(FakeWork(outcomes | {key: CellOutcome(Verdict.REGRESSED, "low", p_value=0.008)}), when=1)
    assert [row.key for row in again.document.cells] == [key]
    assert again.document.seeds != night.document.seeds
    assert (again.cells[key].stands, again.document.verdict.exit_code) == (True, 1)


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
    nights, remarks = read_night_files(bench.nights)
    assert nights == []
    assert f"{broken}/night.json: not JSON" in remarks[0]
    night = bench.begin(FakeWork())
    assert (night.document.number, night.id) == (305, "2026-11-01-2")


@pytest.mark.parametrize(
    ("spoil", "remark"),
    [
        (lambda text: text.replace(b' "covered": 0,\n', b""), "covered: missing"),
        (lambda text: text.replace(b'"basis": ', b'"bases": ', 1), "cells.0.basis: missing"),
        (lambda text: text.replace(b'"jax": {', b'"torch": {', 1), "releases: jax is missing, of which there is a cell"),
        (lambda text: text.replace(b'"vigil nightly"', b'"vigil \xff"'), "not JSON ('utf-8' codec can't decode byte 0xff"),
        (lambda text: text.replace(b'"created": "2026', b'"created": "26'), "created: found"),
    ],
)
def test_a_night_that_lacks_something_is_left_out_by_its_name(bench, spoil, remark):
    """The remark says which file and which key; nothing is raised, now or later."""
    path = bench.begin(FakeWork()).directory / "night.json"
    whole = path.read_bytes()
    path.write_bytes(spoil(whole))
    assert path.read_bytes() != whole
    nights, remarks = read_night_files(bench.nights)
    assert nights == []
    assert remarks[0].startswith(f"{path}: ")
    assert remark in remarks[0]
    assert remarks[0].endswith("The night is left out.")


def test_seeds_take_turns(bench):
    """The night's number chooses them, two nights running share none, and they recur, so that two releases share them."""
    nights = [bench.begin(FakeWork(), n_seeds=2, is_again=True, when=when) for when in (0, 1, 8)]
    first, second, later = (night.document.seeds for night in nights)
    assert first == later == (2 * nights[0].document.number % 16, (2 * nights[0].document.number + 1) % 16)
    assert second == ((first[1] + 1) % 16, (first[1] + 2) % 16)


def test_numbers_grow_whatever_became_of_earlier_nights(bench):
    """Twice on a date, on the next, and after the folder was cleared: MLflow's timelines take no number twice."""
    nights = [bench.begin(FakeWork(), is_again=True, when=when) for when in (0, 0, 1)]
    numbers = [night.document.number for night in nights]
    assert numbers == [304, 305, 306]
    for night in nights:
        shutil.rmtree(night.directory)
    assert bench.begin(FakeWork(), when=3).document.number == 307


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
