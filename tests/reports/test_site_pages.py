"""The report's pages: whole, escaped, loading nothing from elsewhere, and put in place at once."""

from __future__ import annotations

import dataclasses
import html
import json
import math
import re
from datetime import timedelta
from pathlib import Path

import pytest

from reports.site import pages
from reports.site.pages import environment, write_site
from reports.site.words import file_name
from tests.nightly.nights import a_document, a_release
from tests.reports.documents import write_narrowing
from tests.reports.site_frames import (
    HASH,
    HOSTILE,
    KEY,
    NOW,
    ago,
    frames,
    night,
    night_recipe,
    night_release,
    night_row,
    sample,
    sources,
    verification,
    write_record,
)
from tests.reports.site_pages import (
    Page,
    assert_every_verdict_has_words,
    assert_links_lead_somewhere,
    assert_loads_nothing_else,
    assert_sound,
    read,
)
from vigil.documents.night import DONE
from vigil.documents.verdict import Verdict
from vigil.errors import DirectoryError
from vigil.failures.triage import told
from vigil.nightly.cells import audit_cells, row_of, step_cells


def usual_history():
    """Return a history with a reproduction of two seeds and a verification."""
    return frames([sample(0), sample(1)], [verification()])


@pytest.mark.parametrize("history", ["usual", "none"])
def test_steps_of_ones_own_have_a_table(tmp_path, history):
    """Verdict, since when and the command; also where MLflow holds nothing, as of steps."""
    name = "<script>alert(1)<"
    rows = [row_of(cell, basis="b", chosen="never looked at") for cell in step_cells(name, "jax", "quick")[:2]]
    ended = {"status": DONE, "reason": "</td><script>", "seconds": 1.0, "since": "2026-11-20-1"}
    rows = [rows[0].replace(verdict=Verdict.REGRESSED, stands=True, **ended), rows[1]]
    document = a_document([], files=(f"/ours/{name}",), steps=tuple(rows), releases={"jax": a_release("jax")})
    given = usual_history() if history == "usual" else frames([], [])
    write_site(sources(given, night=document, night_id=document.id), tmp_path)
    page = read(tmp_path / "index.html")
    assert_sound(page)
    table = " ".join(text for _, _, text in page.all("tr"))
    assert name in table
    assert "</td><script>" in table
    assert "2026-11-20-1" in table
    assert "pending" in table
    assert any(text.startswith("vigil verify") for _, _, text in page.all("code"))


def test_a_night_says_what_failures_took(tmp_path):
    """By category, on the first page and on the night's, where a try that failed was made good too."""
    name = "<script>path</script>"
    lost = {"category": "hang", "name": name, "failures": 2, "seconds": 90.0, "tries": 1, "useless": 0}
    document = night(night_row("verify"), lost=[lost])
    write_site(sources(usual_history(), night=document, night_id="2026-11-22-1"), tmp_path)
    for place in ("index.html", "nights/2026-11-22-1.html"):
        page = read(tmp_path / place)
        assert_sound(page)
        [row] = [text for _, _, text in page.all("tr") if name in text]
        assert "90 s" in row
    plain = write_site(sources(usual_history(), night=night(night_row("verify")), night_id="2026-11-22-1"), tmp_path / "plain")
    assert plain
    assert "Time lost" not in (tmp_path / "plain" / "nights" / "2026-11-22-1.html").read_text()


