"""Cells that fail are tried again in the same night where that is worth it, and what failures took is told by category."""

from __future__ import annotations

import threading

import pytest

from reports import night_summary
from tests.nightly.bench import N_CELLS
from tests.nightly.nights import FakeWork, a_cell, a_document, a_row, day
from vigil.documents.night import DONE, FailedTry, Night
from vigil.documents.verdict import Verdict
from vigil.failures.retries import MOST_TRIES
from vigil.failures.triage import told
from vigil.nightly import conduct
from vigil.nightly.cell_pool import CellOutcome
from vigil.nightly.ledger import Ledger
from vigil.nightly.night_verdict import judge_night, lost_time

KEY = "verify resnet_cifar quick jax-jit-fp32-x1"
CELL = a_cell()
HANG = told("hang", "evidence", "no progress for 900 s")
GONE = told("path_not_found", "evidence", "FileNotFoundError: [Errno 2] No such file or directory: 'a'")
BROKEN = told("type_mismatch", "rule", "TypeError: 3 is no text")
KILLED = told("killed", "evidence", "it was ended by SIGKILL")
MEMORY = told("out_of_memory", "evidence", "the kernel killed 1 of its processes for memory")


class Flaky(FakeWork):
    """Work of which one cell fails so often, and then is right."""

    def __init__(self, outcome: CellOutcome, *, times: int) -> None:
        super().__init__()
        self.outcome, self.times = outcome, times

    def carry_out(self, cell, directory: str, cores, stop: threading.Event) -> CellOutcome:
        right = super().carry_out(cell, directory, cores, stop)
        return self.outcome if cell.key == KEY and self.started.count(KEY) <= self.times else right


def test_a_cell_that_hung_is_tried_again_after_all_others(bench):
    """Once, in a directory of its own; the try that failed stays in the night."""
    work = Flaky(CellOutcome(Verdict.FAILED_HANG, "no progress", triage=HANG), times=1)
    night = bench.begin(work)
    row = Night.read(night.directory).cells[[cell.key for cell in night.document.cells].index(KEY)]
    assert (row.verdict, row.status, row.triage) == (Verdict.REPRODUCED, DONE, None)
    assert [(each.verdict, each.triage.category) for each in row.tries] == [(Verdict.FAILED_HANG, "hang")]
    assert row.directory != row.tries[0].directory
    verified = [key for key in work.started if key.startswith("verify")]
    assert verified[-1] == KEY
    assert night.document.verdict.counts == {"reproduced": N_CELLS}


def test_what_fails_the_same_way_again_is_told_and_is_the_last_try(bench):
    """At most so often."""
    work = Flaky(CellOutcome(Verdict.FAILED_HANG, "no progress", triage=HANG), times=9)
    night = bench.begin(work)
    assert work.started.count(KEY) == MOST_TRIES
    [lost] = night.document.lost
    assert (lost.category, lost.failures, lost.tries, lost.useless) == ("hang", 2, 1, 1)
    assert night.document.verdict.exit_code == 3


@pytest.mark.parametrize(
    "outcome",
    [
        CellOutcome(Verdict.FAILED_CRASH, "no such file", triage=GONE),
        CellOutcome(Verdict.FAILED_CRASH, "TypeError: 3 is no text", triage=BROKEN),
        CellOutcome(Verdict.REGRESSED, "3 of 824 tensors are out"),
        CellOutcome(Verdict.UNKNOWN, "too few samples"),
        CellOutcome(Verdict.UNSUPPORTED, "no fp16 on this CPU"),
    ],
)
def test_a_number_that_is_off_and_what_repeats_are_not_tried_away(bench, outcome):
    """One look each."""
    work = Flaky(outcome, times=9)
    night = bench.begin(work)
    assert work.started.count(KEY) == 1
    assert night.cells[KEY].verdict == outcome.verdict
    assert night.cells[KEY].tries == ()


