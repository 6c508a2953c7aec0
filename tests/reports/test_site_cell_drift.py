"""The report's pages say what `vigil drift` says: a planted drift, nothing, too little, and strings that are no text."""

from __future__ import annotations

import re
from datetime import timedelta

import numpy as np
import pytest

from reports.drift_table import rows
from reports.site.cell_drift import DriftMark, drifts_of
from reports.site.cell_results import results_of
from reports.site.charts import history_chart
from reports.site.pages import write_site
from reports.site.sources import gather, read_recipes
from tests.reports.site_frames import KEY, NOW, frames, sample, sources, verification
from tests.reports.site_pages import assert_links_lead_somewhere, assert_sound, read
from vigil.drift.findings import detect
from vigil.drift.reference_samples import References, rows_in
from vigil.paths import reference_directory

NIGHTS, SINCE, SPREAD = 20, 12, 0.5
OTHER, THIRD = "jax-eager-fp32-x1", "jax-compile-fp32-x1"


def night_name(night: int) -> str:
    """Return the name of a night by its number."""
    return f"2026-11-{night + 1:02d}-1"


def nights(drop: float = 0.0, *, draw: int = 0, count: int = NIGHTS, context: str = KEY[2], **changes):
    """Return the runs of one cell, one of five seeds a night, `drop` lower from night SINCE on, when a release came."""
    noise = np.random.default_rng(draw).normal(0.0, SPREAD, NIGHTS)
    return [
        sample(
            night % 5,
            invocation=f"{context}-{night}",
            created=NOW - timedelta(days=NIGHTS - night),
            night=night_name(night),
            release="0.10.1" if night < SINCE else "0.10.2",
            value=88.0 + noise[night] - drop * (night >= SINCE),
            context=context,
        )
        | changes
        for night in range(count)
    ]


def site(tmp_path, samples, verifications=(), **facts):
    """Write a report of these rows, check every page of it, and return its first page and a function from context to page."""
    out = write_site(sources(frames(samples, list(verifications)), **facts), tmp_path / "out").index.parent
    for path in out.rglob("*.html"):
        assert_sound(read(path))
    assert_links_lead_somewhere(out)
    return read(out / "index.html"), lambda context: read(out / "cells" / f"{KEY[0]}-{KEY[1]}-{context}.html")


def section(page):
    """Return the text of a page from its section on drift on."""
    text = page.all("main")[0][2]
    return text[text.index(" Drift ") :]


def test_a_planted_drift_stands_on_the_first_page_and_on_its_cells_page(tmp_path):
    """Cell with link, what, since which night and release, size, how sure, and which siblings moved; the sibling has none."""
    index, cell_of = site(tmp_path, nights(4.0) + nights(draw=1, context=OTHER) + nights(draw=2, context=THIRD))
    (item,) = [each for each in index.all("li") if each[2].startswith("▼ worse")]
    for words in (f"since night {night_name(SINCE)}", "0.10.1 -> 0.10.2", "points [", " sd; q ", "step ", "only this cell of 3"):
        assert words in item[2]
    assert f'href="cells/{KEY[0]}-{KEY[1]}-{KEY[2]}.html#drift"' in index.text
    assert "2 findings, told above by cause: what changes over nights and releases" in section(index)
    assert "Looked at: 3 cells in 20 nights, 2026-11-01-1 to 2026-11-20-1; 3 cells tested." in section(index)
    own, sibling = cell_of(KEY[2]), cell_of(OTHER)
    assert f"worse since night {night_name(SINCE)}" in section(own)
    assert "Nothing drifts" not in own.text
    assert "Nothing drifts in its values. Tested: 20 independent values from 20 nights" in section(sibling)
    assert [page.text.count('<path class="drift"') for page in (own, sibling)] == [1, 0]
    assert ["broad line" in page.text for page in (own, sibling)] == [True, False]


