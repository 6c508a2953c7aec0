"""A published value that is to come out digit for digit: its seed needs no reference, and half of the last digit is allowed."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from reports.block import verdict_block
from tests.nightly.nights import a_cell, a_document, a_row
from tests.vigil.judged import JAX, RECIPE, make_rows
from vigil.documents.context import parse_context
from vigil.documents.invocation import Invocation, PublishedTarget
from vigil.documents.judgement import Metric
from vigil.nightly.ledger import Ledger
from vigil.nightly.night_verdict import judge_night
from vigil.references.exact import judge_runs
from vigil.runs import carry_out
from vigil.runs.until_decided import rule

METRIC = Metric(name="train_loss", unit="nats", direction="lower", selection="last")
EXACT = {"seed": 0, "within": 5e-7, "precisions": ["fp32", "fp64"]}
FACTS = {"published_as": "as printed", "source": "page", "link": "https://example.org", "selection": "last", "protocol": "there"}


def a_target(metric, value, **changes):
    facts = {**FACTS, "metric": metric, "value": value, "profile": "quick", "exact": EXACT}
    return PublishedTarget.model_validate(facts | changes)


TARGETS = (a_target("train_loss", 0.042898), a_target("train_accuracy", 0.993879))


def run(values, *, accuracy=1786 / 1797, context=JAX, targets=TARGETS, n_seeds=0, **facts):
    """Return the verdict on losses by seed, beside a reference of so many seeds around 0.042."""
    rows = [
        row.model_copy(
            update={"metric": "train_loss", "unit": "nats", "value": 0.042 + 0.002 * (row.value - 80.0), "seed": 1000 + row.seed}
        )
        for row in (make_rows(n_seeds) if n_seeds else ())
    ]
    return judge_runs(
        list(values.items()), metrics={seed: {"train_loss": loss, "train_accuracy": accuracy} for seed, loss in values.items()},
        rows=rows, recipe=RECIPE, metric=METRIC, context=parse_context(context), targets=targets, checksum="c0de", n_test=1797,
        **facts,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("loss", "accuracy", "name"),
    [
        (0.0428982, 1786 / 1797, "reproduced"),
        (0.0428984, 1786 / 1797, "reproduced"),
        (0.0428986, 1786 / 1797, "regressed"),  # prints as 0.042899
        (0.0428974, 1786 / 1797, "better-than-reference"),
        (0.0428982, 1785 / 1797, "regressed"),  # one digit of 1,797
        (0.0428974, 1785 / 1797, "regressed"),
        (0.0428982, float("nan"), "regressed"),
    ],
)
def test_a_last_digit_decides(loss, accuracy, name):
    """Both values must round to what was printed; no reference is asked for."""
    found = run({0: loss}, accuracy=accuracy)
    assert found.name == name
    assert [entry.verdict for entry in found.values] == [name]
    assert (found.band, found.p_value, found.mean) == (None, None, loss)
    assert all(target.judged for target in found.targets)
    assert ("is not the published" in found.reason) == (name != "reproduced")


@pytest.mark.parametrize("context", ["jax-jit-bf16-x1", "jax-jit-fp32-x1-native"])
def test_what_may_round_otherwise_is_judged_by_the_band(context):
    """In low precision, and with other weights, nothing is exact: without a reference the verdict is unknown."""
    assert run({0: 0.0428982}, context=context).name == "unknown"
    assert run({0: 0.0428982}, context=context, n_seeds=10).name == "reproduced"
    assert run({0: 0.06}, context=context, n_seeds=10).name == "regressed"


def test_another_profile_is_shown_beside():
    """A value of another rule of momentum is no measure of this one."""
    other = a_target("train_loss", 0.041297, profile="momentum")
    found = run({0: 0.0428982}, targets=(*TARGETS, other))
    assert (found.name, found.targets[2].judged) == ("reproduced", False)


def test_a_value_that_is_not_exact_is_shown_beside_those_that_are():
    """Without a reference nothing says how far another published value of the same profile may be."""
    found = run({0: 0.0428982}, targets=(*TARGETS, a_target("train_loss", 0.05, exact=None)))
    assert (found.name, found.targets[2].judged) == ("reproduced", False)
    assert "the verdict stands on printed digits" in found.targets[2].reason


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({0: 0.0428982, 1: 0.042, 2: 0.0425}, "reproduced"),
        ({0: 0.0429, 1: 0.042, 2: 0.0425}, "regressed"),  # the printed digits
        ({0: 0.0428982, 1: 0.06, 2: 0.06}, "regressed"),  # the band
        ({1: 0.042}, "reproduced"),
    ],
)
def test_other_seeds_are_judged_by_the_band(values, name):
    """One seed was published; of the others there are samples. Both must hold."""
    found = run(values, n_seeds=10)
    assert (found.name, len(found.values)) == (name, len(values))
    assert found.band is not None
    assert "other seeds" in found.reason or 0 not in values


def test_without_a_reference_other_seeds_stay_unknown():
    """Printed digits of one seed say nothing of a second one."""
    assert run({0: 0.0428982, 1: 0.042}).name == "unknown"


@pytest.mark.parametrize(("loss", "stands"), [(0.0428982, False), (0.0428986, True)])
def test_digits_that_are_not_as_printed_are_no_chance(loss, stands):
    """Beside a second seed in its band a night of many numbers excused them by that seed's p value."""
    found = run({0: loss, 1: 0.042}, n_seeds=30)
    assert (found.p_value is None) is stands
    night = judge_night(a_document([a_row(a_cell(), verdict=found.name, p_value=found.p_value)]), Ledger([]))
    assert (night.verdict.exit_code, night.verdict.judged) == ((1, 0) if stands else (0, 1))


