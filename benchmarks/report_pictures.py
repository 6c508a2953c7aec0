"""Pictures of a report, taken with Chromium: `python -m benchmarks.sample_report --pictures docs/images`."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.browser import Page, browser

CELL = "resnet_cifar-quick-jax-jit-fp32-x1"
DRAWN = "[...document.querySelectorAll('[data-figure]')].every(place => place.querySelector('.main-svg'))"


def take(index: Path, directory: Path) -> None:
    """Write the pictures that the docs show."""
    with browser() as page:
        picture(page, index, directory / "report.png", size=(1180, 960))
        cell = index.parent / "cells" / f"{CELL}.html"
        picture(page, cell, directory / "report-cell.png", size=(1180, 1400))


def picture(page: Page, path: Path, out: Path, *, size: tuple[int, int], scheme: str = "light", whole: bool = False) -> None:
    """Write one picture of one page, once its charts are drawn."""
    page.size(*size)
    page.scheme(scheme)
    page.open(path.resolve().as_uri())
    page.wait(DRAWN)
    page.picture(out, whole=whole)


def main() -> None:
    """Take pictures of every kind of page, light, dark and as wide as a phone: REPORT_DIR OUT_DIR."""
    index, out = Path(sys.argv[1]) / "index.html", Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    cell = index.parent / "cells" / f"{CELL}.html"
    with browser() as page:
        for name, path in (("index", index), ("cell", cell), ("power", index.parent / "power.html"),
                           ("reproduction", index.parent / "reproduction.html")):  # fmt: skip
            for scheme in ("light", "dark"):
                picture(page, path, out / f"{name}-{scheme}.png", size=(1180, 900), scheme=scheme, whole=True)
            picture(page, path, out / f"{name}-phone.png", size=(360, 740), whole=True)
        print("\n".join(page.errors) or "no errors on any page")


if __name__ == "__main__":
    main()
