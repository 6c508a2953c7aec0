"""A browser opens the dashboard's first address and reads what drifts, by how much, and since which release."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from benchmarks.browser import browser, find_chromium
from benchmarks.synthetic_timelines import dashboard, fill
from tests.vigil.looked import write_look
from tests.vigil.tracked import assert_closes
from vigil.cli.report_server import serve_report
from vigil.tracking import REPORT_PORT, PooledDrift, record_drift, upload

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make setup does")
pytestmark = [
    pytest.mark.slow,  # it fills a store, starts MLflow's server and a browser
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium or Chrome on the PATH: install it for the browser tests"),
]
DESKTOP = {"width": 1440, "height": 900}
COLUMNS = ("drift_size", "drift_release", "drift_since")
POOL = PooledDrift(
    "torch", 18, {f"night{number:03d}": 0.5 if number < 6 else -0.5 for number in range(12)},
    {"drift": "moved", "drift_size": "-1.0 sd [-1.5, -0.5]", "drift_since": "night006", "drift_release": "1.0 -> 1.1",
     "drift_q": "0.01", "drift_sd": "-1.0", "drift_as_of": "night011"},
)  # fmt: skip
DRIFTING = ["jax-compile-fp32-x1", "jax-eager-fp32-x1", "jax-jit-fp32-x1"]


@pytest.fixture(scope="module")
def addresses(tmp_path_factory, empty_store):
    """The addresses that `vigil dashboard` prints, in their order. Three cells have lost four standard deviations."""
    folder = tmp_path_factory.mktemp("dashboard")
    store = f"sqlite:///{shutil.copy(empty_store, folder)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIGIL_CACHE_DIR", str(folder / "cache"))
        fill(store, nights=12, every=3, first_wrong=6)
        record_drift(store, {}, pools=[POOL])
        for what in ("step", "audit"):
            upload(write_look(folder / "runs", what), uri=store)
    with dashboard(store) as printed:
        yield printed
    assert_closes(int(printed[0].split("/")[2].split(":")[1]))


@pytest.fixture(scope="module")
def page():
    """A page of a desktop's size."""
    with browser() as (opened, _):
        opened.set_viewport_size(DESKTOP)
        yield opened


def row(page, place: int, *, columns: Sequence[str] = COLUMNS) -> tuple[str, str]:
    """Return the name, and what columns say, of a row of the table: MLflow draws what is pinned, and what scrolls, apart."""
    name = page.locator(f".ag-pinned-left-cols-container .ag-row[row-index='{place}'] a").first.inner_text()
    cells = page.locator(f".ag-center-cols-container .ag-row[row-index='{place}']")
    return name, " ".join(cells.locator(f"[col-id='tags.`{column}`']").inner_text().strip() for column in columns)


@contextmanager
def followed(page, link) -> Iterator:
    """Click a link of a note and yield the page that it leads to: MLflow opens some in a page of their own."""
    if link.get_attribute("target") != "_blank":
        link.click()
        yield page
        return
    with page.expect_popup() as opened:
        link.click()
    try:
        yield opened.value
    finally:
        opened.value.close()


def test_the_first_address_shows_what_drifts_by_how_much_and_since_when(page, addresses):
    """Without a click: the drifting cells are the first rows, marked, with size, release and night beside them."""
    page.goto(addresses[0])
    page.get_by_text("✗").first.wait_for()
    rows = [row(page, place) for place in range(4)]
    assert sorted(name.split()[:2] for name, _ in rows[:3]) == [["✗", context] for context in DRIFTING]
    assert rows[3] == ("~ torch, 18 cells pooled", "-1.0 sd [-1.5, -0.5] 1.0 -> 1.1 night006")
    for _, told in rows[:3]:
        assert re.match(r"-[234][.\d]* points \[-[.\d]+, -[.\d]+\] 1\.0 -> 1\.1 night006", told), told
    columns = [page.locator(f".ag-header-cell[col-id='tags.`{column}`']") for column in COLUMNS]
    panel = page.get_by_text("MLflow Assistant").bounding_box()
    edge = DESKTOP["width"] if panel is None else panel["x"]
    assert all((box := column.bounding_box()) and box["x"] + box["width"] <= edge for column in columns)