def test_every_page_is_sound_and_every_link_leads_somewhere(tmp_path):
    """A report of one night has an index, a page of the cell, and the two tables."""
    written = write_site(sources(usual_history(), night=night(night_row("verify")), night_id="2026-11-22-1"), tmp_path / "out")
    found = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.html"))
    cell, night_page = "cells/resnet_cifar-quick-jax-jit-fp32-x1.html", "nights/2026-11-22-1.html"
    assert {cell, night_page, "index.html", "nights.html", "power.html", "releases.html", "reproduction.html"} == set(found)
    assert written.pages == len(found)
    for name in found:
        assert_sound(read(tmp_path / "out" / name))
    assert_links_lead_somewhere(tmp_path / "out")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_string_of_a_record_becomes_markup(tmp_path, text):
    """Names, reasons, releases, nights, ids, verdicts and remarks come from anywhere: all are shown as text."""
    row = {"recipe": text, "profile": text, "context": text, "framework": text, "release": text, "night": text, "reason": text}
    rows = [sample(0, **row, verdict=text), sample(1, **row, metric=text, unit=text), sample(2, **row, fault=text)]
    origin = {"origin_layer": text, "origin_phase": text, "origin_quantity": text}
    history = frames(rows, [verification(**row, **origin), verification("b", **row, verdict=text)], remarks=(text,))
    document = night(
        night_row("verify", recipe=text, verdict="failed:crash", reason=text),
        night_row("reproduce", recipe=text, profile=text, status="left", verdict=None, reason=text),
        id=text, recipes={text: night_recipe()},
        releases={"jax": night_release(request=text), text: night_release(None, request=text, error=text)},
    )  # fmt: skip
    given = sources(history, night=document, night_id=text, note=text, remarks=(text,))
    write_site(given, tmp_path / "out")
    assert not list(tmp_path.rglob("passwd*"))
    for path in (tmp_path / "out").rglob("*.html"):
        page = read(path)
        assert_sound(page)
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", page.text)
    index = read(tmp_path / "out" / "index.html")
    if "alert(1)" in text:
        assert any(text in shown for _, _, shown in index.all("li")), "what is escaped is still shown"
    assert len(index.text) < 120_000


@pytest.mark.parametrize(
    "planted",
    [
        '<a href="javascript:alert(1)">x</a>', '<p onclick="f()">x</p>', "<script>f()</script>",
        '<script src="//cdn.x/y.js"></script>', '<link rel="stylesheet" href="https://fonts.x/y.css">',
        '<script src="https://cdn.x/plotly.js"></script>',
        '<p style="background: url(//x)">x</p>', '<iframe src="x"></iframe>', '<img src="x">',
    ],
)  # fmt: skip
def test_what_loads_or_runs_from_elsewhere_is_caught(planted):
    """Each planted element fails the check that the pages pass."""
    with pytest.raises(AssertionError):
        assert_loads_nothing_else(Page(f"<div>{planted}</div>"))


@pytest.mark.parametrize("planted", ['<a class="cell v-reproduced">✓</a>', '<span class="badge v-failed"></span>'])
def test_a_verdict_that_is_only_a_colour_is_caught(planted):
    """A field without a word fails the check that the pages pass."""
    with pytest.raises(AssertionError, match="without a word"):
        assert_every_verdict_has_words(Page(planted))


def test_a_template_that_does_not_escape_is_caught(tmp_path, monkeypatch):
    """With escaping switched off the same hostile report fails."""
    made = environment()
    made.autoescape = False
    monkeypatch.setattr(pages, "environment", lambda: made)
    history = frames([sample(0, reason=HOSTILE[0], verdict="regressed")], [])
    write_site(sources(history), tmp_path / "out")
    with pytest.raises(AssertionError, match="a script"):
        assert_loads_nothing_else(read(tmp_path / "out" / "index.html"))


def test_names_of_pages_are_plain_and_differ():
    """Whatever a cell is called, its page lies in its folder, and no two cells share one, whatever the file system folds."""
    keys = [
        KEY, ("a", "b-c", "d"), ("a-b", "c", "d"), ("A", "b", "c"), ("a", "b", "c"), ("../x", "..", "/"), ("", "", ""),
        (".", "", ""), ("é", "b", "c"), ("è", "b", "c"), ("a" * 300, "b", "c"), ("a" * 301, "b", "c"),
    ]  # fmt: skip
    names = [file_name(*key) for key in keys]
    assert names[0] == "-".join(KEY)
    assert len({name.lower() for name in names}) == len(keys)
    assert all(re.fullmatch(r"[A-Za-z0-9_+][A-Za-z0-9_+-]{0,99}", name) for name in names)


