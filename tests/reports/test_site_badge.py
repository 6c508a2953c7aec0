"""The badge: one answer, never `fine` where the first screen does not say so, that everybody can read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from reports.site.appearance import contrast
from reports.site.pages import write_site
from tests.nightly.nights import a_document, a_release
from tests.reports.site_frames import (
    HOSTILE,
    ago,
    frames,
    night,
    night_release,
    night_row,
    nights_of,
    sample,
    sources,
    verification,
)
from tests.reports.site_pages import read
from vigil.documents.night import DONE
from vigil.documents.verdict import Verdict
from vigil.nightly.cells import audit_cells, row_of, step_cells

SVG = "{http://www.w3.org/2000/svg}"
WRONG = {"verdict": "regressed"}
DRIFTED = nights_of(12, since=0, bad=lambda _: {"verdict": "better-than-reference", "value": 99.0})


def badge_of(samples, verifications, out, **facts):
    """Return the badge of a report."""
    write_site(sources(frames(samples, verifications), **{"night_id": "2026-11-22-1"} | facts), out)
    return ElementTree.fromstring((out / "badge.svg").read_text(encoding="utf-8"))


def words_of(svg):
    """Return what stands in the two halves."""
    return [each.text for each in svg.iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("samples", "verifications", "word"),
    [
        ([sample()], [verification()], "fine"),
        ([sample()], [], "unknown"),
        ([], [], "unknown"),
        ([sample(created=ago(days=9))], [verification(created=ago(days=9))], "unknown"),
        ([sample(created=ago(days=9), **WRONG)], [verification()], "unknown"),
        ([sample()], [verification(**WRONG)], "1 wrong"),
        ([sample(verdict="failed:died", value=None)], [verification("a", **WRONG)], "2 wrong"),
        ([sample(invocation=f"run{place}") | row for place, row in enumerate(DRIFTED)], [verification()], "1 changed"),
    ],
)
def test_the_badge_has_one_answer(tmp_path, samples, verifications, word):
    """Fine where every look is answered and none is wrong; so many causes that are wrong of today; else unknown."""
    svg = badge_of(samples, verifications, tmp_path / "out", **({"night_id": "n11"} if "changed" in word else {}))
    assert words_of(svg) == ["Vigil", word]
    assert f"Vigil: {word}, night " in svg.find(f"{SVG}title").text == svg.get("aria-label")
    assert svg.get("role") == "img"


@pytest.mark.parametrize(
    ("verdict", "word", "sentence"),
    [
        (Verdict.REPRODUCED, "fine", "Fine: "),
        (Verdict.REGRESSED, "wrong", "Wrong: 1 context of your own steps and audits is wrong or failed: my_step.py."),
        (Verdict.FAILED_CRASH, "wrong", "Wrong: 1 context of your own steps and audits is wrong or failed: my_step.py."),
    ],
)
def test_no_fine_stands_beside_a_step_that_is_wrong(tmp_path, verdict, word, sentence):
    """A user's own step is no cause of the history's, and yet the first sentence and the badge have it."""
    [cell, *_] = step_cells("my_step.py", "jax", "quick")
    row = row_of(cell, basis="b", chosen="new").replace(status=DONE, seconds=1.0, verdict=verdict, reason="so")
    document = a_document([], files=("/ours/my_step.py",), steps=(row,), releases={"jax": a_release("jax", version="0.10.2")})
    svg = badge_of([sample()], [verification()], tmp_path / "out", night=document)
    assert words_of(svg) == ["Vigil", word]
    assert sentence in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("verdict", "word", "sentence"),
    [
        (Verdict.REGRESSED, "wrong", "Wrong: 1 context of your own steps and audits is wrong or failed: losses."),
        (Verdict.UNKNOWN, "unknown", "Nothing wrong seen, but 1 context of your own steps and audits is unknown or left: "),
    ],
)
def test_no_fine_stands_beside_an_audit_that_an_earlier_night_found_wrong(tmp_path, verdict, word, sentence):
    """It is covered, so tonight has no row of it; it stands in the same table, with the night that found it and its command."""
    key = "audit losses quick jax-jit-fp32-x1"
    standing = {"key": key, "night": "2026-11-20-1", "verdict": verdict, "reason": "2 calls", "directory": "d"}
    document = night(night_row("verify"), night_row("reproduce"), standing=(standing,))
    svg = badge_of([sample()], [verification()], tmp_path / "out", night=document)
    assert words_of(svg) == ["Vigil", word]
    first = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert sentence in first
    assert "Fine: " not in first
    [row] = [text for _, _, text in read(tmp_path / "out" / "index.html").all("tr") if "2 calls" in text]
    assert row.startswith("lossesjax-jit-fp32-x1")
    assert "2026-11-20-1" in row
    assert "vigil audit losses" in re.sub("<[^>]+>", "", first)


def test_no_fine_stands_beside_an_audit_that_the_budget_left(tmp_path):
    [cell, *_] = audit_cells(["jax"])
    row = row_of(cell, basis="b", chosen="new").replace(status="left")
    document = night(night_row("verify"), night_row("reproduce"), steps=(row,))
    assert words_of(badge_of([sample()], [verification()], tmp_path / "out", night=document)) == ["Vigil", "unknown"]


def test_what_a_new_release_has_not_been_asked_yet_is_not_fine(tmp_path):
    """Of two looks tonight's budget reached one; the other is of the release before, however young."""
    left = {"status": "left", "verdict": None, "reason": None, "seconds": None}
    document = night(night_row("verify"), night_row("reproduce", **left), releases={"jax": night_release("0.11.0")})
    rows = [sample(night="2026-11-21-1", created=ago(days=1), release="0.10.2")], [verification(release="0.11.0")]
    assert words_of(badge_of(*rows, tmp_path / "out", night=document)) == ["Vigil", "unknown"]
    first = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "Nothing wrong seen in 1 of 2 looks" in first
    assert "of release 0.10.2; the night tests 0.11.0" in first
    asked = [sample(release="0.11.0")], [verification(release="0.11.0")]
    document = night(night_row("verify"), night_row("reproduce"), releases={"jax": night_release("0.11.0+cpu")})
    assert words_of(badge_of(*asked, tmp_path / "asked", night=document)) == ["Vigil", "fine"]


def test_the_badge_can_be_read(tmp_path):
    """Text has a contrast of 4.5 to its half, lies within it, and each answer has a colour of its own."""
    colours = set()
    for place, (samples, steps) in enumerate((([sample()], [verification()]), ([sample()], [verification(**WRONG)]), ([], []))):
        svg = badge_of(samples, steps, tmp_path / str(place))
        boxes, texts = list(svg.iter(f"{SVG}rect")), list(svg.iter(f"{SVG}text"))
        for box, text in zip(boxes, texts, strict=True):
            assert contrast(box.get("fill"), text.get("fill")) >= 4.5
            left, right = float(text.get("x")), float(text.get("x")) + float(text.get("textLength"))
            assert float(box.get("x")) < left < right < float(box.get("x")) + float(box.get("width"))
        assert float(boxes[-1].get("x")) + float(boxes[-1].get("width")) == float(svg.get("width"))
        colours.add(boxes[-1].get("fill"))
    assert len(colours) == 3


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_becomes_markup_of_a_badge(tmp_path, text):
    """A night and a note may be called anything; a picture that others show runs nothing and loads nothing."""
    svg = badge_of([sample(night=text)], [], tmp_path / "out", night_id=text, note=text)
    assert {each.tag for each in svg.iter()} == {f"{SVG}{name}" for name in ("svg", "title", "rect", "text")}
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", svg.find(f"{SVG}title").text)
