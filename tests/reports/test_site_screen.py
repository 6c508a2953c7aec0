"""`data.json`: what the first screen says, for programs, typed, with every key explained."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from reports.site.pages import write_site
from tests.reports.site_frames import HOSTILE, KEY, NOW, check, frames, nights_of, run, sample, sources, verification
from tests.reports.site_pages import read
from vigil.documents.document import DocumentError
from vigil.documents.first_screen import FirstScreen, ShownBegin, ShownCause, ShownCell
from vigil.paths import project_root

BF16, TORCH = "jax-jit-bf16-x1", "torch-jit-fp32-x1"


def history():
    """Return two cells that went wrong with a release, and one that is right again."""
    wrong = {"verdict": "regressed", "origin_layer": "head", "worst_ratio": 90.0, "worst_score": 9.0}
    bad = nights_of(12, since=6, bad=lambda _: wrong)
    rows = [*check(bad), *check(bad, context=BF16)]
    fixed = nights_of(12, since=11, bad=lambda _: {"verdict": "reproduced"}, good=lambda _: {"verdict": "regressed"})
    return [*rows, *check(fixed, context=TORCH, framework="torch")]


def test_it_says_what_the_first_screen_says(tmp_path):
    """The sentence, the tiles, and of a cause its cells, since, release, how sure and command; the page has the same words."""
    write_site(sources(frames([], history()), night_id="n11"), tmp_path / "out")
    screen, page = FirstScreen.read(tmp_path / "out"), read(tmp_path / "out" / "index.html")
    text = " ".join(page.all("main")[0][2].split())
    assert screen.answer.sentence in page.all("h1")[0][2]
    assert screen.answer.state == "regressed"
    assert (screen.night, screen.written) == ("n11", NOW.isoformat())
    [tile, other] = screen.tiles
    assert (tile.framework, tile.release, tile.told) == ("torch", "0.10.2", ("nothing wrong seen",))
    assert (other.framework, other.told) == ("jax", ("1 wrong step",))
    [cause] = screen.causes
    assert {(cell.recipe, cell.profile, cell.context) for cell in cause.cells} == {KEY, (KEY[0], KEY[1], BF16)}
    assert all((tmp_path / "out" / cell.page).is_file() for cell in cause.cells)
    assert (cause.state, cause.word, cause.framework) == ("ongoing", "wrong step", "jax")
    since = cause.since
    assert (since.night, since.began, since.before, since.release) == ("n06", "2026-11-17T02:00:00+00:00", "0.10.1", "0.10.2")
    for told in (cause.where, cause.what, cause.told, cause.sure, cause.command, *since.told.split(", with ")):
        assert told
        assert told in text
    [fixed] = screen.fixed
    assert (fixed.state, fixed.where) == ("fixed", f"resnet_cifar {TORCH}")
    assert {text: attributes["href"] for _, attributes, text in page.all("a")}["data.json"] == "data.json"


def test_a_cause_keeps_its_id_and_two_histories_share_none(tmp_path):
    """From night to night and when it is fixed; another machine's causes of the same cells are others."""
    rows = history()
    earlier = [row for row in rows if row["night"] != "n11"]
    screens = []
    for place, held in enumerate((earlier, rows, [row | {"verify_id": f"b{row['verify_id']}"} for row in rows])):
        now = NOW - timedelta(days=1) if held is earlier else NOW
        write_site(sources(frames([], held), now=now, night_id="n10" if held is earlier else "n11"), tmp_path / str(place))
        screens.append(FirstScreen.read(tmp_path / str(place)))
    before, after, elsewhere = ({each.where: each.id for each in (*screen.causes, *screen.fixed)} for screen in screens)
    assert before == after
    assert len(set(before.values())) == 2
    assert elsewhere.keys() == after.keys()
    assert not set(elsewhere.values()) & set(after.values())
    assert [screen.id for screen in screens[:2]] == [screens[0].id] * 2 != [screens[2].id] * 2


def test_ways_of_going_wrong_of_one_cell_have_ids_of_their_own(tmp_path):
    """A wrong step, and runs that die, of the same cell are two causes."""
    steps = check(nights_of(12, since=6, bad=lambda _: {"verdict": "regressed"}))
    runs = run(nights_of(12, since=8, bad=lambda _: {"verdict": "failed:died", "value": None}))
    write_site(sources(frames(runs, steps), night_id="n11"), tmp_path / "out")
    causes = FirstScreen.read(tmp_path / "out").causes
    assert sorted(cause.word for cause in causes) == ["failed: died", "wrong step"]
    assert len({cause.id for cause in causes}) == 2


@pytest.mark.parametrize(
    ("samples", "verifications", "state", "begins"),
    [([], [], "unknown", "Nothing was tested"), ([sample()], [verification()], "reproduced", "Fine: all 2 looks")],
)
def test_without_causes_it_says_why(tmp_path, samples, verifications, state, begins):
    """Nothing measured and everything fine are two answers."""
    write_site(sources(frames(samples, verifications), night_id="2026-11-22-1"), tmp_path / "out")
    screen = FirstScreen.read(tmp_path / "out")
    assert (screen.answer.state, screen.causes, screen.fixed) == (state, (), ())
    assert screen.answer.sentence.startswith(begins)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_names_come_through_as_they_are(tmp_path, text):
    """JSON has them as text: a program that reads a name reads the one that the history has."""
    names = {"recipe": text, "profile": text, "context": f"jax-{text}", "night": text, "reason": text}
    write_site(sources(frames([], [verification(**names, verdict="regressed")]), night_id=text, note=text), tmp_path / "out")
    screen = FirstScreen.read(tmp_path / "out")
    [cause] = screen.causes
    [cell] = cause.cells
    assert (cell.recipe, cell.profile, cell.context, screen.night, screen.note) == (text, text, f"jax-{text}", text, text)
    assert cause.command is None
    assert (tmp_path / "out" / cell.page).is_file()


def test_an_altered_file_is_refused(tmp_path):
    """Its digest, its version and its keys are checked when it is read."""
    write_site(sources(frames([], history()), night_id="n11"), tmp_path / "out")
    path = tmp_path / "out" / FirstScreen.FILE_NAME
    text = path.read_text(encoding="utf-8")
    for old, new in (("Wrong: 1 cause", "Fine: 0 cause"), ('"schema": 1', '"schema": 2'), ('"night"', '"nights"')):
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(DocumentError):
            FirstScreen.read(tmp_path / "out")


def test_the_page_explains_every_key():
    """docs/report.md has a row for each key of the document, of a cause, of its cells and of its beginning."""
    page = (project_root() / "docs" / "report.md").read_text(encoding="utf-8")
    table = page[page.index("### data.json") :]
    named = set(re.findall(r"`(\w+)`", table[: table.index("\n## ")]))
    for part in (FirstScreen, ShownCause, ShownCell, ShownBegin):
        assert {field.alias or name for name, field in part.model_fields.items()} <= named, part.__name__
