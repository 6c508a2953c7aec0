"""Limits lie above what clean runs reach, and are made of nothing else."""

import dataclasses
import json

import numpy as np
import pytest

from vigil.digests import replace_listed
from vigil.errors import CannotRun
from vigil.verify.distance import Difference
from vigil.verify.limits import Limits, load_limits, make_limits, summary_row


def a_row(*found, context="c", precision="fp32", seed=0):
    """Return the clean row of a context, of the case that its differences are of."""
    return summary_row(found, context=context, precision=precision, case=found[0].case, seed=seed)


def test_limits_come_from_clean_rows():
    """A limit lies above every clean value it was made from, and below what a real fault reaches."""
    generator = np.random.default_rng(2)
    rows = [
        a_row(Difference("late/margin", "loss", value, 1.0, 0.0, 0.0, 0.0), context=context, seed=1)
        for context, value in enumerate(4 * np.exp(0.4 * generator.normal(size=100)))
    ]
    limit = make_limits(rows).table["fp32", "margin", "loss", "distance"]
    assert limit.largest_seen < limit.value < 200
    assert limit.n == 100


def test_contexts_at_one_state_are_no_samples_of_others():
    """Where each state has its own level, the limit is that of one more context at the highest, and far from the others'."""
    generator = np.random.default_rng(3)
    rows = [
        a_row(
            Difference("late/margin", "loss", level * np.exp(0.1 * generator.normal()), 1.0, 0.0, 0.0, 0.0),
            context=context,
            seed=seed,
        )
        for seed, level in enumerate((1.0, 2.0, 8.0))
        for context in range(30)
    ]
    # Some 5 deviations of 0.1 above 8; as 90 independent samples it would be e^(5 * 0.9) times their mean.
    assert 12 < make_limits(rows).table["fp32", "margin", "loss", "distance"].value < 15


def test_few_contexts_that_differ_much_do_not_pass_anything():
    """Four values between 0.9 and 12 floors would make a limit of thousands; it is cut where no rounding is."""
    case = "late/full/layers"
    rows = [
        a_row(Difference(case, "loss", value, 1.0, 0.0, value, 0.0), context=context, precision="fp16")
        for context, value in enumerate((0.9, 9.8, 12.5, 12.5))
    ]
    table = make_limits(rows).table
    assert table["fp16", "full/layers", "loss", "slope"].value > 1000
    assert table["fp16", "full/layers", "loss", "distance"].value == 20.0


def test_averages_of_weights_do_not_widen_the_limit_of_running_statistics():
    """Compilers sum an average in two ways, 0.5 or 22 deviations apart: a limit of both would pass a variance 30 off."""
    tensors = {"stats/key.bn.variance": (1.0, 1.2), "stats/key.conv.kernel": (0.5, 22.0), "stats/queue": (0.5, 0.9)}
    case = "late/margin"
    apart = {"stats/key.bn.variance": "stats", "stats/key.conv.kernel": "average", "stats/queue": "content"}

    def score(families: dict[str, str]) -> float:
        def off(name: str, ratio: float, slope_z: float) -> Difference:
            return Difference(case, name, ratio, 1.01, 0.0, slope_z, 0.0, family=families[name])

        rows = [
            a_row(*(off(name, 1.0, values[n % 2]) for name, values in tensors.items()), context=n, precision="bf16")
            for n in range(8)
        ]
        return make_limits(rows).score(off("stats/key.bn.variance", 0.5, 30.0), "bf16")

    assert score(apart) > 1
    assert score(dict.fromkeys(apart, "stats")) < 1


def test_a_search_has_narrower_limits_than_a_verdict():
    """What is looked at inside is out one time in a thousand by chance; a verdict takes one time in a million."""
    made = {}
    for case in ("late/margin", "late/margin/layers"):
        rows = [
            a_row(Difference(case, "loss", 0.0, 1.0, 0.0, value, 0.0), context=context)
            for context, value in enumerate((4.0, 5.0, 6.0, 5.0, 4.5, 5.5))
        ]
        made[case] = make_limits(rows)
    whole = made["late/margin"].table["fp32", "margin", "loss", "slope"]
    look = made["late/margin/layers"].table["fp32", "margin/layers", "loss", "slope"]
    assert look.value < look.certain == whole.value == whole.certain
    between = Difference("late/margin/layers", "loss", 0.0, 1.0, 0.0, (look.value + look.certain) / 2, 0.0)
    scores = [made["late/margin/layers"].score(between, "fp32", is_verdict=is_verdict) for is_verdict in (False, True)]
    assert scores[0] > 1 > scores[1]


