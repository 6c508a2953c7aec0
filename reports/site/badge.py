"""One answer as a small picture, for a page elsewhere: fine, so many wrong, or unknown."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from reports.site.appearance import APPEARANCES, FAILED
from reports.site.causes import BETTER, MOVED
from reports.site.words import plain, shortened
from vigil.documents.first_screen import FirstScreen
from vigil.documents.verdict import Verdict

FILE_NAME = "badge.svg"
NAME = "Vigil"
LEFT = ("#30343b", "#ffffff")
_PAD, _HEIGHT = 6, 20  # pixels
_LONGEST = 160


def word_of_badge(screen: FirstScreen) -> tuple[str, Verdict]:
    """Return the one answer, and the verdict whose colour it has. What is stale is not wrong of today, and not fine either."""
    wrong = [cause for cause in screen.causes if cause.state != "stale"]
    if wrong and all(cause.word in (BETTER, MOVED) for cause in wrong):
        return f"{len(wrong)} changed", Verdict.BETTER
    if wrong:
        return f"{len(wrong)} wrong", Verdict.REGRESSED
    if screen.answer.state in (Verdict.REGRESSED, FAILED):  # of users' own steps, which are no causes
        return "wrong", Verdict.REGRESSED
    return ("fine", Verdict.REPRODUCED) if screen.answer.state == Verdict.REPRODUCED else ("unknown", Verdict.UNKNOWN)


def badge_of(screen: FirstScreen) -> str:
    """Return the picture as SVG."""
    word, verdict = word_of_badge(screen)
    widths = [2 * _PAD + _width(text) for text in (NAME, word)]
    of = [f"night {plain(screen.night)}" if screen.night else "", plain(screen.note)]
    told = shortened(", ".join(part for part in (f"{NAME}: {word}", *of) if part), _LONGEST)
    size = {"width": str(sum(widths)), "height": str(_HEIGHT), "viewBox": f"0 0 {sum(widths)} {_HEIGHT}"}
    svg = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-label": told, **size})
    ElementTree.SubElement(svg, "title").text = told
    left = 0
    for text, width, (background, colour) in zip((NAME, word), widths, (LEFT, APPEARANCES[verdict].light), strict=True):
        box = {"x": str(left), "width": str(width), "height": str(_HEIGHT), "fill": background}
        ElementTree.SubElement(svg, "rect", box)
        place = {"x": str(left + _PAD), "y": "14", "textLength": str(width - 2 * _PAD), "fill": colour}
        font = {"font-family": "Verdana, DejaVu Sans, sans-serif", "font-size": "12"}
        ElementTree.SubElement(svg, "text", {**place, **font}).text = text
        left += width
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


def _width(text: str) -> int:
    """Return how wide a text is drawn, whatever font there is."""
    return sum(4 if letter in "fijlt1 " else 10 if letter in "mw" else 7 for letter in text)
