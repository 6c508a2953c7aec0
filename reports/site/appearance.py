"""How a verdict is shown: a mark, a word and a colour, and no two alike. A state has one word on every page.

The colours are those of Okabe and Ito (Color Universal Design, 2008, https://jfly.uni-koeln.de/color/), which readers of every
kind of colour vision tell apart. The word beside the mark says the same without any colour.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from reports.site.words import plain
from vigil.documents.verdict import Verdict

LEFT, NEVER, STALE = "left", "never", "stale"  # what a cell is that has no verdict of today
FAILED, OTHER = "failed", "other"
NEUTRAL = "neutral"  # a verdict of Vigil's that says neither that something is fine nor that it is wrong


@dataclass(frozen=True)
class Appearance:
    """How one outcome looks. light, dark: background and text of its field."""

    name: str
    mark: str
    word: str
    meaning: str
    light: tuple[str, str]
    dark: tuple[str, str]


_BLACK, _WHITE = "#000000", "#ffffff"
_PAPER, _NIGHT = "#ffffff", "#16181d"  # the page itself, light and dark


def _same(background: str, text: str) -> dict[str, tuple[str, str]]:
    return {"light": (background, text), "dark": (background, text)}


# In the order in which they are counted: what needs a look comes first.
APPEARANCES = {
    appearance.name: appearance
    for appearance in (
        Appearance(
            Verdict.REGRESSED.value, "▼", "worse", "worse than its band allows, or a training step that is wrong",
            **_same("#d55e00", _BLACK),
        ),
        Appearance(
            Verdict.BETTER.value, "▲", "better", "better than its band allows: as suspicious as worse",
            **_same("#56b4e9", _BLACK),
        ),
        Appearance(
            FAILED, "✕", "failed", "ended without a number: neither a mismatch nor a pass",
            light=(_BLACK, _WHITE), dark=(_WHITE, _BLACK),
        ),
        Appearance(
            OTHER, "!", "other", "a verdict that this report does not know; read its name", **_same("#e69f00", _BLACK),
        ),
        Appearance(
            Verdict.UNKNOWN.value, "?", "unknown", "it ran, and nothing or too little is there to judge it by",
            **_same("#f0e442", _BLACK),
        ),
        Appearance(
            STALE, "○", "stale", "older than a week, or of another recipe or release than today's: says nothing of today",
            light=("#e4e4e4", "#333333"), dark=("#3a3d44", "#e6e6e6"),
        ),
        Appearance(
            LEFT, "…", "left", "planned for the night, and not run", light=(_PAPER, "#333333"), dark=(_NIGHT, "#e6e6e6"),
        ),
        Appearance(
            NEUTRAL, "~", "neutral", "it ran, and its verdict says neither fine nor wrong: read its name",
            light=("#eceff4", "#333333"), dark=("#2b2f38", "#e6e6e6"),
        ),
        Appearance(
            Verdict.KNOWN_FINDING.value, "K", "known", "wrong in a way that is on record as a finding",
            **_same("#cc79a7", _BLACK),
        ),
        Appearance(
            Verdict.UNSUPPORTED.value, "-", "unsupported", "the framework refuses this context", **_same("#cccccc", _BLACK),
        ),
        Appearance(
            Verdict.REPRODUCED.value, "✓", "reproduced", "inside its band", **_same("#009e73", _BLACK),
        ),
        Appearance(
            NEVER, "·", "never", "never run, as far as the history goes", light=(_PAPER, "#595959"), dark=(_NIGHT, "#b3b3b3"),
        ),
    )
}  # fmt: skip


def verdict_in(text: str) -> Verdict | None:
    """Return the verdict of a text, or None: history holds what anybody may have edited."""
    try:
        return Verdict(text)
    except ValueError:
        return None


@functools.lru_cache(maxsize=4096)
def appearance_of(verdict: str) -> Appearance:
    """Return how a verdict looks. One that is not known looks like no other, and never like `reproduced`."""
    known = verdict_in(verdict)
    if known.is_failed if known else verdict.startswith(f"{FAILED}:"):  # of a category that only a later Vigil has, too
        return APPEARANCES[FAILED]
    if known or verdict in (LEFT, NEVER):
        return APPEARANCES.get(verdict, APPEARANCES[NEUTRAL])
    return APPEARANCES[OTHER]


def word_of(verdict: str, *, is_step: bool = False) -> str:
    """Return the one word for a state, with the name of a verdict that has none of its own. is_step: a verification's."""
    shown = appearance_of(verdict)
    if shown.name == Verdict.REGRESSED and is_step:
        return "wrong step"
    if shown.name == FAILED:
        return f"{FAILED}: {plain(verdict.partition(':')[2]).replace('_', ' ')}"
    if shown.name == NEUTRAL:
        return plain(verdict)
    return f"{OTHER}: {plain(verdict)}" if shown.name == OTHER else shown.word


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours `#rrggbb`, 1 to 21: WCAG 2.2, https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour `#rrggbb`, 0 to 1."""
    red, green, blue = (_linear(int(colour[first : first + 2], 16) / 255) for first in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(share: float) -> float:
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
