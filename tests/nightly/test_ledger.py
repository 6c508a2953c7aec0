"""What earlier nights say of a cell: covered, due, and since when."""

import pytest

from tests.nightly.nights import a_cell, a_document, a_row, day
from vigil.documents.night import REPRODUCE, VERIFY
from vigil.nightly.ledger import Ledger

CELL = a_cell()


def ledger_of(*nights):
    """Return the ledger of nights, each a list of rows, one a day."""
    return Ledger([a_document(rows, number=number + 1, when=day(number)) for number, rows in enumerate(nights)])


def test_a_verdict_covers_its_own_basis_only():
    """A cell that was looked at is not due, until anything that its verdict stands on changes."""
    ledger = ledger_of([a_row(CELL)])
    assert ledger.due(CELL, "b", when=day(1)) is None
    assert "has changed since night 2026-11-01-1" in ledger.due(CELL, "other", when=day(1)).chosen


@pytest.mark.parametrize("verdict", ["reproduced", "unknown", "unsupported", "known-finding"])
def test_what_was_decided_covers(verdict):
    """A verdict that another look would give again covers."""
    assert ledger_of([a_row(CELL, verdict=verdict)]).is_covered(CELL, "b")


@pytest.mark.parametrize("verdict", ["failed:crash", "failed:environment", "failed:hang"])
def test_a_failure_covers_nothing_and_comes_first(verdict):
    """A crash is neither a mismatch nor a pass: the cell is due again, before others."""
    due = ledger_of([a_row(CELL, verdict=verdict)]).due(CELL, "b", when=day(1))
    assert due.is_urgent
    assert verdict in due.chosen


@pytest.mark.parametrize(("stands", "is_covered"), [(True, True), (False, False), (None, False)])
def test_a_number_that_chance_explains_is_looked_at_again(stands, is_covered):
    """Outside its band and standing is a finding; outside by chance, or not yet judged because of a kill, is open."""
    assert ledger_of([a_row(CELL, verdict="regressed", stands=stands)]).is_covered(CELL, "b") is is_covered


def test_the_last_look_decides():
    """A cell that was fine, and failed when it was asked for again, is not covered."""
    assert not ledger_of([a_row(CELL)], [a_row(CELL, verdict="failed:crash")]).is_covered(CELL, "b")


def test_a_release_that_comes_back_is_covered_still():
    """A verdict of three nights ago holds if its basis is today's again, and not the later one of another basis."""
    ledger = ledger_of([a_row(CELL, basis="old")], [a_row(CELL, basis="new", verdict="failed:crash")])
    assert ledger.is_covered(CELL, "old")
    assert not ledger.is_covered(CELL, "new")


def test_waiting_begins_with_the_first_night_that_left_a_cell():
    """It waits over changes of its basis, and until it is looked at: a new release every night must not make it young again."""
    rows = [[a_row(CELL, basis=basis, verdict=None)] for basis in "abc"]
    assert ledger_of(*rows).due(CELL, "d", when=day(3)).since == day(0)
    looked_at = ledger_of(*rows, [a_row(CELL, basis="d")])
    assert looked_at.due(CELL, "e", when=day(4)).since == day(4)


def test_what_today_left_waits_for_another_date():
    """On the same basis and UTC date; not where a night was broken off, nor on a new basis."""
    ledger = ledger_of([a_row(CELL, verdict=None)])
    due, later = ledger.due(CELL, "b", when=day(0)), ledger.due(CELL, "b", when=day(1))
    assert ledger.left_today(due, when=day(0))
    assert not ledger.left_today(later, when=day(1))
    assert not ledger.left_today(ledger.due(CELL, "new", when=day(0)), when=day(0))
    broken_off = Ledger([a_document([a_row(CELL, verdict=None)], finished=None)])
    assert not broken_off.left_today(due, when=day(0))


def test_kinds_and_recipes_are_different_cells():
    """A verification does not cover a reproduction of the same context, nor one recipe another."""
    ledger = ledger_of([a_row(a_cell(VERIFY))])
    assert not ledger.is_covered(a_cell(REPRODUCE), "b")
    assert not ledger.is_covered(a_cell(VERIFY, recipe="moco_lite"), "b")


def test_a_look_counts_by_seed():
    """Two seeds take twice as long as one; a verification has no seeds."""
    rows = [a_row(CELL, seconds=60.0), a_row(a_cell(VERIFY), seconds=60.0)]
    ledger = Ledger([a_document(rows, seeds=[1, 2])])
    assert (ledger.last(CELL).seconds, ledger.last(a_cell(VERIFY)).seconds) == (30.0, 60.0)
