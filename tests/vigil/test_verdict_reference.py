"""Which rows of a reference count for a verdict, when they are too few, and that no sample judges itself."""

from __future__ import annotations

import pytest

from tests.vigil.judged import METRIC, RECIPE, make_rows, run_judge
from vigil.references.samples import MIN_SAMPLES


def test_a_reference_without_spread_still_has_a_band():
    """Equal samples leave the floor of the test set, and a value one image off is reproduced."""
    verdict = run_judge([(100, 80.05)], rows=make_rows(spread=0.0))
    assert verdict.name == "reproduced"
    assert verdict.band.spread == pytest.approx(0.0, abs=1e-9)
    assert verdict.band.high - verdict.band.low > 2 * verdict.band.spread_floor > 0.8
    assert run_judge([(100, 75.0)], rows=make_rows(spread=0.0)).name == "regressed"


def test_a_reference_without_spread_or_known_floor_is_unknown():
    """A unit whose measurement noise is unknown gets no band of width zero."""
    rows = make_rows(spread=0.0, mean=1.5, unit="nats")
    verdict = run_judge([(100, 1.5)], rows=rows, metric={**METRIC, "unit": "nats", "direction": "lower"})
    assert (verdict.name, verdict.band) == ("unknown", None)
    assert "no floor is known for nats" in verdict.reason


def test_seven_samples_are_too_few():
    """Seven rows give unknown with found and needed, and one row more gives a verdict."""
    verdict = run_judge([(100, 80.0)], rows=make_rows(MIN_SAMPLES - 1, frameworks=("jax",)))
    assert (verdict.name, verdict.band, verdict.detectable_drop) == ("unknown", None, None)
    assert "found 7 usable reference samples" in verdict.reason
    assert "needed are 8" in verdict.reason
    assert verdict.values[0].verdict == "unknown"
    assert verdict.name.exit_code == 4
    assert run_judge([(100, 80.0)], rows=make_rows(MIN_SAMPLES, frameworks=("jax",))).name == "reproduced"


def test_many_samples_of_few_seeds_are_too_few():
    """Twelve rows of four seeds do not show how seeds differ."""
    verdict = run_judge([(100, 80.0)], rows=make_rows(4))
    assert verdict.name == "unknown"
    assert "of 4 seeds" in verdict.reason


@pytest.mark.parametrize("change", [{"hash": "bb22"}, {"version": 2}, {"profile": "paper"}, {"name": "gru"}])
def test_a_reference_of_another_recipe_is_unknown(change):
    """A perfect value is not reproduced by samples of a recipe with another hash, version, profile or name."""
    verdict = run_judge([(100, 80.0)], recipe=RECIPE.replace(**change))
    assert (verdict.name, verdict.band) == ("unknown", None)
    assert "vigil reference add" in verdict.reason


def test_a_reference_in_another_unit_is_unknown():
    """Fractions are not compared with percent."""
    verdict = run_judge([(100, 80.0)], rows=make_rows(mean=0.8, spread=0.01, unit="fraction"))
    assert verdict.name == "unknown"
    assert "fraction" in verdict.reason


def test_frameworks_that_repeat_a_seed_do_not_count_as_new_samples():
    """Three frameworks with the very same value for each of ten seeds are worth ten samples."""
    rows = make_rows()
    rows = [row.replace(value=rows[3 * row.seed].value) for row in rows]
    band = run_judge([(100, 80.0)], rows=rows).band
    assert (band.n, band.n_seeds) == (30, 10)
    assert band.n_effective == pytest.approx(10.0)


def test_a_sample_does_not_judge_itself():
    """The row of the same seed and context leaves the band; the same seed elsewhere stays, and the reason says so."""
    own = [row for row in make_rows() if row.run_id == "jax-0"]
    verdict = run_judge([(0, own[0].value), (100, 80.0)])
    assert verdict.band.n == 29
    assert "seed 0 is also in the reference, 1 of the same context left out" in verdict.reason
    elsewhere = run_judge([(0, 80.0)], context="jax-eager-fp32-x1")
    assert elsewhere.band.n == 30
    assert "in other contexts only" in elsewhere.reason


def test_an_outlier_in_the_reference_cannot_excuse_its_own_repeat():
    """A broken run that got into the reference is flagged when its seed is run again."""
    rows = make_rows(12, frameworks=("jax",))
    rows[0] = rows[0].replace(value=70.0)
    assert run_judge([(100, 70.0)], rows=rows).name == "reproduced"
    assert run_judge([(0, 70.0)], rows=rows).name == "regressed"


def test_too_few_samples_besides_the_own_ones_is_unknown():
    """Eight rows of which two are the judged runs themselves leave six."""
    verdict = run_judge([(0, 80.0), (1, 80.0)], rows=make_rows(8, frameworks=("jax",)))
    assert verdict.name == "unknown"
    assert "found 6 usable" in verdict.reason
    assert "seeds 0, 1 are also in the reference" in verdict.reason


def test_a_run_is_judged_around_its_own_frameworks_rows():
    """A framework that is four points lower for good reproduces itself, and is told to differ; another one there is regressed."""
    rows = [row.replace(value=row.value - (4.0 if row.framework == "jax" else 0.0)) for row in make_rows()]
    low = run_judge([(100, 75.6)], rows=rows)
    assert low.name == "reproduced"
    assert "the reference's frameworks differ" in low.reason
    assert "10 of jax" in low.band.method
    assert run_judge([(100, 75.6)], rows=rows, context="torch-jit-fp32-x1").name == "regressed"
    assert "differ" not in run_judge([(100, 79.6)]).reason


def test_a_framework_that_the_reference_lacks_is_told():
    """It is judged around all rows, and the reason says what is not allowed for."""
    verdict = run_judge([(100, 80.0)], rows=make_rows(frameworks=("tensorflow", "torch")))
    assert verdict.name == "reproduced"
    assert "the reference has no runs of jax" in verdict.reason
    assert verdict.band.mean == pytest.approx(80.0)


def test_rows_that_are_equal_within_each_framework_have_no_spread():
    """What three frameworks repeat to the last digit says nothing of noise, though they differ from each other."""
    values = {"jax": 0.1, "tensorflow": 0.3, "torch": 0.7}
    rows = [row.replace(value=values[row.framework]) for row in make_rows(unit="nats")]
    verdict = run_judge([(100, 0.1 + 1e-9)], rows=rows, metric={**METRIC, "unit": "nats"})
    assert (verdict.name, verdict.p_value) == ("unknown", None)
    assert "no spread" in verdict.reason
