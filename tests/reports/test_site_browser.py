"""A browser opens the report from disk, without a network, and finds its way from the heat map to a cell."""

from __future__ import annotations

import pytest

from benchmarks.browser import browser, find_chromium
from benchmarks.report_pictures import CELL
from benchmarks.sample_report import write_sample

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make setup does")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium or Chrome on the PATH: install it for the browser tests"),
]
DESKTOP, PHONE = {"width": 1180, "height": 900}, {"width": 360, "height": 740}
FIELD = f".map a[href='cells/{CELL}.html#reproduce']"
TIP_IS_SEEN = "getComputedStyle(document.activeElement.querySelector('.tip')).display === 'block'"


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The sample report, and a browser that looks at it."""
    index = write_sample(tmp_path_factory.mktemp("report") / "sample")
    with browser() as (page, errors):
        yield page, errors, index


@pytest.fixture
def report(opened):
    """A page of a desktop's size in light colours, the list of what goes wrong on it, and where the report is."""
    page, errors, index = opened
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="light")
    errors.clear()
    return page, errors, index


def test_a_click_on_the_heat_map_leads_to_the_page_of_the_cell(report):
    """From disk, the field of a regressed cell opens its page, whose three charts are in it."""
    page, errors, index = report
    page.goto(index.as_uri())
    page.locator(FIELD).first.click()
    page.wait_for_url(f"**/cells/{CELL}.html#reproduce")
    assert " ".join(page.locator("h1").inner_text().split()) == "resnet_cifar quick jax-jit-fp32-x1"
    assert page.locator("svg.plot").count() == 3
    assert page.locator("svg.plot").first.locator("title").count() >= 24
    page.go_back()
    page.locator(".map").wait_for()
    assert errors == []


def test_a_finding_leads_to_the_drift_of_its_cell_where_the_chart_has_its_mark(report):
    """From the first page's list to the section of the cell; a line of its own colour is drawn in the chart, below no other."""
    page, errors, index = report
    page.goto(index.as_uri())
    page.locator("details:has(.looks) summary").first.click()
    page.locator(f".looks a[href='cells/{CELL}.html#drift']").first.click()
    page.wait_for_url("**/cells/*.html#drift")
    assert page.locator("#drift + .looks li").first.inner_text().startswith("▼ worse since night")
    playwright.expect(page.locator("path.drift")).to_have_css("stroke", "rgb(213, 94, 0)")
    assert errors == []


def test_the_keyboard_reaches_a_cell_and_its_reason(report):
    """Focus shows the reason, which nothing shows without, and Enter opens the page."""
    page, _, index = report
    page.goto(index.as_uri())
    assert page.evaluate("[...document.querySelectorAll('.tip')].every(tip => getComputedStyle(tip).display === 'none')")
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.matches(`{FIELD}`)"):
            break
    assert page.evaluate(TIP_IS_SEEN)
    assert "4.21 points below" in page.evaluate("document.activeElement.querySelector('.tip').innerText")
    page.keyboard.press("Enter")
    page.wait_for_url("**/cells/*")


PAGES = ("index.html", "nights.html", "nights/2026-11-20-1.html", "releases.html", "power.html", "reproduction.html")


