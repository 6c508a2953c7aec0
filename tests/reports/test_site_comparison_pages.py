"""A comparison of two releases has a page: the answer first, the differences as a picture, and what moved beside it."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from reports.site import comparison_pages
from reports.site.comparison_pages import appearance_of, title_of
from reports.site.pages import write_site
from reports.site.sources import gather
from tests.reports.site_frames import NOW, frames, sample, sources
from tests.reports.site_pages import Page, assert_links_lead_somewhere, assert_sound, read
from vigil.documents.comparison import Comparison, ReleaseVerdict
from vigil.documents.context import make_context

HOSTILE = "\u202e<script>alert(1)</script>{{ 7 * 7 }}"
STEP = {"case": "init/margin", "tensors": 21, "equal": 17, "tensor": "params/hidden.bias", "ratio": 12.5}
STEP |= {"old_ratio": 0.5, "new_ratio": 12.25}
STATES = {"seeds": 3, "equal": 0, "share": 2e-3, "between_seeds": 1.25, "tensor": "params/hidden.bias"}
STATES |= {"tensor_share": 0.25, "tensor_floors": 5000.0}
LOSSES = {"first_step": 1e-7, "first_step_floors": 0.5, "largest": 0.125, "step": 9, "since": 1, "seeds": 3}


def side(name: str, version: str, *, shift: float = 0.0, **changes) -> dict:
    """Return a side of three runs."""
    return {
        "name": name,
        "release": {"request": f"jax=={version}", "key": f"key-{version}", "pins": [f"jax=={version}"]},
        "invocation": name,
        "verdict": "reproduced",
        "values": {str(seed): 88.0 + seed / 10 + shift for seed in range(3)},
        "versions": {"jax": version, "flax": f"{version}-flax", "numpy": "2.4.6"},
        **changes,
    }


def difference(shift: float) -> dict:
    """Return the difference of two sides that are so far apart."""
    return {
        "method": "pooled", "difference": shift, "low": shift - 0.75, "high": shift + 0.75, "p_value": 0.2,
        "n_new": 3, "n_old": 3, "n_pairs": 3, "correlation": 1.0, "detectable": 0.85, "coverage": 0.99,
        "decision": "no difference seen",
        "spread_floor": 0.2,
    }  # fmt: skip


def comparison(name: ReleaseVerdict = ReleaseVerdict.MOVED, *, shift: float = 0.25, **changes) -> Comparison:
    """Return the document of a comparison with this verdict."""
    verdict = {"name": name, "reason": "final states differ, the metric does not", "exit_code": name.exit_code}
    content = {
        "compare_id": "20261120-compare-one",
        "created": NOW.isoformat(),
        "command": "vigil compare resnet_cifar jax==0.9.2 jax==0.10.2",
        "recipe": {"name": "resnet_cifar", "version": 1, "hash": "ab12", "profile": "quick"},
        "context": make_context(framework="jax"),
        "seeds": (0, 1, 2),
        "metric": {"name": "test_accuracy", "unit": "percent", "direction": "higher"},
        "old": side("OLD", "0.9.2"),
        "new": side("NEW", "0.10.2", shift=shift),
        "verdict": verdict,
        "difference": difference(shift),
        "steps": [STEP],
        "losses": LOSSES,
        "states": STATES,
        "remarks": ("first step and images/second are not judged",),
    }
    return Comparison.model_validate(content | changes)


def page_of(document: Comparison, folder: Path, *, history=None) -> Page:
    """Return the page of a comparison, in a report that is sound as a whole."""
    given = sources(history or frames([sample(0)]), runs=folder / "runs", comparisons=[document])
    write_site(given, folder / "report")
    for path in (folder / "report").rglob("*.html"):
        assert_sound(read(path))
    assert_links_lead_somewhere(folder / "report")
    [path] = (folder / "report" / "comparisons").glob("*.html")
    return read(path)


def rows_of(page: Page) -> list[list[str]]:
    """Return the rows of a page's tables, four cells each."""
    cells = [text for _, attributes, text in page.all("th", "td") if attributes.get("scope") != "col"]
    return [cells[first : first + 4] for first in range(0, len(cells), 4)]


