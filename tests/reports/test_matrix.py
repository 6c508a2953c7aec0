"""The notes of a matrix: what is expected by chance, and what stands when all cells are taken together."""

from __future__ import annotations

import pytest

from reports.matrix import COLUMNS, MatrixCell, notes, rows
from tests.documents import a_judgement, a_record, an_invocation
from vigil.documents.judgement import JudgedTarget


def cell(context: str, p_value: float | None, verdict: str = "reproduced") -> MatrixCell:
    return MatrixCell(an_invocation(context=context, verdict=a_judgement(name=verdict, p_value=p_value)), None)


def others(count: int) -> list[MatrixCell]:
    """Return so many cells that are right, each of a context of its own."""
    return [cell(f"torch-jit-fp32-x{n + 1}", 0.1 + n / 25) for n in range(count)]


A, B, C, D = (f"jax-jit-fp32-x{devices}" for devices in (1, 2, 3, 4))


def said(*cells: MatrixCell) -> str:
    return "\n".join(notes(list(cells), missing=[]))


def test_one_small_p_value_among_many_does_not_stand():
    """p = 0.008 of one cell in twenty is what chance does: its verdict stays, the correction says none."""
    cells = [cell("jax-jit-fp32-x1", 0.008, "regressed"), *others(19)]
    text = said(*cells)
    assert "20 cells judged at 1% false alarms each: 0.20 expected by chance" in text
    assert "at a false discovery rate of 5%, the metric of none of 20 cells is outside" in text


def test_a_tiny_p_value_stands_with_its_adjusted_value():
    """p = 1e-6 of twenty is 2e-5 adjusted: twenty times as large, and told."""
    text = said(cell("jax-jit-fp32-x1", 1e-6, "regressed"), *others(19))
    assert "the metric of jax-jit-fp32-x1 (adjusted p 2e-05) is outside" in text


def test_several_stand_together():
    """Benjamini and Hochberg: 0.01, 0.02 and 0.03 of four are 0.04 each, where Bonferroni would keep one."""
    text = said(cell(A, 0.01), cell(B, 0.02), cell(C, 0.03), cell(D, 0.9))
    assert f"{A} (adjusted p 0.04), {B} (adjusted p 0.04), {C} (adjusted p 0.04) is outside" in text


@pytest.mark.parametrize("verdict", ["failed:hang", "unsupported", "unknown"])
def test_cells_that_were_not_judged_are_not_counted(verdict):
    """A crash is neither evidence nor one of the tests."""
    text = said(cell(A, 0.02), cell(B, None, verdict))
    assert f"{A} (adjusted p 0.02) is outside" in text


def test_a_cell_recorded_before_there_were_p_values_is_left_out():
    """Without a p value nothing is said of it, and nothing breaks."""
    old = cell(B, None)
    assert "taken together" not in said(old)
    assert "none of 1 cells" in said(old, cell(A, 0.5))


def test_printed_digits_are_no_chance():
    """A cell held to a published value's digits is counted apart, and shows them in the place of a band."""
    outcome = {"metric": "train_loss", "seed": 0, "value": 0.0428982}
    target = JudgedTarget(
        value=0.042898, published_as="p", source="s", link="l", judged=True, meets=True, tolerance=5e-7, reason="r", exact=outcome
    )
    verdict = a_judgement(metric="train_loss", unit="nats", mean=0.0428982, band=None, p_value=None, targets=(target,))
    exact = MatrixCell(an_invocation(context=A, verdict=verdict), None)
    text = said(exact, cell(B, 0.5))
    assert "1 cells judged at 1% false alarms each: 0.01 expected by chance" in text
    assert "1 cells held to printed digits" in text
    assert rows([exact])[0][2:4] == ("0.042898", "0.042898 exactly")


def trained(*losses: float | str, status: str = "finished", precision: str = "fp32") -> MatrixCell:
    """Return a cell with these losses of its first seed, as its record holds them."""
    return MatrixCell(an_invocation(context=f"jax-jit-{precision}-x1"), a_record(losses=losses, status=status))


def distances(*cells: MatrixCell) -> list[str]:
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