def test_the_pages_say_what_the_verb_says():
    """With the references of the checkout: the same rows in the same words, none left out and none added."""
    quick = read_recipes()[0]["resnet_cifar"].profiles["quick"].hash
    samples = [
        row
        for draw, context in enumerate((KEY[2], OTHER, THIRD))
        for row in nights(3.0 * (draw == 0), draw=draw, context=context, recipe_hash=quick)
    ]
    samples[-1] |= {"value": float("nan"), "verdict": "failed:died", "reason": "killed"}
    history = frames(samples, [])
    told = rows(detect(history.samples, history.verifications, reference_for=References(rows_in(reference_directory()))))
    given = gather(history, runs=reference_directory() / "none", references=reference_directory(), now=NOW)
    found = drifts_of(given)
    assert [each.line for each in (*found.findings, *found.gaps, *found.moved)] == told
    assert "reference" in told[0].p
    assert (told[0].what, told[-1].what) == ("dropped, worse", "no value since")


HOSTILE = ("<script>alert(1)</script>", "\"><img src=x onerror='alert(3)'>", "\u202egnp.exe\u2066", "long " * 4000)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_string_of_a_drifting_cell_becomes_markup(tmp_path, text):
    """Recipe, context, framework, unit, night, release and reasons reach the pages through findings, too: all are text."""
    changes = {"recipe": text, "profile": text, "context": text, "framework": text, "mode": text, "unit": text}
    samples = nights(4.0, **changes) + nights(4.0, draw=1, context=OTHER, framework=text, mode="eager")
    samples += nights(draw=2, count=15, context="torch-jit-fp32-x1", framework="torch")
    samples.append(samples[-1] | {"night": text, "value": float("nan"), "verdict": f"failed:{text}", "reason": text,
                                  "created": samples[-1]["created"] + timedelta(days=9)})  # fmt: skip
    for row in samples:
        if row["night"] == night_name(SINCE):
            row["night"] = f"{text}!"
        row["release"] = row["release"] if row["release"] == "0.10.1" else text
    out = write_site(sources(frames(samples, []), night_id="x"), tmp_path / "out").index.parent
    for path in out.rglob("*.html"):
        page = read(path)
        assert_sound(page)
        assert not {"\u202e", "\u2066"} & set(page.text)
        assert len(page.text) < 120_000
    index = read(out / "index.html")
    assert "worse" in section(index)
    if "alert" in text:
        assert any(f"since night {text}!" in shown for _, _, shown in index.all("li")), "what is escaped is still shown"


def test_nothing_drifts_says_how_much_was_looked_at(tmp_path):
    """No finding, and in how many cells and nights; no chart has a mark."""
    index, cell_of = site(tmp_path, nights() + nights(draw=1, context=OTHER))
    assert "Nothing drifts. Looked at: 2 cells in 20 nights" in section(index)
    assert not index.of_class("causes")
    assert "broad line" not in cell_of(KEY[2]).text


def test_too_short_a_history_is_not_all_is_well(tmp_path):
    """Two nights can be asked nothing: both pages say so, and neither says that nothing drifts."""
    index, cell_of = site(tmp_path, nights(count=2))
    assert "Nothing could be tested: too short a history. Looked at: 1 cell in 2 nights" in section(index)
    assert "No cause is known. Drift could not be tested." in index.all("main")[0][2]
    assert "Fine" not in index.all("h1")[0][2]
    assert "Too short a history: 2 independent values from 2 nights are too few for any test." in section(cell_of(KEY[2]))
    assert "Nothing drifts" not in index.text + cell_of(KEY[2]).text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"night": None}, "20 runs belong to no night"),
        ({"fault": "half.py"}, "20 runs have a planted fault"),
        ({"value": float("nan"), "verdict": "failed:died"}, "1 cells never gave a value"),
    ],
)
def test_without_a_value_nothing_was_looked_at(tmp_path, changes, words):
    """Runs by hand, with a planted fault, or that all crashed are no history of nights: that is said, and what was left out."""
    index, cell_of = site(tmp_path, nights(4.0, **changes))
    assert "Nothing could be looked at: no night has a run with a value." in section(index)
    assert words in section(index)
    assert "No night gave this cell a value, so there is nothing to test." in section(cell_of(KEY[2]))
    assert "Nothing drifts" not in index.text


