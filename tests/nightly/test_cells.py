"""Which cells a night has, and what a look at each is worth."""

from collections import Counter

import pytest

from tests.nightly.nights import RECIPE, a_cell
from vigil.documents.context import FRAMEWORKS
from vigil.documents.night import REPRODUCE, VERIFY
from vigil.nightly.cells import cell_of, night_cells, row_of

STEP = a_cell(VERIFY)


def test_a_night_has_every_context_of_verify_and_of_the_matrix():
    """36 verifications and 12 reproductions for each framework, each once."""
    cells = night_cells(RECIPE, "quick", frameworks=FRAMEWORKS)
    assert Counter((cell.kind, cell.framework) for cell in cells) == {
        (kind, framework): count for kind, count in ((VERIFY, 36), (REPRODUCE, 12)) for framework in FRAMEWORKS
    }
    assert len({cell.key for cell in cells}) == len(cells)


def test_every_reproduction_has_a_verification_before_it():
    """What is trained has been held against the tape in the same context."""
    cells = night_cells(RECIPE, "quick", frameworks=FRAMEWORKS)
    assert {cell.verification for cell in cells if cell.kind == REPRODUCE} <= set(cells)
    assert STEP.verification is None


def test_what_departs_from_the_plain_context_in_one_thing_is_verified_in_full():
    """Eight of 36 contexts a framework: the plain one, two modes, three precisions, two placements. Rows keep the form."""
    cells = [cell for cell in night_cells(RECIPE, "quick", frameworks=["jax"]) if cell.kind == VERIFY]
    assert Counter(cell.is_short for cell in cells) == {False: 8, True: 28}
    rows = [row_of(cell, basis="b", chosen="") for cell in cells]
    assert [cell_of(row).is_short for row in rows] == [cell.is_short for cell in cells]


def test_without_a_golden_tape_there_are_reproductions_only():
    """There is nothing to verify against."""
    cells = night_cells(RECIPE, "smoke", frameworks=["jax"], is_verified=False)
    assert {(cell.kind, cell.profile) for cell in cells} == {(REPRODUCE, "smoke")}


@pytest.mark.parametrize("context", ["jax-eager-fp32-x1", "jax-jit-bf16-x1", "jax-jit-fp32-x2", "jax-compile-fp16-x1"])
def test_the_plain_verification_is_worth_the_most(context):
    """Jit, fp32, one device; and a verification more than the reproduction of its context."""
    assert STEP.value > a_cell(VERIFY, context).value
    assert STEP.value > a_cell(REPRODUCE).value