@pytest.mark.parametrize(("loss", "name"), [(0.0428982, "reproduced"), (0.0428986, "regressed")])
def test_digits_decide_where_seeds_are_added_until_the_evidence_does(loss, name):
    """The evidence is of all seeds, and no excuse for a digit."""
    losses = {seed: 0.042 + 0.0006 * (-1) ** seed for seed in range(12)} | {0: loss}
    alone = run(losses, n_seeds=30, targets=(), sequential=rule(range(12), effect=None))
    found = run(losses, n_seeds=30, sequential=rule(range(12), effect=None))
    assert (alone.name, found.name) == ("reproduced", name)
    assert found.sequential is not None
    assert found.sequential == alone.sequential
    assert f"; all seeds: reproduced, {alone.reason}" in found.reason
    assert found.values[0].verdict == name


def test_what_the_last_evaluation_gave_is_asked_however_seeds_are_run(monkeypatch):
    """An invocation whose seeds are added one by one is held to the same digits."""
    given = {}
    monkeypatch.setattr(carry_out, "judge_runs", lambda values, **facts: given.update(facts) or Mock())
    record = Mock(failure=None, seed=0, curve=[Mock(metrics={"train_loss": 2.0}), Mock(metrics={"train_loss": 1.0})])
    carry_out.judge_records(Mock(source="digits_mlp", recipe=RECIPE, sequential=rule(range(12), effect=None)), [record])
    assert given["metrics"] == {0: {"train_loss": 1.0}}


def test_the_block_prints_the_digits(tmp_path):
    """Six digits, what is allowed, and where they were published; values of other profiles are left out."""
    verdict = run({0: 0.0428982}, targets=(*TARGETS, a_target("train_loss", 0.041297, profile="momentum")))
    facts = {"created": "2026-11-23T00:00:00", "command": "c", "recipe": RECIPE, "context": parse_context(JAX)}
    invocation = Invocation(
        **facts, invocation_id="i", night=None, seeds=(0,), fault=None, release=None, targets=(), runs=(), verify=None,
        sequential=None, verdict=verdict, wall_seconds=3.0, tracking=None,
    )  # fmt: skip
    block = verdict_block(invocation, directory="d")
    assert "train_loss      0.042898 (seed 0)" in block
    assert "0.042898 and 5e-07 either way, as published" in block
    assert "met, ours is 0.042898200" in block
    assert "0.041297" not in block
