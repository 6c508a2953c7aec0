"""The first screen: one row a cause, and never `Fine` where nothing, or too little, was tested."""

from __future__ import annotations

from datetime import timedelta

import pytest

from benchmarks.synthetic_history import CONTEXTS, synthetic_history
from reports.site.answer import Teller, answer_of
from reports.site.causes import FAILED, STEP, WORSE, causes_of
from reports.site.cell_drift import drifts_of
from reports.site.cell_results import results_of
from reports.site.pages import write_site
from reports.site.power_table import mean_bands
from reports.site.standing import cells_of
from tests.reports.site_frames import (
    KEY,
    ago,
    check,
    frames,
    night,
    night_release,
    night_row,
    nights_of,
    run,
    sample,
    sources,
    verification,
)
from tests.reports.site_pages import read

BF16 = "jax-jit-bf16-x1"


def found_in(given):
    """Return the cells, the causes and the answer of a report."""
    cells = cells_of(given, results_of(given.history.samples, given.history.verifications))
    drifts = drifts_of(given)
    found = causes_of(given, cells, drifts)
    return cells, found, answer_of(given, cells, found, [], tested=drifts.looked_at["tested"])


def rows_in(given):
    """Return the causes as they are told."""
    cells, found, _ = found_in(given)
    teller = Teller(given, cells, found, mean_bands(given.recipes, given.rows))
    return [teller.row(cause, index) for index, cause in enumerate(found.causes)]


