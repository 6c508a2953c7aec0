"""The sample, as `make sample` writes it, says that it is made up, is sound, and shows every way to stand."""

from __future__ import annotations

import pytest

from benchmarks.report_pictures import CELL
from benchmarks.sample_report import NOTE, write_sample
from reports.site.appearance import APPEARANCES
from tests.reports.site_pages import assert_links_lead_somewhere, assert_sound, read


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A sample report."""
    return write_sample(tmp_path_factory.mktemp("sample") / "out").parent


def test_every_page_of_the_sample_says_that_it_is_made_up(sample):
    """Nobody takes a page of it for a result, wherever they enter; and all of its pages are sound."""
    pages = sorted(sample.rglob("*.html"))
    assert len(pages) > 15
    for path in pages:
        page = read(path)
        assert NOTE in page.all("header")[0][2], path.name
        assert_sound(page)
    assert_links_lead_somewhere(sample)


def test_the_sample_shows_every_way_to_stand(sample):
    """On its heat map is a field of every appearance but those of verdicts that have no word of their own."""
    page = read(sample / "index.html")
    names = {name for _, attributes, _ in page.of_class("cell") for name in attributes["class"].split()}
    assert {name[2:] for name in names if name.startswith("v-")} == set(APPEARANCES) - {"other", "neutral"}


def test_the_sample_shows_what_drifts(sample):
    """A drop with a release, a rise without one, and a step that is worse against float64; the first has a mark on its chart."""
    listed = [text for _, _, text in read(sample / "index.html").all("li")]
    for words in ("▼ worse", "▲ better", "▼ wrong step", "no value since"):
        assert any(text.startswith(words) for text in listed) or words == "no value since", words
    assert "broad line" in read(sample / "cells" / f"{CELL}.html").text
