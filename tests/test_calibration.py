"""The benchmark of the statistics: what it calls near, and that a rule that is off shows in its summary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import band_calibration
from benchmarks.calibration import frameworks, one_side, two_sides
from benchmarks.calibration.draws import DISTRIBUTIONS, Rate, Table
from vigil.statistics.paired import compare_releases, paired, pooled


@pytest.mark.parametrize(
    ("actual", "is_bound", "is_near"),
    [(0.01, False, True), (0.0079, False, False), (0.0121, False, False), (0.001, True, True), (0.0121, True, False)],
)
def test_near_is_within_a_fifth_and_a_bound_may_be_undercut(actual, is_bound, is_near):
    """A rate on either side by more than 20 % is far; below a bound is what a bound promises."""
    assert Rate("m", "c", 0.01, actual, is_bound).is_near is is_near


def test_a_rate_that_is_off_stands_in_the_summary():
    """Method, case, nominal and actual; the others are counted."""
    table = Table("t", [], rates=[Rate("band", "one", 0.01, 0.0102), Rate("band", "two", 0.01, 0.031)])
    text = "\n".join(band_calibration.summary([table]))
    assert "| band | 1.00 | 1.02 to 3.10 | 1 of 2 |" in text
    assert "| band | two | 1.00 | 3.10 |" in text
    assert "| band | one |" not in text


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_distribution_has_mean_0_and_deviation_1(name):
    """So that a shift in deviations means the same in each."""
    draws = DISTRIBUTIONS[name](np.random.default_rng(0), (400_000,))
    assert abs(draws.mean()) < 0.01
    assert draws.std() == pytest.approx(1.0, abs=0.03)


def test_the_array_methods_are_those_that_compare_releases():
    """Paired and pooled p values of trials are those of two dictionaries."""
    new, old = np.random.default_rng(1).standard_normal((2, 20, 6))
    found = two_sides.p_values(new, old)
    for trial in range(20):
        sides = dict(enumerate(new[trial])), dict(enumerate(old[trial]))
        assert found["paired"][trial] == pytest.approx(paired(*sides).p_value)
        assert found["pooled"][trial] == pytest.approx(pooled(*sides).p_value)
    new[::2, 0] -= 90.0  # a run that fails, which one side's spread alone finds
    alarms = two_sides.alarms(new, old, two_sides.p_values(new, old), "paired")
    each = [compare_releases(dict(enumerate(a)), dict(enumerate(b))).decision for a, b in zip(new, old, strict=True)]
    assert list(alarms) == [decision == "lower" for decision in each]
    assert alarms.sum() >= 8


def test_the_alternatives_agree_where_they_must(monkeypatch):
    """Without likeness and framework effects the random-effects view is nearly as wide as the mean of all rows."""
    monkeypatch.setattr(frameworks, "N_TRIALS", 4000)
    generator = np.random.default_rng(2)
    trials = frameworks.draw_trials(generator, DISTRIBUTIONS["Gaussian"], n_seeds=10, likeness=0.0, framework_spread=0.0)
    usual, random = frameworks.all_rows(trials), frameworks.random_effects(trials, n_new=1)
    assert random.mean == pytest.approx(usual.mean)
    assert frameworks._half_width(random, n_new=1) == pytest.approx(frameworks._half_width(usual, n_new=1), rel=0.06)
    alone, own = frameworks.own_rows_alone(trials), frameworks.own_rows(trials)
    assert alone.mean == pytest.approx(own.mean)
    assert frameworks._half_width(own, n_new=1) < 0.95 * frameworks._half_width(alone, n_new=1)


def test_every_table_has_rows_as_wide_as_its_header(monkeypatch):
    """Made with few trials, the page has every table, and Markdown that is whole."""
    for module in (one_side, frameworks, two_sides):
        monkeypatch.setattr(module, "N_TRIALS", 200)
    tables = [make(np.random.default_rng(0)) for make in (one_side.floors, frameworks.scatter, two_sides.unequal_numbers)]
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)
    text = band_calibration.page(tables, seconds=1.0)
    assert all(f"## {table.title}" in text for table in tables)


def test_the_page_quotes_the_tables_as_they_were_generated():
    """Every line of the summary in docs/statistics-tables.md stands in docs/statistics.md."""
    docs = Path(__file__).resolve().parent.parent / "docs"
    generated = (docs / "statistics-tables.md").read_text(encoding="utf-8")
    summary = generated.split("## Nominal and actual")[1].split("###")[0].strip().splitlines()
    text = (docs / "statistics.md").read_text(encoding="utf-8").splitlines()
    assert len(summary) > 5
    assert [line for line in summary if line not in text] == []
