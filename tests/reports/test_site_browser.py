"""A browser opens the report from disk, without a network, and finds its way from the heat map to a cell."""

from __future__ import annotations

import pytest

from benchmarks.browser import browser, find_chromium
from benchmarks.report_pictures import CELL, DRAWN
from benchmarks.sample_report import write_sample

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium or Chrome on the PATH: install it for the browser tests"),
]
FIELD = f".heat a[href='cells/{CELL}.html#reproduce']"
TIP_IS_SEEN = "getComputedStyle(document.activeElement.querySelector('.tip')).display === 'block'"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The sample report, and a browser that looks at it."""
    index = write_sample(tmp_path_factory.mktemp("report") / "sample")
    with browser() as page:
        page.size(1180, 900)
        yield page, index


def test_a_click_on_the_heat_map_leads_to_the_page_of_the_cell(report):
    """From disk, the field of a regressed cell opens its page, whose three charts are drawn with what the page holds."""
    page, index = report
    page.open(index.as_uri())
    page.click(FIELD)
    page.wait("location.pathname.endsWith('.html') && location.pathname.includes('/cells/')")
    page.wait(DRAWN)
    assert page.evaluate("location.href").endswith(f"/cells/{CELL}.html#reproduce")
    assert page.evaluate("document.querySelector('h1').innerText.replace(/\\s+/g, ' ')") == "resnet_cifar quick jax-jit-fp32-x1"
    assert page.evaluate("document.querySelectorAll('.main-svg').length") >= 3
    seeds = "document.querySelectorAll('#history .scatterlayer .point').length"
    assert page.evaluate(seeds) == 48
    page.back()
    page.wait("document.querySelector('.heat') !== null")
    assert page.errors == []


def test_a_finding_leads_to_the_drift_of_its_cell_where_the_chart_has_its_mark(report):
    """From the first page's list to the section of the cell; a line of its own colour is drawn in the chart, below no other."""
    page, index = report
    page.open(index.as_uri())
    page.click(f".looks a[href='cells/{CELL}.html#drift']")
    page.wait("location.hash === '#drift' && location.pathname.includes('/cells/')")
    page.wait(DRAWN)
    assert page.evaluate("document.querySelector('#drift + .looks li').innerText").startswith("▼ dropped, worse since night")
    lines = "[...document.querySelectorAll('#history .shapelayer path')].map(line => line.style.stroke)"
    assert page.evaluate(lines).count("rgb(213, 94, 0)") == 1
    assert page.errors == []


def test_the_keyboard_reaches_a_cell_and_its_reason(report):
    """Focus shows the reason, which nothing shows without, and Enter opens the page."""
    page, index = report
    page.open(index.as_uri())
    assert page.evaluate("[...document.querySelectorAll('.tip')].every(tip => getComputedStyle(tip).display === 'none')")
    for _ in range(60):
        page.press("Tab")
        if page.evaluate(f"document.activeElement.matches(`{FIELD}`)"):
            break
    assert page.evaluate(TIP_IS_SEEN)
    assert "4.21 points below" in page.evaluate("document.activeElement.querySelector('.tip').innerText")
    page.press("Enter")
    page.wait("location.pathname.includes('/cells/')")


@pytest.mark.parametrize("name", ["index.html", "power.html", "reproduction.html", f"cells/{CELL}.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_a_phone(report, name, scheme):
    """At 360 pixels nothing but the boxes of tables scrolls sideways, and no page asks anybody for anything."""
    page, index = report
    page.size(360, 740)
    page.scheme(scheme)
    page.open((index.parent / name).as_uri())
    page.wait(DRAWN)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.errors == []
    page.size(1180, 900)


def test_a_chart_has_the_colours_of_the_page(report):
    """In dark mode the text of a chart is light, and it changes with the page."""
    page, index = report
    found = {}
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        page.open((index.parent / "cells" / f"{CELL}.html").as_uri())
        page.wait(DRAWN)
        found[scheme] = page.evaluate("getComputedStyle(document.querySelector('#history .xtick text')).fill")
    assert found == {"light": "rgb(27, 29, 33)", "dark": "rgb(232, 232, 232)"}
    page.scheme("light")
    page.wait("getComputedStyle(document.querySelector('#history .xtick text')).fill === 'rgb(27, 29, 33)'")


def test_a_script_that_got_in_does_not_run(report, tmp_path):
    """The page's policy stops a script and a picture from elsewhere, should escaping ever fail: the check itself can fail."""
    page, index = report
    planted = "<script>window.planted = 1</script><img src='https://example.invalid/x.png'>"
    for policy in (True, False):
        text = index.read_text(encoding="utf-8").replace("<h1>", planted + "<h1>")
        bare = text.replace('http-equiv="Content-Security-Policy"', 'name="none"')
        path = tmp_path / f"{policy}.html"
        path.write_text(text if policy else bare, encoding="utf-8")
        page.errors.clear()
        page.open(path.as_uri())
        page.wait(f"location.href === '{path.as_uri()}' && document.readyState === 'complete'")
        assert (page.evaluate("window.planted") is None) == policy
        assert any("example.invalid" in error and "img-src" in error for error in page.errors) == policy
    page.errors.clear()
