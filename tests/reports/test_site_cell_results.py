"""Looks and standings: what history's rows say of a cell together, and what of that still counts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reports.site.causes import causes_of
from reports.site.cell_drift import drifts_of
from reports.site.cell_results import results_of, verdict_of_all
from reports.site.glance import counts_of, map_of
from reports.site.sources import gather
from reports.site.standing import cells_of
from tests.documents import a_judgement
from tests.reports.site_frames import (
    HASH,
    KEY,
    NOW,
    ago,
    frames,
    night,
    night_recipe,
    night_release,
    night_row,
    sample,
    sample_row,
    sources,
    verification,
    verification_row,
)
from vigil.documents.invocation import FirstRung
from vigil.documents.night import REPRODUCE, VERIFY
from vigil.errors import UsageError
from vigil.runs.first_rung import with_first_rung

WRONG = verification_row(verdict="regressed", reason="stem is off")


def standing_of(given, kind=REPRODUCE, key=KEY):
    """Return how one cell stands."""
    results = results_of(given.history.samples, given.history.verifications)
    return cells_of(given, results)[key].standings[kind]


def runs(*verdicts: str, told: str | None = None):
    """Return the runs of an invocation whose verdict is `told`: its reason goes to the runs that share it."""
    return [sample_row(seed, verdict=name, reason="why" if name == told else None) for seed, name in enumerate(verdicts)]


@pytest.mark.parametrize(
    ("of_runs", "rung", "expected"),
    [
        (runs("reproduced", "reproduced", told="reproduced"), None, "reproduced"),
        (runs("reproduced", "regressed", told="reproduced"), None, "reproduced"),
        (runs("reproduced", "regressed", told="regressed"), None, "regressed"),
        (runs("reproduced", "reproduced", told="regressed"), None, "unknown"),
        (runs("reproduced", "reproduced", told="regressed"), WRONG, "regressed"),
        (runs("reproduced", told="regressed"), WRONG, "regressed"),
        (runs("reproduced", told="reproduced"), verification_row(reason=None), "reproduced"),
        (runs("reproduced", told="regressed"), verification_row(verdict="known-finding", reason=None), "regressed"),
        (runs("reproduced", told="failed:died"), verification_row(verdict="failed:died", reason="x"), "failed:died"),
        (runs("better-than-reference", told="better-than-reference"), WRONG, "better-than-reference"),
        (runs("not judged", "failed:hang", told="failed:hang"), None, "failed:hang"),
        (runs("unsupported", told="unsupported"), None, "unsupported"),
        (runs("reproduced"), None, "reproduced"),
    ],
)
def test_the_verdict_on_all_runs_is_found_or_unknown(of_runs, rung, expected):
    """Two runs that are each inside, and a mean that is outside, are never shown as reproduced."""
    assert verdict_of_all(of_runs, rung)[0] == expected


@pytest.mark.parametrize("name", ["regressed", "known-finding", "failed:died", "reproduced", "unknown"])
@pytest.mark.parametrize("judged", ["reproduced", "unknown", "regressed", "better-than-reference"])
def test_a_first_rung_does_here_what_it_does_there(name, judged):
    """The verdict that history leads to is the one that `vigil.runs.first_rung` gave the invocation."""
    summary = FirstRung(verdict={"name": name, "reason": "x"})
    told = with_first_rung(a_judgement(name=judged), summary).name
    of_runs = runs(judged, told=told)
    assert verdict_of_all(of_runs, verification_row(verdict=name, reason="x"))[0] == told


def test_the_newest_look_of_each_kind_counts():
    """An older failure does not hide a newer success, nor the other way round; kinds do not mix."""
    history = frames(
        [sample(invocation="a", created=ago(days=2), verdict="failed:died"), sample(invocation="b", created=ago(days=1))],
        [verification("x", created=ago(days=2)), verification("y", created=ago(hours=1), verdict="regressed")],
    )
    assert standing_of(sources(history)).verdict == "reproduced"
    assert standing_of(sources(history), VERIFY).verdict == "regressed"


@pytest.mark.parametrize(
    ("whole", "short", "release", "expected"),
    [
        ("regressed", "reproduced", "0.10.2", "regressed"), ("regressed", "unknown", "0.10.2", "regressed"),
        ("reproduced", "regressed", "0.10.2", "regressed"), ("reproduced", "failed:died", "0.10.2", "failed:died"),
        ("regressed", "reproduced", "0.10.3", "reproduced"), (None, "reproduced", "0.10.2", "reproduced"),
    ],
)  # fmt: skip
def test_a_short_verification_takes_back_no_whole_one(whole, short, release, expected):
    """The step before a reproduction sees less: what it does not find is still there, until another release is looked at."""
    rows = [verification("whole", created=ago(hours=2), verdict=whole)] if whole else []
    rows.append(verification("one/verify", invocation_id="one", created=ago(hours=1), verdict=short, release=release))
    found = standing_of(sources(frames([], rows)), VERIFY)
    assert found.verdict == expected
    assert bool(found.remark) == (expected == short)


@pytest.mark.parametrize("with_document", [True, False])
def test_a_comparison_with_an_older_release_hides_nothing_of_the_tested_one(with_document):
    """What the night found of its release stands, though an older release was looked at since, and reproduced."""
    rows = [
        sample(invocation="a", created=ago(hours=3), verdict="regressed", release="0.10.3"),
        sample(invocation="b", created=ago(hours=1), night=None, release="0.4.38"),
    ]
    facts = {"night_id": "2026-11-22-1"}
    if with_document:
        facts["night"] = night(releases={"jax": night_release("0.10.3")})
    found = standing_of(sources(frames(rows, []), **facts))
    assert (found.verdict, found.release) == ("regressed", "0.10.3")
    assert found.remark == "looked at later under release 0.4.38: reproduced"


def test_a_build_of_the_tested_release_is_that_release():
    """`2.13.0+cpu` is 2.13.0; a cell that the tested release never reached says so."""
    document = night()
    given = {"night": document, "night_id": document.id}
    assert standing_of(sources(frames([sample(release="0.10.2+local")], []), **given)).remark is None
    assert "no look" in standing_of(sources(frames([sample(release="0.10.1")], []), **given)).remark


def test_a_planted_fault_is_no_look_at_the_framework():
    """A newer run with a fault leaves the verdict of the clean one; only faults leave the cell as never run."""
    clean, planted = sample(invocation="a", created=ago(days=1)), sample(invocation="b", fault="x.py", verdict="regressed")
    assert standing_of(sources(frames([clean, planted], []))).verdict == "reproduced"
    assert standing_of(sources(frames([planted], []))).verdict == "never"


@pytest.mark.parametrize(
    ("age", "digest", "recipe", "stale"),
    [
        (6.9, HASH, "resnet_cifar", None), (7.1, HASH, "resnet_cifar", "7 days old"),
        (1, "older", "resnet_cifar", "of recipe hash"), (1, "any", "of_a_user", None),
    ],
)  # fmt: skip
def test_a_result_is_stale_after_a_week_or_a_change_of_its_recipe(age, digest, recipe, stale):
    """A recipe that is not in the checkout has the newest hash that history knows."""
    history = frames([sample(created=ago(days=age), recipe_hash=digest, recipe=recipe)], [])
    found = standing_of(sources(history), key=(recipe, *KEY[1:]))
    assert bool(found.stale) == bool(stale)
    assert (found.stale or "").startswith(stale or "")
    assert found.appearance.name == ("stale" if stale else "reproduced")


def test_an_older_hash_of_a_recipe_from_elsewhere_is_stale():
    """Of two contexts of a recipe that is not in the checkout, the one whose hash is not the newest is stale."""
    old = sample(recipe="mine", context="jax-eager-fp32-x1", recipe_hash="a", created=ago(days=2))
    new = sample(recipe="mine", recipe_hash="b", invocation="two")
    given = sources(frames([old, new], []))
    assert standing_of(given, key=("mine", "quick", "jax-eager-fp32-x1")).stale
    assert not standing_of(given, key=("mine", "quick", KEY[2])).stale


def test_the_night_tells_the_verdict_on_all_runs():
    """A cell that the night calls regressed is regressed, though each of its runs alone is reproduced."""
    history = frames([sample(0), sample(1)], [])
    document = night(night_row(REPRODUCE, verdict="regressed", reason="the mean is low", stands=False))
    found = standing_of(sources(history, night=document, night_id=document.id))
    assert (found.verdict, found.reason) == ("regressed", "the mean is low")
    assert "chance" in found.remark


def test_a_failure_that_only_the_night_knows_is_shown():
    """A cell that never came so far as to be tracked failed, whatever history says of earlier nights."""
    history = frames([sample(night="2026-11-20-1", created=ago(days=2))], [])
    document = night(night_row(REPRODUCE, verdict="failed:environment", reason="pip failed"))
    assert standing_of(sources(history, night=document, night_id=document.id)).verdict == "failed:environment"


def test_what_only_the_night_knows_of_an_older_recipe_is_stale():
    """A result that never came to history is of the recipe that the night's document names."""
    document = night(night_row(REPRODUCE), recipes={KEY[0]: night_recipe("older")})
    found = standing_of(sources(frames(), night=document, night_id=document.id))
    assert found.stale.startswith("of recipe hash older")
    assert not standing_of(sources(frames(), night=night(night_row(REPRODUCE)), night_id="2026-11-22-1")).stale