def test_a_cell_without_time_for_its_next_try_has_failed(bench, monkeypatch):
    """It is not left as if nothing had been seen."""
    work = Flaky(CellOutcome(Verdict.FAILED_HANG, "no progress", triage=HANG), times=9)
    monkeypatch.setattr(conduct.Again, "is_worth_it", lambda *_, **__: True)
    monkeypatch.setattr(conduct.NightClock, "left", lambda self: 0.0 if KEY in work.started else 1e6)
    row = bench.begin(work).cells[KEY]
    assert (row.status, row.verdict, row.triage.category) == (DONE, Verdict.FAILED_HANG, "hang")


def test_earlier_nights_tell_a_kill(bench):
    """The cell ran out of memory before, so that it did now."""
    bench.begin(Flaky(CellOutcome(Verdict.FAILED_DIED, "killed", triage=MEMORY), times=9))
    night = bench.begin(Flaky(CellOutcome(Verdict.FAILED_DIED, "killed", triage=KILLED), times=9), when=1)
    triage = night.cells[KEY].triage
    assert (triage.category, triage.basis) == ("out_of_memory", "history")
    assert (triage.retry.helped, triage.retry.tried) == (0, 2)


def test_a_program_that_failed_twice_is_not_run_again_on_the_same_basis(bench):
    """It waits for another release, recipe or code, and is told until then."""
    work = Flaky(CellOutcome(Verdict.FAILED_CRASH, "TypeError: 3 is no text", triage=BROKEN), times=9)
    for when in (0, 1):
        bench.begin(work, when=when)
    third = bench.begin(work, when=2)
    assert work.started.count(KEY) == 2
    assert [finding.key for finding in third.standing] == [KEY]
    assert conduct.judge_night(a_document([], standing=third.standing), Ledger([])).verdict.exit_code == 3


def test_what_a_person_may_mend_beside_the_program_is_looked_at_every_night(bench):
    """A path that was not there may be there tomorrow."""
    work = Flaky(CellOutcome(Verdict.FAILED_CRASH, "no such file", triage=GONE), times=9)
    for when in range(3):
        bench.begin(work, when=when)
    assert work.started.count(KEY) == 3


def test_time_lost_is_by_category_and_the_dearest_comes_first():
    """A try that failed is a failure of its own; one after a failure of the night before is a try again, too."""
    hung = FailedTry(verdict="failed:hang", reason="r", triage=HANG, seconds=90.0, directory="run-1")
    earlier = a_document([a_row(CELL, verdict="failed:crash", triage=GONE)], when=day(0))
    other = a_cell(context="jax-eager-fp32-x1")
    rows = [
        a_row(CELL, verdict="failed:crash", triage=GONE, seconds=7.0),
        a_row(other, tries=(hung,), seconds=100.0),
    ]
    lost = lost_time(rows, Ledger([earlier]))
    assert [(each.category, each.failures, each.seconds, each.tries, each.useless) for each in lost] == [
        ("hang", 1, 90.0, 1, 0),
        ("path_not_found", 1, 7.0, 1, 1),
    ]


def test_the_summary_shows_what_to_fix_first():
    """In Markdown and JSON; a night without failures has no such table."""
    night = judge_night(a_document([a_row(CELL, verdict="failed:crash", triage=GONE, seconds=70.0)]), Ledger([]))
    page = night_summary.markdown(night)
    assert "## Time lost to failures" in page
    assert "| path not found | 1 | 1 min 10 s | 0 | 0 |" in page
    assert night_summary.summary(night)["lost"][0]["category"] == "path_not_found"
    assert "Time lost" not in night_summary.markdown(judge_night(a_document([a_row(CELL)]), Ledger([])))


def test_a_night_reads_back_as_it_was_written(tmp_path):
    """With tries and triage."""
    hung = FailedTry(verdict="failed:hang", reason="r", triage=HANG, seconds=90.0, directory=None)
    night = judge_night(a_document([a_row(CELL, tries=(hung,))]), Ledger([]))
    night.write(tmp_path)
    assert Night.read(tmp_path) == night