def test_a_page_says_the_answer_first_and_then_all_that_the_terminal_says(tmp_path):
    """Answer, picture, both sides, what moved in floors, values, and the command to repeat it; the index leads there."""
    page = page_of(comparison(hold=["numpy==2.4.6"]), tmp_path)
    assert page.all("h1")[0][2] == "✓ jax 0.10.2 moves numbers of jax 0.9.2, not for the worse."
    said = " ".join(page.all("main")[0][2].split())
    assert said.index("Single steps from the same states are up to 12.5x the noise floor apart") < said.index("The two sides")
    assert "3 runs a side would have shown a difference of 0.85 points nine times in ten." in said
    table = {row[0]: row[1:] for row in rows_of(page)}
    off = "0.5x the floor off float64", "12.2x the floor off float64"
    assert table["step init/margin"] == [*off, "12.5x the floor apart (params/hidden.bias); 17 of 21 tensors same bits"]
    assert table["loss of step 1"][2] == "1e-07 of its size, 0.5x the floor"
    apart = "0.002 of their size; furthest params/hidden.bias, 0.25 of its size, 5,000x the floor of one step"
    assert table["final parameters"] == ["1.2 of their size between two seeds", "", apart]
    named = [attributes.get("data-of") for _, attributes, _ in page.all("td")][:3]
    assert named == ["OLD", "NEW", "NEW - OLD"]  # a phone shows no head of a table
    assert table["flax"] == ["0.9.2-flax", "0.10.2-flax", "differs"]
    assert table["seed 1"] == ["88.10", "88.35", "+0.25"]
    assert "Held under both: numpy==2.4.6." in said
    assert "To keep what OLD has: --hold flax==0.9.2-flax" in said
    assert "3 seeds under both, paired from 6 on" in said
    assert page.all("code")[0][2] == "vigil compare resnet_cifar jax==0.9.2 jax==0.10.2"
    listed = read(tmp_path / "report" / "comparisons.html")
    assert any(attributes["href"] == "comparisons/20261120-compare-one.html" for _, attributes, _ in listed.all("a"))
    assert any(attributes["href"] == "comparisons.html" for _, attributes, _ in read(tmp_path / "report" / "index.html").all("a"))


def test_each_seed_is_a_point_and_the_interval_a_shade(tmp_path):
    """Three seeds and their mean; the shade is as high as the interval is wide, and holds the line of no difference."""
    page = page_of(comparison(), tmp_path)
    points = [attributes for tag, attributes, _ in page.all("path") if "p-" in (attributes.get("class") or "")]
    assert [each["class"] for each in points] == ["p p-neutral"] * 3 + ["p p-reproduced"]
    [shade] = [attributes for _, attributes, _ in page.all("rect") if attributes.get("class") == "band"]
    [zero] = [attributes for _, attributes, _ in page.all("path") if attributes.get("class") == "release"]
    height, top = float(re.search(r" ([0-9.]+)H", zero["d"])[1]), float(shade["y"])
    assert top < height < top + float(shade["height"])
    mean = float(re.search(r" ([0-9.]+)h", points[-1]["d"])[1])
    assert mean == pytest.approx(top + float(shade["height"]) / 2, abs=0.2)


@pytest.mark.parametrize(
    ("name", "direction", "appearance", "title"),
    [
        ("IDENTICAL", "higher", "reproduced", "jax 0.9.2 and jax 0.10.2 train to the same bits"),
        ("NO_DIFFERENCE", "higher", "reproduced", "No difference seen between jax 0.9.2 and jax 0.10.2"),
        ("NEW_LOWER", "higher", "regressed", "test_accuracy is lower by 9.00 points under jax 0.10.2 than under jax 0.9.2"),
        ("NEW_LOWER", "lower", "better-than-reference", "test_accuracy is lower by 9.00 points under jax 0.10.2"),
        ("NEW_HIGHER", "lower", "regressed", "test_accuracy is higher by 9.00 points under jax 0.10.2"),
        ("NEW_HIGHER", "higher", "better-than-reference", "test_accuracy is higher by 9.00 points under jax 0.10.2"),
        ("NEW_WRONG", "higher", "regressed", "A training step under jax 0.10.2 is wrong"),
        ("COULD_NOT_RUN", "higher", "failed", "jax 0.9.2 and jax 0.10.2 could not be compared"),
        ("TOO_FEW_RUNS", "higher", "unknown", "Too few runs to tell jax 0.9.2 from jax 0.10.2"),
        ("CANNOT_TELL", "higher", "unknown", "These runs cannot tell jax 0.9.2 from jax 0.10.2"),
    ],
)
def test_every_verdict_has_its_sentence_and_its_looks(name, direction, appearance, title):
    """What is better depends on the metric's direction, and what says nothing is never green."""
    metric = {"name": "test_accuracy", "unit": "percent", "direction": direction}
    document = comparison(ReleaseVerdict[name], shift=-9.0 if name == "NEW_LOWER" else 9.0, metric=metric)
    assert appearance_of(document).name == appearance
    assert title_of(document).startswith(title)


