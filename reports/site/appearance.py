"""How a verdict is shown: a mark, a word and a colour, and no two alike.

The colours are those of Okabe and Ito (Color Universal Design, 2008, https://jfly.uni-koeln.de/color/), which readers of every
kind of colour vision tell apart. The word beside the mark says the same without any colour.
"""

from __future__ import annotations

from dataclasses import dataclass

from vigil.documents.verdict import Verdict

LEFT, NEVER, STALE = "left", "never", "stale"  # what a cell is that has no verdict of today
FAILED, OTHER = "failed", "other"


@dataclass(frozen=True)
class Appearance:
    """How one outcome looks. light, dark: background and text of its field. symbol: its points in a chart."""

    name: str
    mark: str
    word: str
    meaning: str
    light: tuple[str, str]
    dark: tuple[str, str]
    symbol: str


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
            **_same("#d55e00", _BLACK), symbol="triangle-down",
        ),
        Appearance(
            Verdict.BETTER.value, "▲", "better", "better than its band allows: as suspicious as worse",
            **_same("#56b4e9", _BLACK), symbol="triangle-up",
        ),
        Appearance(
            FAILED, "✕", "failed", "ended without a number: neither a mismatch nor a pass",
            light=(_BLACK, _WHITE), dark=(_WHITE, _BLACK), symbol="x",
        ),
        Appearance(
            OTHER, "!", "other", "a verdict that this report does not know; read its name", **_same("#e69f00", _BLACK),
            symbol="hexagram",
        ),
        Appearance(
            Verdict.UNKNOWN.value, "?", "unknown", "it ran, and nothing or too little is there to judge it by",
            **_same("#f0e442", _BLACK), symbol="diamond",
        ),
        Appearance(
            Verdict.RAN.value, "~", "ran", "every phase ran; its band cannot tell a model that learned nothing from a sound one",
            light=("#e4e4e4", "#333333"), dark=("#3a3d44", "#e6e6e6"), symbol="cross-open",
        ),
        Appearance(
            STALE, "○", "stale", "older than a week, or of another version of the recipe: says nothing of today",
            light=("#e4e4e4", "#333333"), dark=("#3a3d44", "#e6e6e6"), symbol="circle-open",
        ),
        Appearance(
            LEFT, "…", "left", "planned for the night, and not run", light=(_PAPER, "#333333"), dark=(_NIGHT, "#e6e6e6"),
            symbol="line-ns-open",
        ),
        Appearance(
            Verdict.KNOWN_FINDING.value, "K", "known", "wrong in a way that is on record as a finding",
            **_same("#cc79a7", _BLACK), symbol="star",
        ),
        Appearance(
            Verdict.UNSUPPORTED.value, "-", "unsupported", "the framework refuses this context", **_same("#cccccc", _BLACK),
            symbol="square",
        ),
        Appearance(
            Verdict.REPRODUCED.value, "✓", "reproduced", "inside its band", **_same("#009e73", _BLACK), symbol="circle",
        ),
        Appearance(
            NEVER, "·", "never", "never run, as far as the history goes", light=(_PAPER, "#595959"), dark=(_NIGHT, "#b3b3b3"),
            symbol="line-ew-open",
        ),
    )
}  # fmt: skip


def verdict_in(text: str) -> Verdict | None:
    """Return the verdict of a text, or None: history holds what anybody may have edited."""
    try:
        return Verdict(text)
    except ValueError:
        return None


def appearance_of(verdict: str) -> Appearance:
    """Return how a verdict looks. One that is not known looks like no other, and never like `reproduced`."""
    known = verdict_in(verdict)
    if known.is_failed if known else verdict.startswith(f"{FAILED}:"):  # of a category that only a later Vigil has, too
        return APPEARANCES[FAILED]
    return APPEARANCES[verdict if known or verdict in (LEFT, NEVER) else OTHER]


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