def test_without_history_the_report_says_so(tmp_path):
    """Nothing measured is no clean bill of health: the page says what to run, and shows no verdict."""
    write_site(sources(frames()), tmp_path / "out")
    page = read(tmp_path / "out" / "index.html")
    assert_sound(page)
    assert page.all("h1")[0][2] == "No history yet"
    assert "make nightly" in page.text
    assert "v-reproduced" not in page.text


def test_what_was_left_failed_and_cost_is_said(tmp_path):
    """The night's failures are listed with their seconds, the dearest first, and what it did not get to."""
    document = night(
        night_row("verify", verdict="failed:died", reason="killed", seconds=30.0),
        night_row("reproduce", verdict="failed:hang", reason="silent", seconds=300.0),
        night_row("verify", context="jax-jit-bf16-x1", status="left", verdict=None, reason="no time left"),
        releases={"jax": night_release(None, error="no wheel for this Python")},
    )
    write_site(sources(usual_history(), night=document, night_id=document.id), tmp_path / "out")
    text = " ".join(part for _, _, part in read(tmp_path / "out" / "index.html").all("main"))
    failed = text[text.index("2 failed, 6 min together") :]
    assert failed.index("silent") < failed.index("killed") < failed.index("no time left")
    assert "1 look was planned and not run; the budget was 30 min" in text
    assert "jax: the release cannot be tested" in text
    assert "no wheel for this Python" in text


def test_dates_and_left_out_runs_stand_on_every_page(tmp_path):
    """How old the data are, how many rows are missing and what else must be known is at the foot of each page."""
    history = frames([sample()], [], skipped=3)
    given = sources(history, remarks=("the tracker did not answer",), note="made up")
    write_site(given, tmp_path / "out")
    for path in (tmp_path / "out").rglob("*.html"):
        page = read(path)
        foot = page.all("footer")[0][2]
        assert "2026-11-22 06:00 UTC; 3 runs left out" in foot
        assert "the tracker did not answer" in foot
        assert "made up" in page.all("header")[0][2]


def test_a_planted_fault_is_shown_as_one_and_judges_nothing(tmp_path):
    """Its run is in the table with the fault's name; the cell stands as its clean runs do."""
    history = frames([sample(0), sample(0, invocation="two", created=ago(hours=1), fault="wrong.py", verdict="regressed")], [])
    write_site(sources(history), tmp_path / "out")
    page = read(tmp_path / "out" / "cells" / f"{'-'.join(KEY)}.html")
    assert "planted fault: wrong.py" in page.text
    assert "reproduced" in page.all("dd")[1][2]
    assert [kind for kind in ("reproduced", "regressed") if f"p-{kind}" in page.text] == ["reproduced"]


def test_a_cell_without_curves_says_why(tmp_path):
    """Where this machine holds no record the page says so; where it does, the curve is drawn and its numbers stand below."""
    row = sample()
    write_site(sources(frames([row], [])), tmp_path / "out")
    name = f"{'-'.join(KEY)}.html"
    assert "This machine holds no record" in read(tmp_path / "out" / "cells" / name).text
    write_record(tmp_path / "runs", row, [2.0, 1.5, "nan", 1.0])
    write_site(sources(frames([row], []), runs=tmp_path / "runs"), tmp_path / "out")
    page = read(tmp_path / "out" / "cells" / name)
    assert "There is no envelope: fewer than 3" in page.text
    cells = [text for _, _, text in page.all("td")]
    assert {"4", "2", "3", "no envelope"} <= set(cells)


def test_a_report_takes_the_place_of_a_report_only(tmp_path):
    """An earlier report is replaced whole, a page of a cell that is gone with it; anything else is refused and kept."""
    out = tmp_path / "out"
    write_site(sources(usual_history()), out)
    (out / "cells" / "gone.html").write_text("x")
    write_site(sources(usual_history()), out)
    assert not (out / "cells" / "gone.html").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "index.html").write_text("my own page")
    with pytest.raises(DirectoryError, match="no report of Vigil"):
        write_site(sources(usual_history()), mine)
    assert (mine / "index.html").read_text() == "my own page"


