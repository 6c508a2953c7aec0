"""The reproduction table and the power table say what is known, of what, and why something is not."""

from __future__ import annotations

import statistics

import pytest

from reports.site.cell_results import results_of
from reports.site.power_table import RUNS, powers
from reports.site.published import comparisons
from reports.site.sources import read_recipes
from tests.reports.site_frames import HASH, RECIPE, ago, frames, sample, sources
from vigil.documents.reference_row import ReferenceRow
from vigil.paths import reference_directory
from vigil.references.samples import load_rows
from vigil.statistics.bands import binomial_floor, detectable_drop


def row(seed: int, value: float, *, profile="quick", digest=HASH, version=1, framework="jax", release="0.10.2", **changes):
    """Return a reference row; `changes` replace keys."""
    content = {
        "recipe": {"name": "resnet_cifar", "version": version, "profile": profile, "hash": digest}, "metric": "test_accuracy",
        "unit": "percent", "seed": seed, "value": value, "framework_version": release, "date": "2026-11-21",
        "context": {"framework": framework, "text": f"{framework}-jit-fp32-x1"},
        "data": {"name": "generated", "checksum": "same"}, "packages": {}, "python": "3.12.3",
        "hardware": None, "environment": {}, "commit": None, "dirty": False,
        "run_id": f"{framework}{seed}", "state_sha256": None,
    }  # fmt: skip
    return ReferenceRow.checked({**content, **changes}, where="made by hand")


def table_of(rows=(), samples=(), **facts):
    """Return the reproduction table by recipe and profile."""
    given = sources(frames(samples, []), rows={"resnet_cifar": tuple(rows)}, **facts)
    return {each.profile: each for each in comparisons(given, results_of(given.history.samples, given.history.verifications))}


def test_published_and_ours_stand_side_by_side():
    """Mean, spread, runs and seeds of the reference rows, and the difference from the published value with its link."""
    rows = [row(1000 + index, value, profile="paper", digest="0" * 12) for index, value in enumerate((91.0, 92.0, 91.8))]
    found = table_of(rows)["paper"]
    assert found.target["link"] == "https://arxiv.org/abs/1512.03385"
    (own,) = found.measured
    assert (own.framework, own.source, own.releases, own.seeds, len(own.values)) == ("jax", "reference rows", "0.10.2", 3, 3)
    assert own.mean == pytest.approx(91.6)
    assert own.spread == pytest.approx(statistics.stdev((91.0, 92.0, 91.8)))
    assert own.difference == pytest.approx(0.35)
    assert set(found.missing) == {"torch", "tensorflow"}
    assert all("make reproduce RECIPE=resnet_cifar PROFILE=paper" in why for why in found.missing.values())


def test_a_profile_of_our_own_says_why_nothing_is_published():
    """`quick` is beside no published number, and a recipe without targets says so, too."""
    found = table_of([row(1000, 88.0)])
    assert list(found) == ["paper", "quick"]
    assert found["quick"].target is None
    assert "the published protocol is profile paper" in found["quick"].why_none
    assert found["quick"].measured[0].difference is None
    assert found["quick"].measured[0].spread is None
    bare = type(RECIPE)("resnet_cifar", 1, RECIPE.metric, (), RECIPE.profiles)
    assert "no number is published" in table_of(recipes={"resnet_cifar": bare})["quick"].why_none


@pytest.mark.parametrize(
    "planted",
    [
        {"recipe_hash": "older"}, {"fault": "x.py"}, {"value": float("nan")}, {"metric": "another"},
        *({"context": f"jax-{rest}"} for rest in (
            "eager-fp32-x1", "jit-bf16-x1", "jit-fp32-x2", "jit-fp32-x1-det", "jit-fp32-x1-native", "jit-fp32-x1-math",
        )),
        {"release": "0.10.1", "created": ago(days=3)},
    ],
)  # fmt: skip
def test_only_clean_usual_runs_of_the_last_release_are_ours(planted):
    """A run of an older recipe or release, another context, or with a planted fault changes no number."""
    clean = [sample(seed, value=88.0 + seed) for seed in (0, 1)]
    found = table_of(samples=[*clean, sample(2, invocation="two", **({"value": 10.0} | planted))])["quick"].measured
    assert [(each.source, each.values) for each in found] == [("history, last release run", (88.0, 89.0))]


def test_the_last_run_of_a_seed_counts_once():
    """A seed that ran on every night is one run, its last."""
    rows = [sample(0, invocation=f"n{days}", created=ago(days=days), value=80.0 + days) for days in (3, 2, 1)]
    (own,) = table_of(samples=rows)["quick"].measured
    assert (own.values, own.seeds) == ((81.0,), 1)


@pytest.mark.parametrize("planted", [{"digest": "older"}, {"version": 0}, {"metric": "another"}])
def test_reference_rows_of_another_recipe_are_not_ours(planted):
    """Rows of an older recipe are in no table."""
    assert table_of([row(1000, 88.0, **planted)])["quick"].measured == ()
    older = [row(1000 + index, 88.0 + index, **planted) for index in range(9)]
    assert [each.rows for each in powers({"resnet_cifar": RECIPE}, {"resnet_cifar": older})] == [0, 0]


def test_power_is_that_of_the_bands():
    """The table holds what `detectable_drop` says of the framework in which least is seen, and drops shrink with the runs."""
    recipes, _ = read_recipes()
    rows = load_rows(reference_directory(), "resnet_cifar")
    found = {each.profile: each for each in powers({"resnet_cifar": recipes["resnet_cifar"]}, {"resnet_cifar": rows})}
    quick = recipes["resnet_cifar"].profiles["quick"]
    used = [row for row in rows if row.recipe.profile == "quick" and row.recipe.hash == quick.hash]
    values, floor = [row.value for row in used], binomial_floor(88.7, n_test=quick.n_test)
    labels = {"groups": [row.seed for row in used], "frameworks": [row.framework for row in used]}
    each_of = {name: {"framework": name, **labels} for name in set(labels["frameworks"])}
    drops = [detectable_drop(values, n_new=3, spread_floor=floor, **each) for each in each_of.values()]
    assert found["quick"].drops[3] == pytest.approx(max(drops))
    drops = [found["quick"].drops[n] for n in RUNS]
    assert drops == sorted(drops, reverse=True)
    assert "vigil reference add resnet_cifar --profile paper" in found["paper"].why_none
    assert "(10 runs of 64,000 steps on each framework)" in found["paper"].why_none


def test_too_few_rows_have_no_power():
    """Seven rows, or rows of four seeds, are no reference, and the table says what is needed."""
    for seeds in (range(7), [0, 1, 2, 3] * 3):
        rows = [row(seed, 88.0 + index % 3, run_id=str(index)) for index, seed in enumerate(seeds)]
        found = next(each for each in powers({"resnet_cifar": RECIPE}, {"resnet_cifar": rows}) if each.profile == "quick")
        assert not found.drops
        assert "needed are 8 reference rows of 5 seeds" in found.why_none


def test_rows_of_other_data_are_left_out_of_the_power():
    """Only the rows of the newest data make the band."""
    old = [row(seed, 40.0 + seed, date="2026-01-01", data={"name": "generated", "checksum": "old"}) for seed in range(9)]
    new = [row(seed, 88.0 + seed % 3) for seed in range(9)]
    found = next(each for each in powers({"resnet_cifar": RECIPE}, {"resnet_cifar": old + new}) if each.profile == "quick")
    assert found.rows == 9
    assert found.low > 80.0