def test_a_click_leads_to_what_to_do_and_another_to_the_band(page, addresses):
    """The name of a drifting cell opens its page: drift, the command, the page of the report, and the chart with the band."""
    page.goto(addresses[0])
    page.get_by_text("✗ jax-jit-fp32-x1").first.click()
    page.get_by_text("drift: worse").first.wait_for()
    note = page.inner_text("body")
    assert "vigil reproduce synthetic_00 --framework jax --mode jit --precision fp32 --release jax==1.2" in note
    with followed(page, page.get_by_role("link", name="test_accuracy with its band").first) as chart:
        chart.wait_for_url("**/metric?**")
        chart.get_by_text("band_low").first.wait_for()


def test_a_click_leads_from_mlflow_to_the_page_of_the_report(page, addresses, tmp_path):
    """The link goes to the port that notes are written with, where the report is served; a page of a file it could not open."""
    (tmp_path / "cells").mkdir()
    cell = tmp_path / "cells" / "synthetic_00-quick-jax-jit-fp32-x1.html"
    cell.write_text("<title>its page</title>", encoding="utf-8")
    page.goto(addresses[0])
    page.get_by_text("✗ jax-jit-fp32-x1").first.click()
    link = page.get_by_role("link", name="page of the report").first
    with serve_report(tmp_path, port=REPORT_PORT), followed(page, link) as its_page:
        its_page.wait_for_url("**/cells/*.html")
        assert its_page.title() == "its page"


def test_cells_that_drift_together_have_a_page_with_their_chart(page, addresses):
    """Its note says what was found, and leads to the median over the nights."""
    page.goto(addresses[0])
    page.get_by_text("~ torch, 18 cells pooled").first.click()
    page.get_by_text("drift: moved").first.wait_for()
    with followed(page, page.get_by_role("link", name="median of the cells over the nights").first) as chart:
        chart.locator(".scatterlayer .trace").first.wait_for()


def test_the_second_address_draws_every_wrong_cell_in_its_band(page, addresses):
    """One chart of where the numbers lie in their bands, with a line for each of the cells at the top."""
    page.goto(addresses[1])
    page.locator("[data-testid*='chart'] .scatterlayer .trace, .scatterlayer .trace").first.wait_for()
    assert page.get_by_text("-1 to 1 is within the band").first.is_visible()
    assert page.get_by_text("band_position", exact=True).first.is_visible()


def test_steps_of_ones_own_and_audits_have_a_view_of_what_is_wrong(page, addresses):
    """Behind those of recipes: a row each, marked, with verdict, release and what is wrong; its page names the family."""
    step, audit = addresses[3:5]
    found = ((step, "✗ my_step.py torch", "blocks.1.mlp, backward"), (audit, "✗ audit jax quick", "jax.nn.softmax"))
    for address, name, told in found:
        page.goto("about:blank")
        page.goto(address)
        page.get_by_text(name).first.wait_for()
        columns = ("verdict", "release", "wrong_first")
        shown, cells = row(page, 0, columns=columns)
        assert shown == name
        assert cells.startswith("regressed")
        assert told in cells
        assert page.locator(".ag-pinned-left-cols-container .ag-row").count() == 1
        panel = page.get_by_text("MLflow Assistant").bounding_box()
        edge = DESKTOP["width"] if panel is None else panel["x"]
        heads = [page.locator(f".ag-header-cell[col-id='tags.`{column}`']").bounding_box() for column in columns]
        assert all(head and head["x"] + 0.5 * min(head["width"], 200) < edge for head in heads)
    page.get_by_text("✗ audit jax quick").first.click()
    page.get_by_text("wrong first").first.wait_for()
    page.get_by_role("link", name="✗ audit jax activations").first.wait_for()
