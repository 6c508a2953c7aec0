"""The sample says that it is made up, shows every way to stand, and the committed one is sound."""

from __future__ import annotations

import pytest

from benchmarks.report_pictures import CELL
from benchmarks.sample_report import NOTE, write_sample
from reports.site.verdicts import APPEARANCES
from tests.reports.site_pages import assert_links_lead_somewhere, assert_sound, read
from vigil.paths import project_root

COMMITTED = project_root() / "reports" / "sample"


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A sample report, without plotly's script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plotly.offline.get_plotlyjs", lambda: "")
        return write_sample(tmp_path_factory.mktemp("sample") / "out").parent


@pytest.mark.parametrize("place", ["made", "committed"])
def test_every_page_of_the_sample_says_that_it_is_made_up(sample, place):
    """Nobody takes a page of it for a result, wherever they enter; and all of its pages are sound."""
    root = sample if place == "made" else COMMITTED
    pages = sorted(root.rglob("*.html"))
    assert len(pages) > 15
    for path in pages:
        page = read(path)
        assert NOTE in page.all("header")[0][2], path.name
        assert_sound(page)
    assert_links_lead_somewhere(root)


def test_the_sample_shows_every_way_to_stand(sample):
    """On its heat map is a field of every appearance but that of a verdict that nobody knows."""
    page = read(sample / "index.html")
    names = {name for _, attributes, _ in page.of_class("cell") for name in attributes["class"].split()}
    assert {name[2:] for name in names if name.startswith("v-")} == set(APPEARANCES) - {"other"}


@pytest.mark.parametrize("place", ["made", "committed"])
def test_the_sample_shows_what_drifts(sample, place):
    """A drop with a release, a rise without one, and a step that is worse against float64; the first has a mark on its chart."""
    root = sample if place == "made" else COMMITTED
    listed = [text for _, _, text in read(root / "index.html").all("li")]
    for words in ("dropped, worse", "rose, better", "worse against float64", "no value since"):
        assert any(words in text for text in listed), words
    assert "broad line" in read(root / "cells" / f"{CELL}.html").text
