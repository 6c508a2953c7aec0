"""`ran`: a number inside a band that could not have told a model that learned nothing from a sound one."""

from __future__ import annotations

from dataclasses import replace

import pytest

import vigil.runs.foresee
from tests.documents import a_judgement
from tests.vigil.judged import METRIC, make_rows, run_judge
from tests.vigil.requested import request
from vigil.documents.context import make_context
from vigil.documents.invocation import FirstRung
from vigil.documents.judgement import Metric
from vigil.documents.reference_row import SampleData
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict
from vigil.recipes.loading import load_recipe, recipe_names
from vigil.references.exact import exact_for
from vigil.references.usable import judging_today
from vigil.runs.first_rung import with_first_rung
from vigil.runs.foresee import foreseen, foreseen_pair
from vigil.runs.plan import Request, targets_of
from vigil.runs.until_decided import rule

BLIND = METRIC | {"chance": 78.0}
SOUND = METRIC | {"chance": 10.0}
OTHER_DATA = SampleData(name="digits", checksum="another")


@pytest.mark.parametrize(
    ("metric", "value", "verdict"),
    [
        (SOUND, 80.0, "reproduced"),
        (BLIND, 80.0, "ran"),
        (BLIND | {"chance": 82.0}, 80.0, "ran"),  # worse than chance
        (BLIND | {"direction": "lower", "chance": 82.0}, 80.0, "ran"),
        (SOUND | {"direction": "lower", "chance": 150.0}, 80.0, "reproduced"),
        (METRIC, 80.0, "reproduced"),  # a document from before chance was recorded
        (BLIND, 70.0, "regressed"),
        (BLIND, 90.0, "better-than-reference"),
    ],
)
def test_a_number_is_reproduced_only_where_a_model_that_learned_nothing_would_be_seen(metric, value, verdict):
    judged = run_judge([(20, value)], metric=metric)
    assert judged.name == verdict
    assert judged.values[0].verdict == verdict
    assert judged.name.is_judged
    assert ("learned nothing gives" in judged.reason) == (verdict == "ran")


def test_more_runs_see_what_one_does_not():
    """Eight runs see a smaller drop than one, and so may say more."""
    metric = METRIC | {"chance": 77.5}
    assert run_judge([(20, 80.0)], metric=metric).name == "ran"
    assert run_judge([(20 + seed, 80.0 + seed % 2 / 10) for seed in range(8)], metric=metric).name == "reproduced"


def test_seeds_until_decided_are_blind_by_the_effect_that_they_look_for():
    sequential = rule(range(20, 32), effect=3.0)
    values = [(20 + seed, 80.0 + seed % 2 / 10) for seed in range(12)]
    assert run_judge(values, metric=BLIND, sequential=sequential).name == "ran"
    assert run_judge(values, metric=SOUND, sequential=sequential).name == "reproduced"


def test_ran_is_no_pass_and_a_wrong_step_takes_it_back():
    assert Verdict.RAN.exit_code == 4
    assert Verdict.RAN.is_undecided
    assert not Verdict.RAN.is_outside
    assert not Verdict.RAN.is_failed
    wrong = FirstRung(verdict=StepVerdict(name=Verdict.REGRESSED, reason="9 of 824 tensors are out"))
    judged = with_first_rung(a_judgement(name="ran"), wrong)
    assert judged.name == "regressed"
    assert "although the metric lies in its band" in judged.reason


@pytest.mark.parametrize("recipe", recipe_names())
def test_every_kind_says_what_chance_gives_and_the_references_beside_it_say_ran_of_smoke_alone(recipe):
    """The committed references: in `quick` all learn far more than is seen; three smoke profiles learn next to nothing."""
    of_recipe = load_recipe(recipe)
    asked = {
        profile: Request(
            recipe=of_recipe, recipe_source=recipe, profile=profile, context=make_context(framework="jax"), seeds=(50,),
            fault=None, command="",
        )
        for profile in ("smoke", "quick")
    }  # fmt: skip
    assert Metric.of(of_recipe.resolve("quick")).chance is not None
    assert foreseen(asked["quick"]) is None
    is_blind = recipe in ("resnet_cifar", "moco_lite", "tiny_mask_rcnn")
    assert (foreseen(asked["smoke"]) or "").startswith("This can end in no better word than `ran`: every phase ran") == is_blind