def test_a_cell_that_gives_no_value_any_more_takes_the_all_clear_back(tmp_path):
    """Nothing drifts in what there is; the first page says that not every cell gives values, and which."""
    samples = nights() + nights(draw=1, context=OTHER)
    for row in samples[-3:]:
        row |= {"value": float("nan"), "verdict": "failed:died", "reason": "killed"}
    index, cell_of = site(tmp_path, samples)
    assert "Nothing drifts, and not every cell gives values." in section(index)
    assert "Fine" not in index.all("h1")[0][2]
    assert f"no value since {KEY[0]} {KEY[1]} {OTHER}: {night_name(16)}: 3 nights tried since; failed:died: killed." in section(
        index
    )
    assert "Nothing drifts in its values." in section(cell_of(OTHER))
    assert "no value since" in section(cell_of(OTHER))


@pytest.mark.parametrize(("verdict", "score", "expected"), [("regressed", 9.0, True), ("reproduced", 0.4, False)])
def test_numbers_that_moved_are_worse_or_not(tmp_path, verdict, score, expected):
    """Other bits under a release that is out of its limits are a finding; within them they are counted, and told on the page."""
    samples = nights()
    for row in samples:
        row["state_sha256"] = f"{row['release']}-{row['seed']}"
        row["value"] = 88.0 + 0.1 * row["seed"]
    checks = [
        verification("a", release="0.10.1", created=NOW - timedelta(days=15), night=night_name(5)),
        verification("b", release="0.10.2", verdict=verdict, worst_score=score, night=night_name(19)),
    ]
    index, cell_of = site(tmp_path, samples, checks)
    assert ("wrong step" in section(index)) == ("wrong step" in section(cell_of(KEY[2]))) == expected
    assert ("Numbers moved: 1 cell moved, not worse." in section(index)) != expected
    assert ("moved, not worse" in section(cell_of(KEY[2]))) != expected


def test_a_cell_of_a_framework_that_drifts_as_a_whole_says_so(tmp_path):
    """Cells that are pooled have no page; the pages of those cells name the finding."""
    contexts = [f"jax-{mode}-{precision}-x1" for mode in ("jit", "eager", "compile") for precision in ("fp32",)]
    samples = [row for draw, context in enumerate(contexts) for row in nights(4.0, draw=draw, context=context)]
    samples += [row for draw in (20, 21) for row in nights(draw=draw, context=f"torch-m{draw}-fp32-x1", framework="torch")]
    index, cell_of = site(tmp_path, samples)
    assert "dropped jax, 3 cells pooled: since night" in section(index)
    assert "taken together: ! dropped jax, 3 cells pooled" in section(cell_of(contexts[0]))
    assert "jax, 3 cells pooled" not in section(cell_of("torch-m20-fp32-x1"))


def test_a_night_of_the_past_knows_no_later_drift(tmp_path):
    """As of the night before the drop nothing drifts; as of the newest it does."""
    history = frames(nights(6.0), [])
    facts = {"runs": tmp_path, "references": tmp_path, "now": NOW}
    assert [each.line.what for each in drifts_of(gather(history, **facts)).findings] == ["dropped, worse"]
    past = drifts_of(gather(history, **facts, night_id=night_name(SINCE - 1)))
    assert (past.findings, past.looked_at["nights"], past.looked_at["tested"]) == ([], SINCE, 1)


@pytest.mark.parametrize(
    ("mark", "lines", "fields"),
    [
        (DriftMark(night_name(12), night_name(12), night_name(12)), 1, 0),
        (DriftMark(night_name(12), night_name(11), night_name(14)), 1, 1),
        (DriftMark("long ago", "long ago", "long ago"), 0, 0),
        (None, 0, 0),
    ],
)
def test_the_mark_stands_where_the_drift_began(mark, lines, fields):
    """A line at the night, a field where other nights are possible, and nothing for a night that is not on the chart."""
    history = frames(nights(4.0), [])
    looks = results_of(history.samples, history.verifications)[KEY]
    picture = str(history_chart(looks, lambda n: None, mark=mark))
    assert (picture.count('<path class="drift"'), picture.count('class="drift-field"')) == (lines, fields)
    if lines:
        [x] = re.findall(r'class="drift" d="M([\d.]+)', picture)
        points = re.findall(r'p-reproduced" d="M([\d.]+)', picture)
        assert x == points[SINCE]
    if fields:
        [(left, width)] = re.findall(r'class="drift-field" x="([\d.]+)" y="\d+" width="([\d.]+)"', picture)
        assert (left, float(left) + float(width)) == (points[11], pytest.approx(float(points[14]), abs=0.11))
