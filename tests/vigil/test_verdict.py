"""Verdicts on planted references: what is flagged, what stays unknown, and that no sample judges itself."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from vigil.references.samples import MIN_SAMPLES
from vigil.verdict import exit_code, judge

RECIPE = {"name": "resnet_cifar", "version": 1, "hash": "aa11", "profile": "quick"}
METRIC = {"name": "test_accuracy", "unit": "percent", "direction": "higher", "selection": "last"}
JAX = "jax-jit-fp32-x1"
TARGET = {
    "metric": "test_accuracy",
    "value": 80.5,
    "published_as": "19.5 % test error, one run",
    "source": "a paper",
    "link": "https://example.org",
    "selection": "last",
    "protocol": "as there",
    "profile": "quick",
}


def make_rows(n_seeds=10, *, frameworks=("jax", "tensorflow", "torch"), spread=0.8, mean=80.0, unit="percent"):
    generator = np.random.default_rng(2)
    draws = generator.standard_normal((n_seeds, len(frameworks)))
    draws = (draws - draws.mean()) / (draws.std(ddof=1) if draws.size > 1 else 1.0)
    return [
        {
            "recipe": dict(RECIPE),
            "metric": "test_accuracy",
            "unit": unit,
            "value": float(mean + spread * draws[seed, place]),
            "seed": seed,
            "context": {"framework": framework, "text": f"{framework}-jit-fp32-x1"},
            "data": {"name": "generated", "checksum": "c0de"},
            "date": "2024-06-12",
            "run_id": f"{framework}-{seed}",
        }
        for seed in range(n_seeds)
        for place, framework in enumerate(frameworks)
    ]


def run_judge(values, *, rows=None, **changes):
    settings = {
        "rows": make_rows() if rows is None else rows,
        "recipe": RECIPE,
        "metric": METRIC,
        "data": {"checksum": "c0de", "n_test": 2000},
        "context": JAX,
        "profile": "quick",
    }
    return judge(values, **(settings | changes))


def test_a_value_within_the_band_is_reproduced():
    """One run near the reference's mean is reproduced, with a band that says what it was made of."""
    verdict = run_judge([(100, 80.4)])
    assert verdict["name"] == "reproduced"
    assert verdict["values"] == [{"seed": 100, "value": 80.4, "verdict": "reproduced"}]
    band = verdict["band"]
    assert (band["n"], band["n_seeds"], band["frameworks"]) == (30, 10, ["jax", "tensorflow", "torch"])
    assert band["dates"] == ["2024-06-12"]
    assert band["low"] < 80.4 < band["high"]
    assert (verdict["mean_band"], verdict["welch"], verdict["power"]) == (None, None, 0.9)
    assert 2.0 < verdict["detectable_drop"] < 5.0


@pytest.mark.parametrize(
    ("value", "direction", "name"),
    [
        (70.0, "higher", "regressed"),
        (90.0, "higher", "better-than-reference"),
        (70.0, "lower", "better-than-reference"),
        (90.0, "lower", "regressed"),
    ],
)
def test_both_sides_are_outside_and_named_by_the_direction(value, direction, name):
    """A value better than the reference is outside too: a one-sided check would pass it."""
    verdict = run_judge([(100, value)], metric={**METRIC, "direction": direction})
    assert verdict["name"] == name
    assert exit_code(verdict["name"]) == 1


def test_several_runs_are_judged_by_their_mean():
    """Three runs, each inside its band, are regressed together when their mean is off."""
    verdict = run_judge([(100, 78.0), (101, 77.8), (102, 77.9)])
    assert verdict["name"] == "regressed"
    assert [entry["verdict"] for entry in verdict["values"]] == ["reproduced"] * 3
    assert verdict["mean_band"]["low"] > 77.9
    assert verdict["welch"]["difference"] == pytest.approx(-1.697, abs=1e-3)


def test_one_run_outside_among_several_is_told():
    """The mean is inside and one run is not: the verdict stands and the reason says it."""
    verdict = run_judge([(100, 77.2), (101, 80.9), (102, 80.8), (103, 80.7), (104, 80.6)])
    assert verdict["name"] == "reproduced"
    assert verdict["values"][0]["verdict"] == "regressed"
    assert "1 of 5 runs outside" in verdict["reason"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "nan", None])
def test_a_value_that_is_not_finite_is_never_judged(value):
    """NaN compares false with both ends of a band; it is an error and not a verdict."""
    with pytest.raises(ValueError, match="seed 101"):
        run_judge([(100, 80.0), (101, value)])