def test_a_look_after_the_night_is_later_than_the_night():
    """What somebody ran by hand in the morning is the newest look."""
    history = frames([sample(night=None, created=ago(hours=1))], [])
    document = night(night_row(REPRODUCE, verdict="regressed", reason="x"))
    assert standing_of(sources(history, night=document, night_id=document.id)).verdict == "reproduced"


@pytest.mark.parametrize("status", ["left", "pending", "running"])
def test_what_was_not_run_is_left_or_keeps_its_last_result_with_a_remark(status):
    """Without a result it is `left`, never green; with one it says that tonight left it."""
    row = night_row(REPRODUCE, status=status, verdict=None, reason="no time left")
    document = night(row)
    given = {"night": document, "night_id": document.id}
    found = standing_of(sources(frames(), **given))
    assert (found.verdict, found.appearance.name) == ("left", "left")
    found = standing_of(sources(frames([sample(night="before")], []), **given))
    assert found.verdict == "reproduced"
    assert f"{status} (no time left)" in found.remark


def test_a_release_that_could_not_be_tested_is_said_of_its_cells():
    """An earlier result of another release is not passed off as one of tonight's."""
    document = night(releases={"jax": night_release(None, error="no wheel")})
    found = standing_of(sources(frames([sample()], []), night=document, night_id=document.id))
    assert "could not be tested: no wheel" in found.remark


