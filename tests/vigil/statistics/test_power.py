"""What so many runs can see: against closed forms and simulation; the command, its table and what it cannot know."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import vigil.cli.power as command
from tests.vigil.judged import make_rows
from vigil.cli.main import main
from vigil.recipes.loading import identity_of, load_recipe
from vigil.statistics.bands import detectable_drop
from vigil.statistics.finite import BandUndefined
from vigil.statistics.paired import paired
from vigil.statistics.power import basis, power, seeds_needed


def known(*, n_test=20_000, **changes):
    """Return the basis that planted rows make."""
    rows = make_rows(**changes)
    return basis(
        [row.value for row in rows],
        seeds=[row.seed for row in rows],
        frameworks=[row.framework for row in rows],
        unit="percent",
        n_test=n_test,
    )


def test_against_the_reference_it_is_the_detectable_drop_of_a_verdict():
    """The same number as a verdict of so many runs reports."""
    rows = make_rows()
    expected = detectable_drop(
        [row.value for row in rows], n_new=3, spread_floor=known().floor, groups=[row.seed for row in rows],
        frameworks=[row.framework for row in rows], framework="jax",
    )  # fmt: skip
    assert power(known(), 3).against_reference == pytest.approx(expected)


def test_between_releases_it_is_students():
    """Nine times in ten by scipy's noncentral t, for three runs of each: four degrees of freedom."""
    table = known()
    shift = power(table, 3).between_releases / (table.spread * math.sqrt(2 / 3))
    assert stats.nct.sf(stats.t.ppf(0.995, 4), 4, shift) == pytest.approx(0.9, abs=1e-4)


def test_the_paired_column_is_found_nine_times_in_ten():
    """Pairs whose differences scatter as within the reference's seeds show that difference in 88 to 92 % of 4,000 trials."""
    table = known()
    promised = power(table, 8).paired
    differences = np.random.default_rng(1).standard_normal((4000, 8)) * table.within_seeds * math.sqrt(2.0) + promised
    statistic = differences.mean(axis=1) / (differences.std(axis=1, ddof=1) / math.sqrt(8))
    assert 0.88 < np.mean(2 * stats.t.sf(np.abs(statistic), 7) < 0.01) < 0.92
    one = paired(dict(enumerate(differences[0])), dict.fromkeys(range(8), 0.0))
    assert one.p_value == pytest.approx(2 * stats.t.sf(abs(statistic[0]), 7))


def test_more_runs_see_less_and_a_floor_more():
    """Every column falls with the number of runs, and rises with the floor."""
    low, high = known(), known(n_test=100)
    for column in ("against_reference", "between_releases", "paired"):
        sizes = [getattr(power(low, n), column) for n in (2, 3, 5, 7)]
        assert sizes == sorted(sizes, reverse=True)
        assert getattr(power(high, 3), column) > getattr(power(low, 3), column)


def test_what_one_run_and_one_framework_cannot_know_is_none():
    """One run of each release has no spread of its own, and seeds that are not shared tell nothing of pairs."""
    one = power(known(), 1)
    assert one.against_reference > 0.0
    assert (one.between_releases, one.paired) == (None, None)
    assert power(known(frameworks=("jax",)), 5).paired is None


@pytest.mark.parametrize("column", ["between_releases", "paired"])
def test_the_runs_needed_are_the_fewest_that_see_it(column):
    """One fewer does not."""
    table = known()
    n = seeds_needed(table, 1.0, column=column)
    assert getattr(power(table, n), column) <= 1.0 < getattr(power(table, n - 1), column)


@pytest.mark.parametrize("n", [1, 4, 7, 8, 9, 30])
def test_the_runs_needed_are_the_fewest_where_welchs_test_joins(n):
    """Seven runs see less than eight do, for two tests share the false alarms from there: what seven see needs no ten."""
    table = known()
    effect = power(table, n).against_reference
    sees = [count for count in range(1, n + 1) if power(table, count).against_reference <= effect]
    assert seeds_needed(table, effect, column="against_reference") == sees[0]
    assert power(table, 8).against_reference > power(table, 7).against_reference


def test_no_number_of_runs_sees_beyond_the_references_own_error():
    """The reference's mean is itself uncertain: below that, more runs do not help."""
    table = known()
    assert seeds_needed(table, 0.2, column="against_reference") is None
    assert seeds_needed(table, 0.2, column="paired") is not None


def test_rows_without_a_band_are_an_error():
    """One seed is no basis."""
    with pytest.raises(BandUndefined):
        known(n_seeds=1, n_test=100)


@pytest.fixture
def reference(monkeypatch):
    """Return a function that makes the reference of resnet_cifar's quick profile what it is given."""

    def make(rows) -> None:
        identity = identity_of(load_recipe("resnet_cifar"), "quick")
        monkeypatch.setattr(command, "load_rows", lambda *facts: [row.replace(recipe=identity) for row in rows])

    return make


def test_the_command_prints_a_table_in_points_and_deviations(reference, capsys):
    """A row a number of runs, which method `vigil compare` takes, and how many runs an effect needs."""
    reference(make_rows())
    assert main(["power", "resnet_cifar", "--seeds", "3,8", "--effect", "1.5"]) == 0
    printed = capsys.readouterr().out
    assert "points = " in printed
    rows = {line.split("│")[1].strip(): line for line in printed.splitlines() if line.startswith("│")}
    assert set(rows) == {"3", "8"}
    assert (rows["3"].split("│")[3].count("*"), rows["8"].split("│")[4].count("*")) == (1, 1)
    n = seeds_needed(known(n_test=4000), 1.5, column="paired")
    assert f"a difference of 1.50 points, two releases, paired by seed: {n} runs" in printed


@pytest.mark.parametrize(("rows", "reason"), [([], "no reference samples"), (make_rows(4), "of 4 seeds")])
def test_without_a_usable_reference_it_is_unknown(reference, capsys, rows, reason):
    """The exit code is 4, and what to do is said."""
    reference(rows)
    assert main(["power", "resnet_cifar"]) == 4
    printed = capsys.readouterr().out
    assert reason in printed
    assert "vigil reference add" in printed


@pytest.mark.parametrize("options", [["--seeds", "0"], ["--seeds", "three"], ["--effect", "-1"], ["--profile", "quik"]])
def test_a_wrong_option_is_refused(options):
    """Exit code 2."""
    assert main(["power", "resnet_cifar", *options]) == 2