@pytest.mark.parametrize("values", [[], [(100, 80.0), (100, 80.1)]])
def test_no_value_or_a_repeated_seed_is_refused(values):
    """A verdict needs a run, and the same seed twice is no second sample."""
    with pytest.raises(ValueError, match="values"):
        run_judge(values)


def test_a_reference_without_spread_still_has_a_band():
    """Equal samples leave the floor of the test set, and a value one image off is reproduced."""
    verdict = run_judge([(100, 80.05)], rows=make_rows(spread=0.0))
    assert verdict["name"] == "reproduced"
    assert verdict["band"]["spread"] == pytest.approx(0.0, abs=1e-9)
    assert verdict["band"]["high"] - verdict["band"]["low"] > 2 * verdict["band"]["spread_floor"] > 0.8
    assert run_judge([(100, 75.0)], rows=make_rows(spread=0.0))["name"] == "regressed"


def test_a_reference_without_spread_or_known_floor_is_unknown():
    """A unit whose measurement noise is unknown gets no band of width zero."""
    rows = make_rows(spread=0.0, mean=1.5, unit="nats")
    verdict = run_judge([(100, 1.5)], rows=rows, metric={**METRIC, "unit": "nats", "direction": "lower"})
    assert (verdict["name"], verdict["band"]) == ("unknown", None)
    assert "no floor is known for nats" in verdict["reason"]


def test_seven_samples_are_too_few():
    """Seven rows give unknown with found and needed, and one row more gives a verdict."""
    verdict = run_judge([(100, 80.0)], rows=make_rows(MIN_SAMPLES - 1, frameworks=("jax",)))
    assert (verdict["name"], verdict["band"], verdict["detectable_drop"]) == ("unknown", None, None)
    assert "found 7 usable reference samples" in verdict["reason"]
    assert "needed are 8" in verdict["reason"]
    assert verdict["values"][0]["verdict"] == "unknown"
    assert exit_code(verdict["name"]) == 4
    assert run_judge([(100, 80.0)], rows=make_rows(MIN_SAMPLES, frameworks=("jax",)))["name"] == "reproduced"


def test_many_samples_of_few_seeds_are_too_few():
    """Twelve rows of four seeds do not show how seeds differ."""
    verdict = run_judge([(100, 80.0)], rows=make_rows(4))
    assert verdict["name"] == "unknown"
    assert "of 4 seeds" in verdict["reason"]


@pytest.mark.parametrize("change", [{"hash": "bb22"}, {"version": 2}, {"profile": "paper"}, {"name": "gru"}])
def test_a_reference_of_another_recipe_is_unknown(change):
    """A perfect value is not reproduced by samples of a recipe with another hash, version, profile or name."""
    verdict = run_judge([(100, 80.0)], recipe={**RECIPE, **change})
    assert (verdict["name"], verdict["band"]) == ("unknown", None)
    assert "make reference" in verdict["reason"]


def test_a_reference_in_another_unit_is_unknown():
    """Fractions are not compared with percent."""
    verdict = run_judge([(100, 80.0)], rows=make_rows(mean=0.8, spread=0.01, unit="fraction"))
    assert verdict["name"] == "unknown"
    assert "fraction" in verdict["reason"]


def test_frameworks_that_repeat_a_seed_do_not_count_as_new_samples():
    """Three frameworks with the very same value for each of ten seeds are worth ten samples."""
    rows = make_rows()
    for row in rows:
        row["value"] = rows[3 * row["seed"]]["value"]
    band = run_judge([(100, 80.0)], rows=rows)["band"]
    assert (band["n"], band["n_seeds"]) == (30, 10)
    assert band["n_effective"] == pytest.approx(10.0)


def test_a_sample_does_not_judge_itself():
    """The row of the same seed and context leaves the band; the same seed elsewhere stays, and the reason says so."""
    own = [row for row in make_rows() if row["run_id"] == "jax-0"]
    verdict = run_judge([(0, own[0]["value"]), (100, 80.0)])
    assert verdict["band"]["n"] == 29
    assert "seed 0 is also in the reference, 1 of the same context left out" in verdict["reason"]
    elsewhere = run_judge([(0, 80.0)], context="jax-eager-fp32-x1")
    assert elsewhere["band"]["n"] == 30
    assert "in other contexts only" in elsewhere["reason"]


