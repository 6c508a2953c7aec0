"""Users' own steps, operators and comparisons have a page each: what the verb printed, its document, and what narrowed it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reports.site.pages import write_site
from reports.site.sources import gather
from tests.reports import test_step_comparison_text, test_step_text
from tests.reports.site_frames import NOW, frames, sample, sources
from tests.reports.site_pages import Page, assert_links_lead_somewhere, assert_sound, read
from tests.steps.compared import RIGHT, WRONG
from tests.steps.compared import context as compared
from tests.vigil.narrow.own_runs import operator_run
from vigil.documents.step import OwnFileFacts, StepVerification
from vigil.documents.step_comparison import SidesVerdict, StepComparison
from vigil.documents.verdict import Verdict

STEP, OPERATOR, COMPARED = (f"20261125-131207-{verb}-my_file-00f1" for verb in ("step", "operator", "compare"))
HOSTILE = "\u202e<script>alert(1)</script>{{ 7 * 7 }}"


def wrong_step(**more) -> StepVerification:
    """Return the verification of a wrong step."""
    context = test_step_text.context("jit", out=(test_step_text.difference("gradients/w", score=30.0),))
    return test_step_text.document(context, name=Verdict.REGRESSED).replace(step_id=STEP, created=NOW.isoformat(), **more)


def comparison(name: SidesVerdict, new: Verdict) -> StepComparison:
    """Return the comparison of a step that is right under OLD."""
    document = test_step_comparison_text.document(name, compared(RIGHT, new, equal=1))
    return document.replace(compare_id=COMPARED, created=NOW.isoformat())


def write(folder, *documents) -> Page:
    """Write the report of these documents, each in its directory; return the list. Every page is sound."""
    for name, document in documents:
        (folder / "runs" / name).mkdir(parents=True, exist_ok=True)
        document.write(folder / "runs" / name)
    own = [document for _, document in documents]
    write_site(sources(frames([sample(0)]), runs=folder / "runs", own=own), folder / "report")
    for path in (folder / "report").rglob("*.html"):
        assert_sound(read(path))
    assert_links_lead_somewhere(folder / "report")
    return read(folder / "report" / "own.html")


def test_a_wrong_step_has_a_page_with_its_origin_and_what_narrowed_it(tmp_path):
    narrowed = tmp_path / "runs" / STEP / "narrowed" / "1"
    narrowed.mkdir(parents=True)
    for name in ("narrow.json", "report.md"):
        (narrowed / name).write_text("{}", encoding="utf-8")
    listed = write(tmp_path, (STEP, wrong_step()))
    assert any(attributes["href"] == f"own/{STEP}.html" for _, attributes, _ in listed.all("a"))
    assert "wrong step" in listed.text
    page = read(tmp_path / "report" / "own" / f"{STEP}.html")
    assert "blocks.1.mlp" in page.text
    assert "gradients/w" in page.text
    assert "\n  torch-jit-fp32-x1  " in (tmp_path / "report" / "own" / f"{STEP}.html").read_text(encoding="utf-8")
    links = [attributes["href"] for _, attributes, _ in page.all("a")]
    assert any(link.endswith(f"{STEP}/step.json") for link in links)
    assert any(link.endswith(f"{STEP}/narrowed/1/report.md") for link in links)


def test_an_operator_and_a_comparison_have_pages_too(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "my_file.py").write_text("import torch\n", encoding="utf-8")
    operator = operator_run(tmp_path / "runs" / OPERATOR, tmp_path / "my_file.py", "torch").replace(operator_id=OPERATOR)
    listed = write(tmp_path, (OPERATOR, operator), (COMPARED, comparison(SidesVerdict.NEW_WRONG, WRONG)))
    assert "a step of NEW is wrong" in listed.text
    for name in (OPERATOR, COMPARED):
        assert (tmp_path / "report" / "own" / f"{name}.html").is_file()


@pytest.mark.parametrize(
    ("name", "new", "edge"),
    [(SidesVerdict.ROUNDED, RIGHT, "reproduced"), (SidesVerdict.NEW_WRONG, WRONG, "regressed")],
)
def test_a_comparison_looks_as_its_exit_code_says(tmp_path, name, new, edge):
    write(tmp_path, (COMPARED, comparison(name, new)))
    assert f"v-edge-{edge}" in (tmp_path / "report" / "own" / f"{COMPARED}.html").read_text(encoding="utf-8")


def test_without_them_there_is_no_list_and_no_link_to_one(tmp_path):
    write_site(sources(frames([sample(0)]), runs=tmp_path / "runs"), tmp_path / "report")
    assert not (tmp_path / "report" / "own.html").exists()
    assert "own.html" not in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def test_what_a_file_is_called_is_text(tmp_path):
    document = wrong_step(file=OwnFileFacts(path=f"/somewhere/{HOSTILE.replace('/', '')}.py", sha256="0" * 64))
    write(tmp_path, (STEP, document))
    text = (tmp_path / "report" / "own" / f"{STEP}.html").read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "49" not in text.split("<h1>")[1].split("</h1>")[0]
    assert "\u202e" not in text


def test_the_newest_are_read_from_the_runs(tmp_path):
    for hour in range(5):
        name = f"20261125-1{hour}1207-step-my_step-00f1"
        (tmp_path / name).mkdir()
        wrong_step().replace(step_id=name, created=(NOW - timedelta(hours=9 - hour)).isoformat()).write(tmp_path / name)
    found = gather(frames([]), runs=tmp_path, references=tmp_path, now=NOW).own
    assert [each.step_id[9:12] for each in found] == ["141", "131", "121"]