def test_what_was_wrong_and_never_ran_again_is_not_forgotten():
    """A regression that is older than a week is counted as stale, and still needs a look."""
    history = frames([sample(created=ago(days=30), verdict="regressed", reason="low")], [])
    given = sources(history)
    cells = cells_of(given, results_of(history.samples, history.verifications))
    assert [(appearance.name, of_kind[REPRODUCE]) for appearance, of_kind in counts_of(cells)] == [("stale", 1), ("never", 0)]
    found = causes_of(given, cells, drifts_of(given))
    assert [(cause.word, cause.is_stale, cause.keys) for cause in (*found.causes, *found.by_chance)] == [("worse", True, [KEY])]
    assert found.judged == 0


def test_the_map_has_every_cell_once():
    """Contexts lie down, and each recipe's frameworks side by side; what there is not is None."""
    other = {"recipe": "moco_lite", "context": "torch-jit-fp32-x1", "framework": "torch"}
    history = frames([sample(), sample(**other)], [verification(), verification("b", **other)])
    cells = cells_of(sources(history), results_of(history.samples, history.verifications))
    shown = map_of(cells)
    assert shown.columns == [("moco_lite", "quick", ["torch"]), ("resnet_cifar", "quick", ["jax"])]
    assert [text for text, _ in shown.rows] == ["jit-fp32-x1"]
    placed = [cell.key for _, entries in shown.rows for cell in entries if cell is not None]
    assert sorted(placed) == sorted(cells)


def test_a_night_of_the_past_shows_nothing_after_it(tmp_path):
    """Its rows and those before are shown, ages are counted from its end, and a name that is no night is refused."""
    rows = [
        sample(invocation="a", night="2026-11-01-1", created=ago(days=21), verdict="regressed"),
        sample(invocation="b", night="2026-11-22-1", created=ago(hours=3)),
    ]
    history = frames(rows, [])
    facts = {"runs": tmp_path, "references": tmp_path, "now": NOW}
    newest = gather(history, **facts)
    assert (newest.night_id, newest.now) == ("2026-11-22-1", NOW)
    past = gather(history, **facts, night_id="2026-11-01-1")
    assert past.now == NOW - timedelta(days=21)
    assert list(past.history.samples["invocation_id"]) == ["a"]
    with pytest.raises(UsageError, match=r"--night: found '2026-11-02-1'.*Did you mean"):
        gather(history, **facts, night_id="2026-11-02-1")


@pytest.mark.parametrize("content", ["{", "[]", '{"id": "x"}', '{"id": "x", "created": "yesterday", "cells": []}'])
def test_a_document_that_cannot_be_read_is_left_out_with_a_remark(tmp_path, content):
    """The others are read all the same."""
    for name, text in (("bad", content), ("good", night(id="good").text())):
        (tmp_path / "nights" / name).mkdir(parents=True)
        (tmp_path / "nights" / name / "night.json").write_text(text, encoding="utf-8")
    given = gather(frames(), runs=tmp_path, references=tmp_path, now=NOW)
    assert (given.night_id, given.night) == ("good", night(id="good"))
    assert "bad/night.json: " in given.remarks[0]
    assert "The night is left out." in given.remarks[0]