def test_a_report_that_fails_leaves_the_one_before(tmp_path, monkeypatch):
    """Half a report is never put in place, and nothing is left beside it."""
    out = tmp_path / "out"
    write_site(sources(usual_history()), out)
    before = (out / "index.html").read_bytes()
    monkeypatch.setattr(pages._Site, "_cell", lambda *facts, **more: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_site(sources(usual_history()), out)
    assert (out / "index.html").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_the_numbers_of_a_chart_stand_in_a_table_below_it(tmp_path):
    """Every value that the metric's chart draws is in the page's text, too."""
    history = frames([sample(0, value=87.13), sample(1, value=89.42)], [verification(worst_ratio=7.25)])
    write_site(sources(history), tmp_path / "out")
    page = read(tmp_path / "out" / "cells" / f"{'-'.join(KEY)}.html")
    shown = " ".join(text for _, _, text in page.all("table"))
    for value in ("0: 87.13; 1: 89.42", "85.98 to 91.43", "7.25"):
        assert value in shown
    assert len(page.all("figure")) == len([each for each in page.all("svg") if each[1]["class"] == "plot"]) == 2


def test_the_band_in_the_table_is_the_one_that_is_drawn(tmp_path):
    """Where the first seed gave no number and so has no band, the table has that of the other seeds, as the chart does."""
    nothing = {"value": math.nan, "band_low": math.nan, "band_high": math.nan, "verdict": "failed:died"}
    write_site(sources(frames([sample(0, **nothing), sample(1)], [])), tmp_path / "out")
    page = read(tmp_path / "out" / "cells" / f"{'-'.join(KEY)}.html")
    assert "85.98 to 91.43" in [text for _, _, text in page.all("td")]


@pytest.mark.parametrize(("days", "digest", "name"), [(1, HASH, "reproduced"), (8, HASH, "stale"), (1, "other", "stale")])
def test_a_stale_result_is_not_green_on_the_heat_map(tmp_path, days, digest, name):
    """Older than a week, or of another hash of the recipe: the field says so, in word and colour."""
    history = frames([sample(created=ago(days=days), recipe_hash=digest)], [])
    write_site(sources(history, now=NOW + timedelta(hours=1)), tmp_path / "out")
    page = read(tmp_path / "out" / "index.html")
    field = next(each for each in page.of_class("cell") if "#reproduce" in (each[1].get("href") or ""))
    assert f"v-{name}" in field[1]["class"]
    assert ("stale" in field[2]) == (name == "stale")
    assert bool(page.of_class("v-reproduced")) == (name == "reproduced")


def test_a_context_that_a_recipe_does_not_have_is_an_empty_place(tmp_path):
    """Two recipes with a context each: what only the other has is not counted as never run, and does not look so."""
    other = {"recipe": "moco_lite", "context": "torch-jit-fp32-x1", "framework": "torch"}
    write_site(sources(frames([sample(), sample(**other)], [])), tmp_path / "out")
    page = read(tmp_path / "out" / "index.html")
    fields = page.of_class("cell")
    assert [attributes["class"] for _, attributes, _ in fields] == ["cell v-never", "cell v-reproduced"] * 2
    assert all(attributes.get("href") for _, attributes, _ in fields)


def test_the_report_needs_nothing_beside_itself(tmp_path):
    """What the pages load lies in the report, and the style and script load nothing in turn."""
    write_site(sources(usual_history()), tmp_path / "out")
    for name in ("style.css", "report.js"):
        text = (tmp_path / "out" / name).read_text(encoding="utf-8")
        assert not re.search(r"https?:|//[a-z]|@import|url\(|fetch|import\(", re.sub(r"(?m)^//.*$|/\*.*?\*/", "", text))
    loaded = {each[1].get("src") for path in Path(tmp_path / "out").rglob("*.html") for each in read(path).all("script")} - {None}
    assert loaded == {"report.js", "../report.js"}
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file()) < 120_000


