"""Verdicts on planted references: what is flagged, what is reproduced, and what a verdict says of itself."""

from __future__ import annotations

import json
import math

import pytest

from tests.vigil.judged import METRIC, TARGET, make_rows, run_judge
from vigil.documents.invocation import SequentialRule
from vigil.documents.judgement import Judgement, SeedValue
from vigil.documents.verdict import Verdict


def test_a_value_within_the_band_is_reproduced():
    """One run near the reference's mean is reproduced, with a band that says what it was made of."""
    verdict = run_judge([(100, 80.4)])
    assert verdict.name == "reproduced"
    assert verdict.values == (SeedValue(seed=100, value=80.4, verdict="reproduced"),)
    band = verdict.band
    assert (band.n, band.n_seeds, band.frameworks) == (30, 10, ("jax", "tensorflow", "torch"))
    assert band.dates == ("2024-06-12",)
    assert band.low < 80.4 < band.high
    assert (verdict.mean_band, verdict.welch, verdict.power) == (None, None, 0.9)
    assert 2.0 < verdict.detectable_drop < 5.0


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
    assert verdict.name == name
    assert verdict.name.exit_code == 1


def test_several_runs_are_judged_by_their_mean():
    """Three runs, each inside its band, are regressed together when their mean is off."""
    verdict = run_judge([(100, 78.0), (101, 77.8), (102, 77.9)])
    assert verdict.name == "regressed"
    assert [entry.verdict for entry in verdict.values] == ["reproduced"] * 3
    assert verdict.mean_band.low > 77.9
    assert verdict.welch.difference == pytest.approx(-1.697, abs=1e-3)


def test_one_run_outside_among_several_is_told():
    """The mean is inside and one run is not: the verdict stands and the reason says it."""
    verdict = run_judge([(100, 77.2), (101, 80.9), (102, 80.8), (103, 80.7), (104, 80.6)])
    assert verdict.name == "reproduced"
    assert verdict.values[0].verdict == "regressed"
    assert "1 of 5 runs outside" in verdict.reason


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


def test_a_verdict_is_plain_json():
    """The object can be written without NaN and without numpy types, for one run, several and none to compare with."""
    for values, rows in (
        ([(100, 80.0)], None),
        ([(s, 80.0 + s / 99) for s in range(100, 109)], None),
        ([(1, 80.0)], []),
    ):
        verdict = run_judge(values, rows=rows, targets=[TARGET])
        assert Judgement.model_validate(json.loads(json.dumps(verdict.as_json(), allow_nan=False))) == verdict


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
    assert Verdict(name).exit_code == code


def test_an_unheard_of_verdict_has_no_exit_code():
    """A misspelt name does not end in success."""
    with pytest.raises(ValueError, match="reproducd"):
        Verdict("reproducd")


def test_the_p_value_is_of_the_rule_that_decides():
    """Below 1 % for a value outside, above for one inside, and null where nothing was judged."""
    assert run_judge([(100, 70.0)]).p_value < 0.01 < run_judge([(100, 80.4)]).p_value
    assert run_judge([(100, 80.4)], rows=[]).p_value is None


def test_a_sequential_verdict_is_plain_json_and_leaves_out_planned_seeds():
    """The reference is the same at every look: all planned seeds are out of it from the first on."""
    rule = SequentialRule(alpha=0.01, beta=0.1, delta=2.0, effect=None, planned=[7, 8, 9])
    verdict = run_judge([(7, 80.0)], sequential=rule)
    assert Judgement.model_validate(json.loads(json.dumps(verdict.as_json(), allow_nan=False))) == verdict
    assert verdict.band.n == 27
    assert verdict.sequential.effect == pytest.approx(2.0 * verdict.band.spread)
    assert verdict.sequential.planned == 3


@pytest.mark.parametrize("failed_at", [0, 1])
def test_a_sequential_verdict_is_not_hidden_by_the_run_that_fails(failed_at):
    """A seed at chance level ends it as regressed, whatever it does to the spread, and the p value says so, too."""
    rule = SequentialRule(alpha=0.01, beta=0.1, delta=2.0, effect=None, planned=list(range(100, 112)))
    values = [(100, 78.5), (101, 78.5)]
    values[failed_at] = (100 + failed_at, 10.0)
    verdict = run_judge(values, rows=make_rows(n_seeds=5, frameworks=("jax", "torch")), sequential=rule)
    assert (verdict.name, verdict.sequential.decision) == ("regressed", "outside")
    assert verdict.p_value <= 0.01
    assert ("by the reference's spread alone" in verdict.reason) == (failed_at == 1)


@pytest.mark.parametrize(("value", "name"), [(80.0, "reproduced"), (10.0, "regressed")])
def test_an_effect_far_beyond_the_noise_has_a_verdict(value, name):
    """Fifty points are hundreds of deviations of this reference: e^-20000 to 1 is no number that exp can invert."""
    rule = SequentialRule(alpha=0.01, beta=0.1, delta=2.0, effect=50.0, planned=[100])
    verdict = run_judge([(100, value)], rows=make_rows(spread=0.1), sequential=rule, n_test=100_000)
    assert verdict.name == name
    assert (verdict.p_value == 1.0) == (name == "reproduced")
    assert Judgement.model_validate(json.loads(json.dumps(verdict.as_json(), allow_nan=False))) == verdict