def test_an_outlier_in_the_reference_cannot_excuse_its_own_repeat():
    """A broken run that got into the reference is flagged when its seed is run again."""
    rows = make_rows(12, frameworks=("jax",))
    rows[0]["value"] = 70.0
    assert run_judge([(100, 70.0)], rows=rows)["name"] == "reproduced"
    assert run_judge([(0, 70.0)], rows=rows)["name"] == "regressed"


def test_too_few_samples_besides_the_own_ones_is_unknown():
    """Eight rows of which two are the judged runs themselves leave six."""
    verdict = run_judge([(0, 80.0), (1, 80.0)], rows=make_rows(8, frameworks=("jax",)))
    assert verdict["name"] == "unknown"
    assert "found 6 usable" in verdict["reason"]
    assert "seeds 0, 1 are also in the reference" in verdict["reason"]


def test_a_target_is_judged_only_under_its_own_profile():
    """Under another profile the published value is shown beside, with no word on whether it is met."""
    (judged,) = run_judge([(100, 80.4)], targets=[TARGET])["targets"]
    assert (judged["judged"], judged["meets"], judged["value"]) == (True, True, 80.5)
    (beside,) = run_judge([(100, 80.4)], targets=[{**TARGET, "profile": "paper"}])["targets"]
    assert (beside["judged"], beside["meets"]) == (False, None)
    assert "paper" in beside["reason"]


def test_the_tolerance_of_a_target_allows_for_both_sides_noise():
    """Two own runs 0.8 apart: 63.657 * sd * sqrt(1 + 1/2), from a printed table of t with one degree of freedom."""
    data = {"checksum": "c0de", "n_test": 100_000}
    (target,) = run_judge([(100, 80.0), (101, 80.8)], rows=[], data=data, targets=[TARGET])["targets"]
    assert target["tolerance"] == pytest.approx(63.657 * 0.8 / math.sqrt(2.0) * math.sqrt(1.5), rel=1e-4)


@pytest.mark.parametrize("change", [{"metric": "top5"}, {"selection": "best"}])
def test_a_target_of_another_metric_or_selection_is_shown_beside(change):
    """A published best epoch is not held against a last epoch."""
    (beside,) = run_judge([(100, 80.4)], targets=[{**TARGET, **change}])["targets"]
    assert (beside["judged"], beside["meets"]) == (False, None)


@pytest.mark.parametrize("value", [70.0, 90.0])
def test_a_target_far_off_on_either_side_is_not_met(value):
    """Ten points below or above the published value are both incompatible with it."""
    (target,) = run_judge([(100, 80.4)], targets=[{**TARGET, "value": value}])["targets"]
    assert (target["judged"], target["meets"]) == (True, False)


def test_a_target_without_any_spread_is_not_judged():
    """One run and no reference say nothing of how far two runs may differ."""
    (target,) = run_judge([(100, 80.4)], rows=[], targets=[TARGET])["targets"]
    assert (target["judged"], target["meets"]) == (False, None)
    assert "no spread is known" in target["reason"]


def test_a_target_without_a_reference_is_judged_by_the_own_runs():
    """Five own runs that agree to the last digit still get the floor as their spread."""
    values = [(seed, 80.4) for seed in range(5)]
    (near,) = run_judge(values, rows=[], targets=[TARGET])["targets"]
    (far,) = run_judge(values, rows=[], targets=[{**TARGET, "value": 85.0}])["targets"]
    assert (near["judged"], near["meets"], far["meets"]) == (True, True, False)
    assert near["tolerance"] > 1.0


def test_a_verdict_is_plain_json():
    """The object can be written without NaN and without numpy types, for one run, several and none to compare with."""
    for values, rows in (
        ([(100, 80.0)], None),
        ([(s, 80.0 + s / 99) for s in range(100, 109)], None),
        ([(1, 80.0)], []),
    ):
        verdict = run_judge(values, rows=rows, targets=[TARGET])
        assert json.loads(json.dumps(verdict, allow_nan=False)) == verdict


def test_an_unknown_direction_is_refused():
    """A metric must say which way is better."""
    with pytest.raises(ValueError, match="direction"):
        run_judge([(100, 80.0)], metric={**METRIC, "direction": "up"})


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("reproduced", 0),
        ("regressed", 1),
        ("better-than-reference", 1),
        ("failed:hang", 3),
        ("unsupported", 3),
        ("unknown", 4),
    ],
)
def test_exit_codes_are_those_of_the_documentation(name, code):
    """Each verdict has its exit code."""
    assert exit_code(name) == code