def test_a_wrong_step_has_its_tensors_its_picture_and_its_log(tmp_path):
    """What lies in the run's directory is on the cell's page, or linked; a name that leads out of it is not followed."""
    place = tmp_path / "runs" / "check"
    (place / "answers").mkdir(parents=True)
    (place / "answers" / "log.txt").write_text("its log")
    (place / "verify.png").write_bytes(b"its picture")
    tensors = [{"case": "early/full", "tensor": name, "ratio": 9.0, "slope": 1.0, "score": score, "problem": None}
               for name, score in (("params/head", 7.5), ("params/stem", 0.5))]  # fmt: skip
    (place / "verify.json").write_text(json.dumps({"tensors": tensors}))
    wrong = {"verdict": "regressed", "tensors_out": 1.0}
    outside = verification("../check", context="jax-eager-fp32-x1", **wrong)
    given = sources(frames([], [verification("check", **wrong), outside]), runs=tmp_path / "runs", mlflow="http://x")
    given = dataclasses.replace(given, history=dataclasses.replace(given.history, mlflow_runs={"check": "abc1"}))
    write_site(given, tmp_path / "out")
    page = read(tmp_path / "out" / "cells" / f"{'-'.join(KEY)}.html")
    shown = [text for _, _, text in page.all("th")]
    assert ("params/head" in shown, "params/stem" in shown) == (True, False)
    assert (tmp_path / "out" / "cells" / f"{'-'.join(KEY)}.png").read_bytes() == b"its picture"
    links = {text: attributes["href"] for _, attributes, text in page.all("a")}
    assert (tmp_path / "out" / "cells" / links["log"]).resolve() == place / "answers" / "log.txt"
    assert links["MLflow"] == "http://x/#/runs/abc1"
    text = (tmp_path / "out" / "cells" / f"{'-'.join(KEY)}.html").read_text(encoding="utf-8")
    assert re.findall(r"(..)<span class=.links.>", text) == ["> "]  # apart from the reason before them
    other = read(tmp_path / "out" / "cells" / f"{KEY[0]}-{KEY[1]}-jax-eager-fp32-x1.html")
    assert "This machine does not hold its tensors" in other.text


def _words(path: Path) -> str:
    """Return what a person reads of a page, on one line."""
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", path.read_text(encoding="utf-8"))).split())


def test_what_was_narrowed_is_on_the_first_screen_and_on_the_cells_page(tmp_path):
    """Since which release, hidden by what, with one click to the script and the report; without it, the command that narrows."""
    run = tmp_path / "runs" / "check"
    run.mkdir(parents=True)
    tensors = [{"case": "early/full", "tensor": "params/head", "ratio": 9.0, "slope": 1.0, "score": 7.5, "problem": None}]
    (run / "verify.json").write_text(json.dumps({"tensors": tensors}))
    given = sources(frames([], [verification("check", verdict="regressed", tensors_out=1.0)]), runs=tmp_path / "runs")
    write_site(given, tmp_path / "before")
    page = f"cells/{'-'.join(KEY)}.html"
    assert f"vigil narrow {run} --switches --since" in _words(tmp_path / "before" / page)
    assert "Narrowed" not in read(tmp_path / "before" / "index.html").text
    place = write_narrowing(run)
    write_site(given, tmp_path / "out")
    shown = _words(tmp_path / "out" / page)
    assert "jax 0.9.0 right, wrong since 0.10.1" in shown
    assert "hidden by no fusion" in shown
    assert "one thread" not in shown
    for name in ("index.html", page):
        links = {text: attributes["href"] for _, attributes, text in read(tmp_path / "out" / name).all("a")}
        folder = (tmp_path / "out" / name).parent
        assert [(folder / links[text]).resolve() for text in ("script", "narrowed")] == [place / "script.py", place / "report.md"]
    first = _words(tmp_path / "out" / "index.html")
    assert "Narrowed: WRONG got 2 expected 1; hidden by no fusion; jax 0.9.0 right, wrong since 0.10.1" in first


