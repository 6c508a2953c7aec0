"""The notes of a matrix: what is expected by chance, and what stands when all cells are taken together."""

from __future__ import annotations

import pytest

from reports.matrix import COLUMNS, Cell, notes, rows


def cell(name: str, p_value: float | None, verdict: str = "reproduced") -> Cell:
    return Cell({"context": {"text": name}, "verdict": {"name": verdict, "p_value": p_value}}, None)


def said(*cells: Cell) -> str:
    return "\n".join(notes(list(cells), missing=[]))


def test_one_small_p_value_among_many_does_not_stand():
    """p = 0.008 of one cell in twenty is what chance does: its verdict stays, the correction says none."""
    cells = [cell("jax-jit-fp32-x1", 0.008, "regressed"), *(cell(f"c{n}", 0.1 + n / 25) for n in range(19))]
    text = said(*cells)
    assert "20 cells judged at 1% false alarms each: 0.20 expected by chance" in text
    assert "at a false discovery rate of 5%, the metric of none of 20 cells is outside" in text


def test_a_tiny_p_value_stands_with_its_adjusted_value():
    """p = 1e-6 of twenty is 2e-5 adjusted: twenty times as large, and told."""
    text = said(cell("jax-jit-fp32-x1", 1e-6, "regressed"), *(cell(f"c{n}", 0.1 + n / 25) for n in range(19)))
    assert "the metric of jax-jit-fp32-x1 (adjusted p 2e-05) is outside" in text


def test_several_stand_together():
    """Benjamini and Hochberg: 0.01, 0.02 and 0.03 of four are 0.04 each, where Bonferroni would keep one."""
    text = said(cell("a", 0.01), cell("b", 0.02), cell("c", 0.03), cell("d", 0.9))
    assert "a (adjusted p 0.04), b (adjusted p 0.04), c (adjusted p 0.04) is outside" in text


@pytest.mark.parametrize("verdict", ["failed:hang", "unsupported", "unknown"])
def test_cells_that_were_not_judged_are_not_counted(verdict):
    """A crash is neither evidence nor one of the tests."""
    text = said(cell("a", 0.02), cell("b", None, verdict))
    assert "a (adjusted p 0.02) is outside" in text


def test_a_cell_recorded_before_there_were_p_values_is_left_out():
    """Without the key nothing is said of it, and nothing breaks."""
    old = Cell({"context": {"text": "old"}, "verdict": {"name": "reproduced"}}, None)
    assert "taken together" not in said(old)
    assert "none of 1 cells" in said(old, cell("a", 0.5))


def trained(*losses: float | str, status: str = "finished", precision: str = "fp32") -> Cell:
    """Return a cell with these losses of its first seed, as its record holds them."""
    verdict = {"name": "reproduced", "reason": "", "mean": 88.0, "band": None}
    invocation = {"context": {"text": "a", "precision": precision, "devices": 1}, "verdict": verdict, "wall_seconds": 1.0}
    return Cell(invocation, {"losses": list(losses), "status": status, "timing": {"first_step_seconds": 1.0}})


def distances(*cells: Cell) -> list[str]:
    """Return the column that says how far losses are apart."""
    return [row[COLUMNS.index("losses differ by")] for row in rows(cells)]


def test_losses_are_compared_over_all_steps_whatever_died_early():
    """A cell that died after a step neither shortens what the others are compared over nor is their measure."""
    assert distances(trained(2.0, 1.0), trained(2.0, 1.0), trained(2.0, 1.5, precision="bf16")) == [
        "0.0e+00",
        "0.0e+00",
        "5.0e-01",
    ]
    died = trained(2.0, status="failed")
    assert distances(died, trained(2.0, 1.0), trained(2.0, 1.0), trained(2.0, 1.5, precision="bf16"))[-1] == "5.0e-01"


@pytest.mark.parametrize("losses", [(2.0, "nan"), ("nan", 1.0), (2.0, "inf")])
def test_a_loss_that_is_not_finite_is_said_wherever_it_stands(losses):
    """It is neither passed over in the maximum nor a part of the others' median."""
    assert distances(trained(*losses), trained(2.0, 1.0), trained(2.0, 1.0)) == ["not finite", "0.0e+00", "0.0e+00"]


def test_a_loss_of_zero_breaks_no_table():
    """A network that is right beyond all doubt has it; another loss at that step is infinitely far."""
    assert distances(trained(2.0, 0.0), trained(2.0, 0.0), trained(2.0, 0.1)) == ["0.0e+00", "0.0e+00", "inf"]
