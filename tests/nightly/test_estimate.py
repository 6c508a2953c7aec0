"""How long a cell will take: what it took, else a default that learns."""

import dataclasses

import pytest

from tests.nightly.nights import a_cell, a_document, a_row, all_cells
from vigil.documents.context import FRAMEWORKS
from vigil.documents.night import VERIFY
from vigil.documents.verdict import Verdict
from vigil.nightly.ledger import Ledger
from vigil.nightly.night_plan import Estimator

CELL = a_cell()
STEPS = [a_cell(VERIFY, f"jax-{mode}-fp32-x{n}") for mode in ("eager", "jit", "compile") for n in (1, 2)]


def estimator_of(*rows, n_seeds=1, **facts):
    """Return what is estimated after one night."""
    return Estimator(Ledger([a_document(rows, **facts)]), n_seeds=n_seeds)


def test_a_cell_takes_as_long_as_it_took():
    """The last time counts, by the seed."""
    assert estimator_of(a_row(CELL, seconds=60.0)).seconds(CELL) == 60.0
    assert estimator_of(a_row(CELL, seconds=60.0), seeds=[1, 2], n_seeds=3).seconds(CELL) == 90.0


def test_every_cell_has_a_default():
    """Of every framework, mode and number of devices; more seeds take longer, a verification has none."""
    one, two = (Estimator(Ledger([]), n_seeds=n) for n in (1, 2))
    for cell in all_cells(FRAMEWORKS):
        assert two.seconds(cell) == one.seconds(cell) * (1 if cell.kind == VERIFY else 2) > 0.0


def test_defaults_learn_from_what_was_run():
    """On a machine that takes four times as long, what was never run is taken to take four times as long."""
    fresh = Estimator(Ledger([]), n_seeds=1)
    slow = estimator_of(*[a_row(step, seconds=4.0 * fresh.seconds(step)) for step in STEPS])
    assert slow.seconds(CELL) == pytest.approx(4.0 * fresh.seconds(CELL))


def test_they_learn_tonight():
    """Each cell that ends counts at once."""
    estimator, before = Estimator(Ledger([]), n_seeds=1), Estimator(Ledger([]), n_seeds=1)
    estimator.see(STEPS[0], 2.0 * before.seconds(STEPS[0]), Verdict.REPRODUCED)
    assert estimator.seconds(CELL) == pytest.approx(2.0 * before.seconds(CELL))


def test_one_profile_says_nothing_of_another():
    """A smoke run takes a fiftieth of a quick one: mixed, either estimate would be of no use."""
    smoke = [a_row(dataclasses.replace(step, profile="smoke"), seconds=0.1) for step in STEPS]
    assert estimator_of(*smoke).seconds(CELL) == Estimator(Ledger([]), n_seeds=1).seconds(CELL)


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, 135.0), (3.0, 135.0), (900.0, 900.0)])
def test_a_failure_is_no_measure_of_a_success(seconds, expected):
    """What crashed at once is given the time that it takes when it is mended; what hung, the time that it hung."""
    assert estimator_of(a_row(CELL, verdict="failed:crash", seconds=seconds)).seconds(CELL) == expected


@pytest.mark.parametrize("verdict", ["failed:crash", "unsupported"])
def test_what_ended_early_does_not_teach(verdict):
    """Refused after a second: the next context is not taken to take a second."""
    rows = [a_row(step, verdict=verdict, seconds=1.0) for step in STEPS]
    assert estimator_of(*rows).seconds(CELL) == Estimator(Ledger([]), n_seeds=1).seconds(CELL)