def test_what_was_narrowed_of_an_audit_stands_with_its_family(tmp_path):
    """In the table of audits, with its report; what its document says is escaped."""
    [cell, *_] = audit_cells(["jax"])
    row = row_of(cell, basis="b", chosen="never looked at")
    row = row.replace(status=DONE, verdict=Verdict.REGRESSED, stands=True, reason="r", seconds=1.0, since="2026-11-20-1")
    run = tmp_path / "runs" / "audited"
    run.mkdir(parents=True)
    place = write_narrowing(run)
    told = {"key": row.key, "cause": "jax: c", "directory": str(place.relative_to(tmp_path / "runs")), "state": "narrowed"}
    document = a_document([], steps=(row,), narrowed=({**told, "reason": "since <b>0.10", "seconds": 9.0},),
                          releases={"jax": a_release("jax")})  # fmt: skip
    given = sources(usual_history(), runs=tmp_path / "runs", night=document, night_id=document.id)
    write_site(given, tmp_path / "out")
    page = read(tmp_path / "out" / "index.html")
    assert "Narrowed: since <b>0.10" in _words(tmp_path / "out" / "index.html")
    links = {text: attributes["href"] for _, attributes, text in page.all("a")}
    assert (tmp_path / "out" / links["report"]).resolve() == place / "report.md"


@pytest.mark.parametrize("is_replayed", [True, False])
def test_a_run_that_was_replayed_links_to_what_was_found(tmp_path, is_replayed):
    """Beside its log; a run that was not has no such link."""
    place = tmp_path / "runs" / "one" / "seed0" / "replay"
    place.mkdir(parents=True)
    if is_replayed:
        (place / "replay.json").touch()
    write_site(sources(frames([sample(verdict="failed:nan_loss", value=None)], []), runs=tmp_path / "runs"), tmp_path / "out")
    folder = tmp_path / "out" / "cells"
    links = {text: attributes["href"] for _, attributes, text in read(folder / f"{'-'.join(KEY)}.html").all("a")}
    found = (folder / links["replay"]).resolve() if "replay" in links else None
    assert found == (place / "replay.json" if is_replayed else None)


def test_a_failure_shows_the_end_of_its_log_without_secrets(tmp_path):
    """The last lines, and no password of an address."""
    place = tmp_path / "runs" / "one" / "seed0"
    place.mkdir(parents=True)
    (place / "log.txt").write_text("".join(f"line {n}\n" for n in range(40)) + "at https://me:secret@host/\n")
    write_site(sources(frames([sample(verdict="failed:crash", value=None)], []), runs=tmp_path / "runs"), tmp_path / "out")
    [(_, _, tail)] = read(tmp_path / "out" / "cells" / f"{'-'.join(KEY)}.html").all("pre")
    assert ("line 39" in tail, "line 10 " in tail, "secret" in tail) == (True, False, False)


def test_a_page_says_why_its_run_failed(tmp_path):
    """Sort, line, what to do, and whether another try helps; of an older record the end of its log alone."""
    place = tmp_path / "runs" / "one" / "seed0"
    place.mkdir(parents=True)
    triage = told("path_not_found", "evidence", "FileNotFoundError: '<b>gone</b>'").as_json()
    failed = sources(frames([sample(verdict="failed:crash", value=None)], []), runs=tmp_path / "runs")
    for failure, is_told in (({"triage": triage}, True), ({"category": "crash"}, False), ({"triage": {"category": 3}}, False)):
        (place / "record.json").write_text(json.dumps({"failure": failure}))
        write_site(failed, tmp_path / "out")
        page = (tmp_path / "out" / "cells" / "resnet_cifar-quick-jax-jit-fp32-x1.html").read_text()
        assert ("path not found (environment), by evidence" in page) is is_told
        assert ("FileNotFoundError: &#39;&lt;b&gt;gone&lt;/b&gt;&#39;" in page) is is_told
        assert ("cannot help: the same input fails the same way" in page) is is_told
