"""The system's Chromium without a window, driven by playwright: for pictures of the report, and for its tests.

Playwright speaks to the browser over a pipe and brings its own driver. So it needs no chromedriver of the browser's very
version, and it sees requests and the console, which selenium does not.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page, Request

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 120
# Nothing of the browser's own goes out to a network.
QUIET = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync")  # fmt: skip
_LOCAL = ("file:", "data:", "about:", "blob:")
_LONGEST = 500


def find_chromium() -> str | None:
    """Return the path of Chromium or Chrome, or None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[tuple[Page, list[str]]]:
    """Start Chromium with a profile of its own, and end it; yield its page, and a list of what goes wrong on pages from now on.

    What goes wrong: an exception, an error or a warning on the console, a request to anywhere but the disk.

    Raises:
        RuntimeError: There is no Chromium.
    """
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    if path is None:
        raise RuntimeError(f"none of {', '.join(NAMES)} is on the PATH: install Chromium.")
    errors: list[str] = []

    def note_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            errors.append(f"{message.text} {message.location.get('url', '')}"[:_LONGEST])

    def note_request(request: Request) -> None:
        if not request.url.startswith(_LOCAL):
            errors.append(f"asked for {request.url}"[:_LONGEST])

    with sync_playwright() as playwright:
        # Its sandbox refuses root, as which containers run; the pages are our own.
        chromium = playwright.chromium.launch(executable_path=path, args=QUIET, chromium_sandbox=os.geteuid() != 0)
        try:
            page = chromium.new_page()
            page.set_default_timeout(1000 * SECONDS)
            page.on("pageerror", lambda error: errors.append(str(error)[:_LONGEST]))
            page.on("console", note_console)
            page.on("request", note_request)
            yield page, errors
        finally:
            chromium.close()