def test_what_can_only_end_in_unknown_is_said_before():
    """The paper profile has no reference."""
    assert "`unknown`: there are no reference samples" in (foreseen(request(profile="paper")) or "")
    assert foreseen(request(profile="quick")) is None
    assert "`too few runs`" in (foreseen_pair(request(profile="quick", seeds=(0,))) or "")
    assert "`cannot tell`" in (foreseen_pair(request(profile="smoke")) or "")
    assert foreseen_pair(request(profile="quick")) is None


def test_rows_of_older_data_judge_nothing_today():
    """The newest row says which data are today's; what is left of them may be too few."""
    rows = make_rows()
    old, new = rows[: len(rows) - 3], [row.replace(date="2031-01-01", data=OTHER_DATA) for row in rows[-3:]]
    today, reason = judging_today([*old, *new], recipe=rows[0].recipe, metric=rows[0].metric)
    assert [row.data for row in today] == [OTHER_DATA] * 3
    assert "found 3 reference samples of 1 seeds" in (reason or "")
    assert judging_today(rows, recipe=rows[0].recipe, metric=rows[0].metric) == (tuple(rows), None)


def test_exact_digits_need_no_reference(monkeypatch, tmp_path):
    """The seed that a published value is exact for can be reproduced where no sample has ever been measured."""
    monkeypatch.setattr(vigil.runs.foresee, "reference_directory", lambda source: tmp_path)
    options = {"recipe_source": "digits_mlp", "profile": "quick", "context": make_context(framework="jax"), "fault": None}
    asked = [Request(recipe=load_recipe("digits_mlp"), seeds=(seed,), command="", **options) for seed in (0, 1)]
    assert foreseen(asked[0]) is None
    assert "`unknown`" in (foreseen(asked[1]) or "")
    assert "`unknown`" in (foreseen(replace(asked[0], sequential=rule((0,), effect=None))) or "")  # the evidence alone decides


@pytest.mark.parametrize(
    ("changes", "is_exact"),
    [({}, True), ({"precision": "bf16"}, False), ({"randomness": "native"}, False), ({"profile": "smoke"}, False)],
)
def test_digits_are_held_to_their_profile_precision_and_randomness(changes, is_exact):
    """What is foreseen and what is judged ask one predicate."""
    [target, *_] = (each for each in targets_of(load_recipe("digits_mlp")) if each.exact)
    facts = {"framework": "jax", **changes}
    profile = facts.pop("profile", target.profile)
    assert (exact_for(target, profile=profile, context=make_context(**facts)) is not None) == is_exact


@pytest.mark.parametrize(
    ("flags", "remark"),
    [
        ("avx avx2 fma", ["which lacks avx512"]),
        ("amx_bf16 avx avx2 avx512bw avx512f fma", ["which has besides amx, avx512f"]),
        ("avx avx2 avx512bw fma", []),
    ],
)
def test_a_reference_of_another_processor_says_so(flags, remark):
    """Only the instruction sets that are on one side are named, families together."""
    measured = {"hardware": "A 7000, 2 cores, 4 GiB", "cpu_flags": "avx avx2 avx512bw fma"}
    rows = [row.replace(environment=measured) for row in make_rows()]
    judged = run_judge([(20, 80.0)], rows=rows, environment={"hardware": "A 7000, 8 cores, 9 GiB", "cpu_flags": flags})
    assert ("another processor (A 7000)" in judged.reason) == bool(remark)
    assert all(text in judged.reason for text in remark)