def planted(nights, cells):
    """Return a history with three planted causes, and how many cells each has."""
    framework, precision = ([getattr(context, name) for context in CONTEXTS] for name in ("framework", "precision"))
    kinds = [index % len(CONTEXTS) for index in range(cells)]
    bf16 = [index for index, kind in enumerate(kinds) if framework[kind] == "torch" and precision[kind] == "bf16"]
    recipe = [index for index, kind in enumerate(kinds) if framework[kind] == "tensorflow" and index // len(CONTEXTS) == 1]
    alone = next(index for index, kind in enumerate(kinds) if framework[kind] == "jax" and index > len(CONTEXTS))
    drifts = [(bf16, 15, -5.0), (recipe, 20, -5.0), (alone, 18, -7.0)]
    history = synthetic_history(nights, cells, seed=3, drifts=drifts)
    return history, (len(bf16), len(recipe), 1)


def assert_three_rows(history, counts):
    """Raise unless the three causes are three rows, each with its night and its release, and nothing else is a row."""
    now = history.samples["created"].max().to_pydatetime() + timedelta(hours=1)
    rows = rows_in(sources(history, now=now, night_id="night023", rows={}, recipes={}))
    told = {row.where.split(",")[0].split(" ")[0 if "," in row.where else 1].split("-")[0]: row for row in rows}
    assert set(told) == {"torch", "tensorflow", "jax"}
    assert len(rows) == 3
    assert [len(told[name].more) + 1 for name in ("torch", "tensorflow", "jax")] == list(counts)
    nights = {name: row.since.split(",")[0] for name, row in told.items()}
    assert nights == {"torch": "night015", "tensorflow": "night020", "jax": "night018"}
    ran = {name: of.groupby("night")["release"].first() for name, of in history.samples.groupby("framework")}
    for name, row in told.items():
        place = list(ran[name].index).index(nights[name])
        before, release = ran[name].iloc[place - 1], ran[name].iloc[place]
        is_new = before != release
        assert row.change == (f"with {name} {before} → {release}" if is_new else f"{name} {release}")
        assert ("no new release" in row.advice) != is_new
        assert row.command.startswith("vigil compare" if is_new else "vigil reproduce")
        assert f"{name}=={release if is_new else ran[name].iloc[-1]}" in row.command
    assert all(row.spark and row.sure and row.state == "ongoing" for row in rows)


def test_three_planted_causes_are_three_rows():
    """Over a hundred and eight cells; the rows go when the causes do."""
    assert_three_rows(*planted(24, 108))
    with pytest.raises(AssertionError):
        assert_three_rows(synthetic_history(24, 108, seed=3), (0, 0, 0))


@pytest.mark.slow
def test_three_planted_causes_over_five_hundred_cells_are_three_rows(tmp_path):
    """On the first screen of 1440 x 900, with the sentence above them that says so."""
    from benchmarks.browser import browser, find_chromium

    history, counts = planted(24, 500)
    assert_three_rows(history, counts)
    now = history.samples["created"].max().to_pydatetime() + timedelta(hours=1)
    written = write_site(sources(history, now=now, night_id="night023", rows={}, recipes={}), tmp_path / "out")
    assert read(written.index).all("title")[0][2].startswith(f"▼ Wrong: 3 causes in {sum(counts)} cells, all worse.")
    if find_chromium() is not None:
        with browser() as (page, errors):
            page.set_viewport_size({"width": 1440, "height": 900})
            page.goto(written.index.as_uri())
            boxes = [row.bounding_box() for row in page.locator(".causes tbody tr").all()]
            assert len(boxes) == 3
            assert all(box["y"] + box["height"] <= 900 for box in boxes)
            assert errors == []


def test_a_look_and_a_drift_of_one_cell_are_one_row():
    """A wrong step, a worse metric and a drift of a cell are told once, by what says most: the wrong step."""
    steps = check(nights_of(20, since=12, bad=lambda _: {"verdict": "regressed", "origin_layer": "head", "worst_score": 9.0}))
    runs = run(nights_of(20, since=12, bad=lambda _: {"verdict": "regressed", "value": 80.0}))
    given = sources(frames(runs, steps), night_id="n19")
    _, found, _ = found_in(given)
    [cause] = found.causes
    assert (cause.sort, cause.keys, len(cause.pools)) == (STEP, [KEY], 0)
    assert cause.lead.found is not None
    [row] = rows_in(given)
    assert (row.word, row.bold, row.since) == ("wrong step", "head", "n12, Nov 15 · 8 nights")
    assert row.command == "vigil verify resnet_cifar --framework jax --mode jit --precision fp32 --release jax==0.10.2"


def test_cells_that_went_wrong_with_one_release_are_one_row():
    """Three cells of a framework fail alike since the same release: one row that names it, and who else is clean."""
    contexts = [KEY[2], BF16, "jax-eager-fp32-x1"]
    bad = nights_of(12, since=6, bad=lambda _: {"verdict": "regressed", "worst_score": 5.0})
    steps = [row for context in contexts for row in check(bad, context=context)]
    steps += check(nights_of(12, since=99, bad=None), context="torch-jit-fp32-x1", framework="torch")
    given = sources(frames([], steps), night_id="n11")
    [row] = rows_in(given)
    assert (row.where, row.change) == ("jax: all 3 cells", "with jax 0.10.1 → 0.10.2")
    assert row.told == "not torch"
    assert len(row.more) == 2


def test_different_beginnings_are_different_rows():
    """Two cells of a framework, wrong since other nights and releases, are two causes."""
    steps = check(nights_of(12, since=6, bad=lambda _: {"verdict": "regressed"}))
    steps += check(nights_of(12, since=10, bad=lambda _: {"verdict": "regressed"}), context=BF16)
    rows = rows_in(sources(frames([], steps), night_id="n11"))
    assert sorted(row.since.split(",")[0] for row in rows) == ["n06", "n10"]


def test_new_ongoing_and_fixed_are_told():
    """Tonight's first failure is new, an older one ongoing, and a wrong step that is right again fixed."""
    steps = check(nights_of(12, since=6, bad=lambda _: {"verdict": "regressed"}))
    steps += check(nights_of(12, since=11, bad=lambda _: {"verdict": "failed:died"}), context=BF16)
    fixed = nights_of(12, since=11, bad=lambda _: {"verdict": "reproduced"}, good=lambda _: {"verdict": "regressed"})
    steps += check(fixed, context="torch-jit-fp32-x1", framework="torch")
    given = sources(frames([], steps), night_id="n11")
    assert sorted((row.word, row.state) for row in rows_in(given)) == [("failed: died", "new"), ("wrong step", "ongoing")]
    _, _, answer = found_in(given)
    assert answer.details[0] == "New tonight: 1. Ongoing: 1. Fixed tonight: 1 (resnet_cifar torch-jit-fp32-x1)."
    assert answer.title == "Wrong: 2 causes in 2 cells, 1 wrong step and 1 failed. All in jax 0.10.2."


def test_what_is_fixed_is_told_by_cause():
    """Three cells of a framework that are right again, in both looks, are one cause and not six; a fourth is still wrong."""
    fixed = nights_of(12, since=11, bad=lambda _: {"verdict": "reproduced"}, good=lambda _: {"verdict": "regressed"})
    contexts = (KEY[2], "jax-eager-fp32-x1", "jax-compile-fp32-x1")
    steps = [row for context in contexts for row in check(fixed, context=context)]
    runs = [row for context in contexts for row in run(fixed, context=context, value=88.7)]
    steps += check(nights_of(12, since=0, bad=lambda _: {"verdict": "regressed"}), context=BF16)
    _, found, answer = found_in(sources(frames(runs, steps), night_id="n11"))
    assert [(cause.sort, sorted(key[2] for key in cause.keys)) for cause in found.fixed] == [(STEP, sorted(contexts))]
    assert [cause.keys for cause in found.causes] == [[(KEY[0], KEY[1], BF16)]]
    assert answer.details[0].endswith("Fixed tonight: 1 (jax, fp32: all 3 cells).")


def test_one_number_of_many_outside_its_band_is_told_as_chance():
    """Of sixty cells one lies a little outside: no row, and no all-clear either; the night's own word comes first."""
    rows = [sample(invocation=str(n), context=f"jax-jit-fp32-x{n}", value=88.7) for n in range(1, 60)]
    rows.append(sample(invocation="odd", value=85.9, verdict="regressed", context="jax-jit-fp32-x60"))
    _, found, answer = found_in(sources(frames(rows, []), night_id="2026-11-22-1"))
    assert (found.causes, len(found.by_chance)) == ((), 1)
    assert "1 of 60 judged numbers lie outside their bands, where chance alone puts 0.6." in " ".join(answer.details)
    assert not answer.title.startswith("Fine")
    document = night(night_row("reproduce", context="jax-jit-fp32-x60", verdict="regressed", p_value=1e-9, stands=True))
    _, found, answer = found_in(sources(frames(rows, []), night=document, night_id=document.id))
    assert [cause.sort for cause in found.causes] == [WORSE]
    assert answer.title.startswith("Wrong: 1 cause in 1 cell, worse.")


FINE = ([sample()], [verification()])


@pytest.mark.parametrize(
    ("samples", "verifications", "begins"),
    [
        (*FINE, "Fine: all 2 looks are answered, none is wrong."),
        ([sample()], [], "Nothing wrong seen in 1 of 2 looks."),
        ([sample(created=ago(days=9))], [verification(created=ago(days=9))], "Nothing is known of today"),
        ([sample(verdict="unknown", band_low=None, band_high=None)], [verification()], "Nothing wrong seen in 1 of 2 looks"),
        ([sample(verdict="failed:died", value=None)], [verification(verdict="failed:died")], "Nothing was tested: 1 cause"),
        ([sample(fault="x.py")], [verification(fault="x.py")], "Nothing is known of today"),
        ([sample(created=ago(days=9), verdict="regressed")], [verification()], "Nothing wrong seen in 1 of 2 looks, and 1 that"),
        ([sample(recipe_hash="older")], [verification(recipe_hash="older")], "Nothing is known of today"),
        ([sample(verdict="odd")], [verification()], "Wrong: 1 cause in 1 cell, other."),
    ],
)
def test_fine_is_said_only_where_everything_was_tested(samples, verifications, begins):
    """Stale, left, unknown, crashed, never run, faulted or of another recipe: each takes the all-clear back."""
    _, _, answer = found_in(sources(frames(samples, verifications), night_id="2026-11-22-1"))
    assert answer.title.startswith(begins)
    assert answer.title.startswith("Fine") == (answer.name == "reproduced")


def test_a_cell_that_was_left_takes_the_all_clear_back():
    """So does a release that could not be tested, which is a cause of its own."""
    left = night(night_row("verify", context=BF16, status="left", verdict=None, reason="no time"))
    _, _, answer = found_in(sources(frames(*FINE), night=left, night_id=left.id))
    assert answer.title.startswith("Nothing wrong seen in 2 of 4 looks. That is not yet fine.")
    untested = night(releases={"jax": night_release(None, error="no wheel")})
    _, found, answer = found_in(sources(frames(*FINE), night=untested, night_id=untested.id))
    assert [(cause.sort, cause.problem) for cause in found.causes] == [(FAILED, "no wheel")]
    assert answer.title.startswith("Wrong: 1 cause, failed.")


def test_all_that_crashed_is_one_row_and_no_all_clear():
    """Everything died with a new release: one cause, and the sentence says that nothing was tested."""
    dead = nights_of(8, since=6, bad=lambda _: {"verdict": "failed:crash", "value": None, "reason": "import failed"})
    rows = [each for context in (KEY[2], BF16, "jax-eager-fp32-x1") for each in run(dead, context=context)]
    given = sources(frames(rows, []), night_id="n07")
    [row] = rows_in(given)
    assert (row.word, row.where, row.change) == ("failed: crash", "jax: all 3 cells", "with jax 0.10.1 → 0.10.2")
    _, _, answer = found_in(given)
    assert answer.title == "Nothing was tested: 1 cause in 3 cells, failed."