@pytest.mark.parametrize(
    ("name", "said"), [("NEW_WRONG", "was caught."), ("MOVED", "was not caught: it has no part in this recipe")]
)
def test_a_planted_fault_is_said_to_be_caught_or_not(tmp_path, name, said):
    """Nobody takes a fault that was planted for a finding, or one that had no effect for a clean release."""
    page = page_of(comparison(ReleaseVerdict[name], fault="half"), tmp_path)
    [note] = page.of_class("note")
    assert note[2].startswith(f"The fault half, planted under NEW on purpose, {said}")
    assert "with the fault half planted" in page.all("h1")[0][2]


def test_a_comparison_that_did_not_run_shows_the_last_lines(tmp_path):
    """There is no picture, and what is held side by side is nothing."""
    failed = {"problem": "no set of packages fits", "log_tail": ["ERROR: no matching distribution"], "values": {}, "versions": {}}
    none = {"difference": None, "steps": (), "losses": None, "states": None, "why_no_floors": "nothing ran"}
    page = page_of(comparison(ReleaseVerdict.COULD_NOT_RUN, new=side("NEW", "9.9", **failed), **none), tmp_path)
    assert page.all("h1")[0][2] == "✕ jax 0.9.2 and jax==9.9 could not be compared."
    assert not page.all("figure")
    assert page.all("pre")[0][2] == "ERROR: no matching distribution"


def test_what_documents_say_is_shown_as_text(tmp_path):
    """Names, reasons and commands are of files that anybody may have edited."""
    verdict = {"name": "numbers moved, not worse", "reason": HOSTILE, "exit_code": 0}
    changes = {"verdict": verdict, "command": HOSTILE, "fault": HOSTILE, "remarks": (HOSTILE,), "why_no_floors": HOSTILE}
    sides = {"old": side(HOSTILE, "0.9.2", log_tail=[HOSTILE]), "new": side(HOSTILE, "0.10.2"), "hold": [HOSTILE]}
    document = comparison(compare_id="../" + HOSTILE, steps=[STEP | {"tensor": HOSTILE}], **changes, **sides)
    page = page_of(document, tmp_path)
    assert "<script>alert(1)" not in page.text
    assert "\u202e" not in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_damaged_comparison_is_left_out_with_a_remark_and_one_after_the_night_without(tmp_path):
    """The others have their pages; a report of the past shows nothing of later."""
    runs = tmp_path / "runs"
    for place, moment in (("early", NOW - timedelta(days=9)), ("late", NOW)):
        (runs / place).mkdir(parents=True)
        comparison(compare_id=place, created=moment.isoformat()).write(runs / place)
    (runs / "torn").mkdir()
    (runs / "torn" / "compare.json").write_text((runs / "late" / "compare.json").read_text()[:200])
    facts = {"runs": runs, "references": tmp_path / "none", "now": NOW}
    found = gather(frames([sample(0)]), **facts)
    assert [each.compare_id for each in found.comparisons] == ["early", "late"]
    assert any("torn" in remark and "The comparison is left out." in remark for remark in found.remarks)
    seen = frames([sample(0, night="2026-11-12-1", created=NOW - timedelta(days=8))])
    past = gather(seen, **facts, night_id="2026-11-12-1")
    assert [each.compare_id for each in past.comparisons] == ["early"]


def test_of_many_comparisons_the_newest_have_pages(tmp_path, monkeypatch):
    """How many are left out is said."""
    monkeypatch.setattr(comparison_pages, "MOST", 2)
    documents = [comparison(compare_id=f"c{number}") for number in range(3)]
    write_site(sources(frames(), comparisons=documents), tmp_path / "report")
    assert sorted(path.name for path in (tmp_path / "report" / "comparisons").iterdir()) == ["c1.html", "c2.html"]
    assert "1 older comparison left out" in read(tmp_path / "report" / "comparisons.html").text


def test_without_comparisons_there_is_no_list_and_no_link_to_one(tmp_path):
    """A report of nights alone is as it was."""
    write_site(sources(frames([sample(0)])), tmp_path / "report")
    assert not (tmp_path / "report" / "comparisons.html").exists()
    assert "comparisons.html" not in (tmp_path / "report" / "index.html").read_text()


def test_a_comparison_of_before_is_read(tmp_path):
    """What was written without steps, states and packages held has a page, which says what is there."""
    content = json.loads(comparison().text())
    for key in ("steps", "states", "sha256"):
        content.pop(key)
    content["losses"].pop("first_step_floors")
    page = page_of(Comparison.parse(json.dumps(content), where="old"), tmp_path)
    assert ["loss of step 1", "", "", "1e-07 of its size"] in rows_of(page)
