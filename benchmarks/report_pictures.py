"""Pictures of a report, taken with Chromium: `python -m benchmarks.sample_report --pictures docs/images`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from benchmarks.browser import browser

if TYPE_CHECKING:
    from playwright.sync_api import Page

CELL = "resnet_cifar-quick-jax-jit-fp32-x1"


def take(index: Path, directory: Path) -> None:
    """Write the pictures that the docs show."""
    with browser() as (page, _):
        picture(page, index, directory / "report.png", size=(1440, 1000))
        cell = index.parent / "cells" / f"{CELL}.html"
        picture(page, cell, directory / "report-cell.png", size=(1440, 1250))


def picture(
    page: Page, path: Path, out: Path, *, size: tuple[int, int], scheme: Literal["light", "dark"] = "light", whole: bool = False
) -> None:
    """Write one picture of one page."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme)
    page.goto(path.resolve().as_uri())
    page.screenshot(path=out, full_page=whole)


def main() -> None:
    """Take pictures of every kind of page, light, dark and as wide as a phone: REPORT_DIR OUT_DIR."""
    index, out = Path(sys.argv[1]) / "index.html", Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    cell = index.parent / "cells" / f"{CELL}.html"
    with browser() as (page, errors):
        for name, path in (("index", index), ("cell", cell), ("power", index.parent / "power.html"),
                           ("reproduction", index.parent / "reproduction.html")):  # fmt: skip
            schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
            for scheme in schemes:
                picture(page, path, out / f"{name}-{scheme}.png", size=(1180, 900), scheme=scheme, whole=True)
            picture(page, path, out / f"{name}-phone.png", size=(360, 740), whole=True)
        print("\n".join(errors) or "no errors on any page")


if __name__ == "__main__":
    main()