def test_an_unheard_of_verdict_has_no_exit_code():
    """A misspelt name does not end in success."""
    with pytest.raises(ValueError, match="reproducd"):
        exit_code("reproducd")


def test_the_p_value_is_of_the_rule_that_decides():
    """Below 1 % for a value outside, above for one inside, and null where nothing was judged."""
    assert run_judge([(100, 70.0)])["p_value"] < 0.01 < run_judge([(100, 80.4)])["p_value"]
    assert run_judge([(100, 80.4)], rows=[])["p_value"] is None


def test_a_run_is_judged_around_its_own_frameworks_rows():
    """A framework that is four points lower for good reproduces itself, and is told to differ; another one there is regressed."""
    rows = make_rows()
    for row in rows:
        row["value"] -= 4.0 if row["context"]["framework"] == "jax" else 0.0
    low = run_judge([(100, 75.6)], rows=rows)
    assert low["name"] == "reproduced"
    assert "the reference's frameworks differ" in low["reason"]
    assert "10 of jax" in low["band"]["method"]
    assert run_judge([(100, 75.6)], rows=rows, context="torch-jit-fp32-x1")["name"] == "regressed"
    assert "differ" not in run_judge([(100, 79.6)])["reason"]


def test_a_framework_that_the_reference_lacks_is_told():
    """It is judged around all rows, and the reason says what is not allowed for."""
    verdict = run_judge([(100, 80.0)], rows=make_rows(frameworks=("tensorflow", "torch")))
    assert verdict["name"] == "reproduced"
    assert "the reference has no runs of jax" in verdict["reason"]
    assert verdict["band"]["mean"] == pytest.approx(80.0)


def test_a_sequential_verdict_is_plain_json_and_leaves_out_planned_seeds():
    """The reference is the same at every look: all planned seeds are out of it from the first on."""
    rule = {"alpha": 0.01, "beta": 0.1, "delta": 2.0, "effect": None, "planned": [7, 8, 9], "looks": []}
    verdict = run_judge([(7, 80.0)], sequential=rule)
    assert json.loads(json.dumps(verdict, allow_nan=False)) == verdict
    assert verdict["band"]["n"] == 27
    assert verdict["sequential"]["effect"] == pytest.approx(2.0 * verdict["band"]["spread"])
    assert verdict["sequential"]["planned"] == 3


def test_rows_that_are_equal_within_each_framework_have_no_spread():
    """What three frameworks repeat to the last digit says nothing of noise, though they differ from each other."""
    rows = make_rows(unit="nats")
    for row in rows:
        row["value"] = {"jax": 0.1, "tensorflow": 0.3, "torch": 0.7}[row["context"]["framework"]]
    verdict = run_judge([(100, 0.1 + 1e-9)], rows=rows, metric={**METRIC, "unit": "nats"})
    assert (verdict["name"], verdict["p_value"]) == ("unknown", None)
    assert "no spread" in verdict["reason"]


@pytest.mark.parametrize("failed_at", [0, 1])
def test_a_sequential_verdict_is_not_hidden_by_the_run_that_fails(failed_at):
    """A seed at chance level ends it as regressed, whatever it does to the spread, and the p value says so, too."""
    rule = {"alpha": 0.01, "beta": 0.1, "delta": 2.0, "effect": None, "planned": list(range(100, 112)), "looks": []}
    values = [(100, 78.5), (101, 78.5)]
    values[failed_at] = (100 + failed_at, 10.0)
    verdict = run_judge(values, rows=make_rows(n_seeds=5, frameworks=("jax", "torch")), sequential=rule)
    assert (verdict["name"], verdict["sequential"]["decision"]) == ("regressed", "outside")
    assert verdict["p_value"] <= 0.01
    assert ("by the reference's spread alone" in verdict["reason"]) == (failed_at == 1)


@pytest.mark.parametrize(("value", "name"), [(80.0, "reproduced"), (10.0, "regressed")])
def test_an_effect_far_beyond_the_noise_has_a_verdict(value, name):
    """Fifty points are hundreds of deviations of this reference: e^-20000 to 1 is no number that exp can invert."""
    rule = {"alpha": 0.01, "beta": 0.1, "delta": 2.0, "effect": 50.0, "planned": [100], "looks": []}
    verdict = run_judge([(100, value)], rows=make_rows(spread=0.1), sequential=rule, data={"checksum": "c0de", "n_test": 100_000})
    assert verdict["name"] == name
    assert (verdict["p_value"] == 1.0) == (name == "reproduced")
    assert json.loads(json.dumps(verdict, allow_nan=False)) == verdict