@pytest.mark.parametrize("name", [*PAGES, f"cells/{CELL}.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_a_phone(report, name, scheme):
    """At 360 pixels nothing but the boxes of tables scrolls sideways, and no page asks anybody for anything."""
    page, errors, index = report
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme=scheme)
    page.goto((index.parent / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert errors == []


@pytest.mark.parametrize("name", [*PAGES, f"cells/{CELL}.html"])
@pytest.mark.parametrize("width", [1280, 1440])
def test_no_table_is_cut_off_on_a_laptop(report, name, width):
    """On a common screen every column is seen without scrolling sideways; a column that may not wrap would be found."""
    page, _, index = report
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((index.parent / name).as_uri())
    cut = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1).length"
    assert page.evaluate(cut) == 0
    page.add_style_tag(content="td, th { white-space: nowrap !important; }")
    if name == "index.html":
        assert page.evaluate(cut) > 0


def test_a_chart_has_the_colours_of_the_page(report):
    """In dark mode the text of a chart is light, and it changes with the page."""
    page, _, index = report
    colours = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto((index.parent / "cells" / f"{CELL}.html").as_uri())
        colours[scheme] = page.evaluate("getComputedStyle(document.querySelector('svg.plot text.y')).fill")
    assert colours == {"light": "rgb(27, 29, 33)", "dark": "rgb(232, 232, 232)"}
    page.emulate_media(color_scheme="light")
    playwright.expect(page.locator("svg.plot text.y").first).to_have_css("fill", "rgb(27, 29, 33)")


@pytest.mark.parametrize("has_policy", [True, False])
def test_a_script_that_got_in_does_not_run(report, tmp_path, has_policy):
    """The page's policy stops a script and a picture from elsewhere, should escaping ever fail: the check itself can fail."""
    page, errors, index = report
    planted = "<script>window.planted = 1</script><img src='https://example.invalid/x.png'>"
    text = index.read_text(encoding="utf-8").replace("<h1>", planted + "<h1>")
    bare = text.replace('http-equiv="Content-Security-Policy"', 'name="none"')
    path = tmp_path / "planted.html"
    path.write_text(text if has_policy else bare, encoding="utf-8")
    page.goto(path.as_uri())
    assert (page.evaluate("window.planted ?? null") is None) == has_policy
    assert any("example.invalid" in error and "img-src" in error for error in errors) == has_policy


def test_the_filter_is_in_the_address(report):
    """What is typed hides rows that lack it and is in the address, which shows the same to whoever opens it."""
    page, errors, index = report
    page.goto(index.as_uri())
    everything = page.locator(".causes tbody tr:visible").count()
    page.locator("#find").fill("jax BF16")
    assert page.locator(".causes tbody tr:visible").count() == 1 < everything
    assert page.url.endswith("#find=jax%20BF16")
    page.goto("about:blank")
    page.goto(index.as_uri() + "#find=jax%20BF16")
    assert page.locator(".causes tbody tr:visible").count() == 1
    assert errors == []


def test_an_address_that_was_cut_off_filters_nothing_and_breaks_nothing(report):
    """Half of a letter is no filter: every row is there, and commands have their button."""
    page, errors, index = report
    page.goto("about:blank")
    page.goto(index.as_uri() + "#find=%E0%A4")
    assert page.locator(".causes tbody tr:visible").count() == page.locator(".causes tbody tr").count() > 0
    assert page.locator(".causes .copy").count() == page.locator(".causes code.command").count()
    assert errors == []


def test_a_table_is_sorted_by_the_column_that_is_clicked(report):
    """Numbers as numbers, once up and once down."""
    page, errors, index = report
    page.goto((index.parent / "nights.html").as_uri())
    head = page.locator("thead th").filter(has_text="reproduced")
    place = head.evaluate("head => [...head.parentNode.children].indexOf(head) + 1")
    for state in ("ascending", "descending"):
        head.locator("button").click()
        found = [int(text or 0) for text in page.locator(f"tbody tr > :nth-child({place})").all_inner_texts()]
        assert found == sorted(found, reverse=state == "descending")
        assert head.get_attribute("aria-sort") == state
    assert errors == []


def test_everything_is_one_click_from_the_first_screen(report):
    """At 1440 x 900 every cause has its command and its links in sight: the cell, its tensors, the night before."""
    page, _, index = report
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(index.as_uri())
    for row in page.locator(".causes tbody tr").all():
        assert row.locator("code.command").inner_text().startswith("vigil ")
        assert {"cell", "tensors", "yesterday"} <= set(row.locator(".links a").all_inner_texts())
    assert page.locator(".causes tbody tr").nth(1).bounding_box()["y"] < 900


def test_paper_shows_the_regression(report):
    """In print nothing of a cause lies beyond the edge of an A4 page, and its sparkline is there."""
    page, _, index = report
    page.set_viewport_size({"width": 794, "height": 1123})
    page.emulate_media(media="print")
    page.goto(index.as_uri())
    boxes = [box.bounding_box() for box in page.locator(".causes svg.spark, .causes code.command, .answer").all()]
    page.emulate_media(media="screen")
    assert len(boxes) > 4
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 794 for box in boxes)


# The words of a table that stand on more than one line: of a date the parts between its hyphens may.
BROKEN_WORDS = r"""() => {
  const broken = [];
  for (const cell of document.querySelectorAll('td, th')) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      for (const word of texts.currentNode.data.matchAll(/[^\s-]+/g)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, word.index);
        range.setEnd(texts.currentNode, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) broken.push(word[0]);
      }
    }
  }
  return broken;
}"""


@pytest.mark.parametrize("name", [f"cells/{CELL}.html", "power.html", "nights.html", "releases.html", "reproduction.html"])
def test_tables_on_paper_have_whole_words_and_end_at_the_edge(report, name):
    """On A4 between margins of a centimetre."""
    page, _, index = report
    page.set_viewport_size({"width": 718, "height": 1047})
    page.emulate_media(media="print")
    page.goto((index.parent / name).as_uri())
    broken, right = page.evaluate(BROKEN_WORDS), page.evaluate("document.documentElement.scrollWidth")
    page.emulate_media(media="screen")
    assert (broken, right) == ([], 718)