def test_states_with_one_context_each_make_no_limit():
    """Nothing tells then how far contexts are apart."""
    difference = Difference("late/margin", "loss", 5.0, 1.0, 0.0, 0.0, 0.0)
    rows = [a_row(difference, seed=seed) for seed in range(9)]
    assert not make_limits(rows).table


def test_a_row_with_a_finding_makes_no_limit():
    """What was shown wrong in a context is not what a correct one may do."""
    difference = Difference("late/margin", "loss", 5.0, 1.0, 0.0, 0.0, 0.0)
    clean = [a_row(difference, context=context) for context in range(10)]
    wrong = a_row(dataclasses.replace(difference, ratio=5e4), context=10)
    with_wrong = make_limits([*clean, {**wrong, "not_clean": {"loss": "a_finding"}}])
    assert with_wrong.table == make_limits(clean).table


def test_a_context_on_another_processor_is_no_other_context():
    """Of both the largest counts; as contexts of their own, many that are alike would make limits narrower."""

    def limit(*runs, case="late/margin"):
        rows = [
            a_row(Difference(case if number else "late/margin", "loss", value, 1.0, 0.0, 0.0, 0.0), context=context)
            for number, values in enumerate(runs)
            for context, value in enumerate(values)
        ]
        return make_limits(rows).table["fp32", "margin", "loss", "distance"]

    here = np.linspace(2.0, 3.0, 12)
    assert limit(here, here - 0.1, here - 0.1) == limit(here)
    assert limit(here, [*here[:-1], 4.0]).value > limit(here).value
    assert limit(here, here, case="late/alternation").n == 2 * limit(here).n


def test_a_row_that_no_rounding_explains_is_refused():
    """A wrong tensor among the clean rows would lift the limit above itself; a finding that is named does not."""
    difference = Difference("early/alternation", "logits", 164301.0, 1.0, 0.0, 0.0, 0.0)
    wrong = a_row(difference, context="torch-eager-fp32-x2")
    with pytest.raises(CannotRun, match=r"fp32-x2, early/alternation: logits is off \(distance 164301, slope 0"):
        make_limits([wrong])
    assert not make_limits([{**wrong, "not_clean": {"logits": "a_finding"}}]).table


@pytest.mark.parametrize("wrong", [{"ratio": np.nan}, {"slope_z": np.inf}, {"intercept_z": np.nan}])
def test_a_row_that_is_not_finite_is_refused(wrong):
    """The limit would be NaN, and no difference is above that."""
    clean = Difference("late/margin", "loss", 0.9, 1.0, 0.0, 0.5, 0.5)
    rows = [a_row(clean, context=context) for context in range(10)]
    names = {"ratio": "distance", "slope_z": "slope", "intercept_z": "intercept"}
    rows[3]["largest"]["loss"] |= {names[name]: value for name, value in wrong.items()}
    with pytest.raises(CannotRun, match="which is no rounding"):
        make_limits(rows)


def test_without_clean_rows_nothing_is_judged():
    """A precision that nobody measured is an error with what to do, not a pass."""
    with pytest.raises(CannotRun, match=r"benchmarks\.false_alarms"):
        Limits({}, 0).score(Difference("late/margin", "loss", 1.0, 1.0, 0.0, 0.0, 0.0), "fp32")


@pytest.mark.parametrize("line", ['{"precision": "fp32"', "[1]", '{"seed": 1, "case": "late/margin"}', "7"])
def test_a_line_that_is_no_clean_row_is_refused(tmp_path, line):
    """Whoever edits a file and lists it anew is told which it is."""
    replace_listed(tmp_path / "mine" / "verify" / "clean-1.jsonl", line.encode())
    with pytest.raises(CannotRun, match=r"mine/verify/clean-1\.jsonl: one of the lines is no clean row"):
        load_limits("mine", model="mine", directory=tmp_path)


def test_an_own_recipe_borrows_the_limits_of_its_kind(tmp_path):
    """Without clean runs of its own, a recipe is held to those of the one that its model is named after, and that is told."""
    row = {"precision": "fp32", "case": "late/margin", "seed": 0}
    for name, distance in (("resnet_cifar", 2.0), ("mine", 3.0)):
        largest = {"loss": {"distance": distance, "slope": 1.0, "intercept": 1.0}}
        lines = [json.dumps(row | {"largest": largest, "context": context}) + "\n" for context in range(5)]
        replace_listed(tmp_path / name / "verify" / "clean-1.jsonl", "".join(lines).encode())
    names = "mine", "yours", "resnet_cifar"
    own, others, none = (load_limits(name, model="resnet_cifar", directory=tmp_path) for name in names)
    assert (own.borrowed_from, others.borrowed_from, none.borrowed_from) == (None, "resnet_cifar", None)
    assert others.table == none.table != own.table
    assert load_limits("yours", model="moco_lite", directory=tmp_path).rows == 0
