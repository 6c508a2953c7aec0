"""Chromium without a window, driven over a pipe by its DevTools protocol (https://chromedevtools.github.io/devtools-protocol/).

The standard library is enough for it: with --remote-debugging-pipe the browser reads commands from descriptor 3 and answers on 4,
each message JSON with a zero byte behind it.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 120


def find_chromium() -> str | None:
    """Return the path of Chromium or Chrome, or None where there is none."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Page:
    """The browser's one page. errors: what went wrong on the pages so far, each a line."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, back
        self._buffer, self._number, self._session = b"", 0, None
        self.errors: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result. Raises RuntimeError for one that fails, TimeoutError for no answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(self._to, json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def open(self, url: str) -> None:
        """Go to an address and wait until it is loaded."""
        self.send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def back(self) -> None:
        """Go back to the page before, without waiting for it; by no expression, whose page would be gone before it answers."""
        history = self.send("Page.getNavigationHistory")
        entry = history["entries"][history["currentIndex"] - 1]
        self.send("Page.navigateToHistoryEntry", entryId=entry["id"])

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression. Raises RuntimeError for one that throws."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true. Raises TimeoutError."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            try:
                if self.evaluate(condition):
                    return
            except RuntimeError:  # the page is being replaced
                pass
            time.sleep(0.05)
        raise TimeoutError(f"{condition}: not true within {SECONDS} s at {self.evaluate('location.href')}")

    def size(self, width: int, height: int) -> None:
        """Set the window's size in CSS pixels."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def scheme(self, name: str) -> None:
        """Prefer `light` or `dark`."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def click(self, selector: str) -> None:
        """Click on the middle of the first element of a selector."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center', inline: 'center'}})")
        box = self.evaluate(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])"
                            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")  # fmt: skip
        place = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, **place)

    def press(self, key: str) -> None:
        """Press and release a key: Tab or Enter."""
        code = {"Tab": 9, "Enter": 13}[key]
        facts = {"key": key, "code": key, "windowsVirtualKeyCode": code} | ({"text": "\r"} if key == "Enter" else {})
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, **facts)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write what is seen, or the whole page, as PNG."""
        content = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(content))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._back], [], [], SECONDS)[0]:
                raise TimeoutError(f"the browser said nothing for {SECONDS} s")
            part = os.read(self._back, 2**16)
            if not part:
                raise RuntimeError("the browser has ended")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        facts = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(facts["exceptionDetails"].get("exception", facts["exceptionDetails"]))[:500])
        elif event.get("method") == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{facts['entry']['text']} {facts['entry'].get('url', '')}"[:500])
        elif event.get("method") == "Network.requestWillBeSent":
            url = facts["request"]["url"]
            if not url.startswith(("file:", "data:", "about:", "blob:")):
                self.errors.append(f"asked for {url}")


@contextmanager
def browser() -> Iterator[Page]:
    """Start Chromium with a profile of its own, and end it. Raises RuntimeError where there is none."""
    path = find_chromium()
    if path is None:
        raise RuntimeError(f"none of {', '.join(_NAMES)} is on the PATH: install Chromium.")
    to_read, to = os.pipe()
    back, back_write = os.pipe()
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        options = [
            "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-first-run", "--disable-gpu",
            "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
        ]  # fmt: skip
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # its sandbox refuses root, as which containers run; the pages are our own
        command = f'exec "$0" "$@" 3<&{to_read} 4>&{back_write}'
        process = subprocess.Popen(
            ["bash", "-c", command, path, *options],
            pass_fds=(to_read, back_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(back_write)
        try:
            yield Page(to, back)
        finally:
            os.close(to)  # with its pipe closed the browser ends by itself
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(back)
