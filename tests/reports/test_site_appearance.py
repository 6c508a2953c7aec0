"""Verdicts are told apart by word, mark and colour, by readers of every colour vision, in light and dark."""

from __future__ import annotations

import itertools
import re

import pytest

from reports.site.appearance import APPEARANCES, appearance_of, contrast, word_of
from reports.site.pages import environment
from vigil.documents.verdict import Verdict

LEAST_CONTRAST = 4.5  # WCAG 2.2, AA
# How a colour looks without one kind of cone, linear RGB: G. Machado, M. Oliveira, L. Fernandes, IEEE TVCG 15 (2009) 1291,
# doi:10.1109/TVCG.2009.113, severity 1.0.
VISION = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# Measured: the nearest two of ours are 16 apart (better-than-reference and reproduced, no blue). Traffic lights come down to 5.
LEAST_APART = 15.0
COLOURED = ("regressed", "better-than-reference", "failed", "unknown", "known-finding", "unsupported", "reproduced", "other")


def lab(colour: str, vision: str) -> tuple[float, float, float]:
    """Return a colour `#rrggbb` in CIE L*a*b*, as eyes of this kind see it."""
    shares = [int(colour[first : first + 2], 16) / 255 for first in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    seen = [min(max(sum(a * b for a, b in zip(row, linear, strict=True)), 0.0), 1.0) for row in VISION[vision]]
    matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    xyz = [sum(a * b for a, b in zip(row, seen, strict=True)) / full for row, full in zip(matrix, white, strict=True)]
    x, y, z = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one: str, other: str, vision: str) -> float:
    """Return the distance of two colours, CIE 1976."""
    return sum((a - b) ** 2 for a, b in zip(lab(one, vision), lab(other, vision), strict=True)) ** 0.5


def variables(scheme: str) -> dict[str, str]:
    """Return the page's own colours from the style that is shipped."""
    text = environment().get_template("style.css").render()
    light, dark = re.findall(r":root \{([^}]*--page[^}]*)\}", text)
    return dict(re.findall(r"--([\w-]+): (#\w{6})", light if scheme == "light" else dark))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(scheme):
    """Words on verdicts' colours, and text, links and notes on the page and on its soft fields."""
    for each in APPEARANCES.values():
        background, text = getattr(each, scheme)
        assert contrast(background, text) >= LEAST_CONTRAST, each.name
    page = variables(scheme)
    for text, background in [*itertools.product(("text", "muted", "link"), ("page", "soft")), ("fine-text", "fine")]:
        assert contrast(page[text], page[background]) >= LEAST_CONTRAST, (text, background)
    for mark in ("data", "worse", "better", "other"):
        assert contrast(page[mark], page["page"]) >= 3.0, mark
    assert contrast(page["focus"], page["page"]) >= 3.0


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_two_verdicts_look_alike(vision, scheme):
    """To eyes without one kind of cone, too, no verdict has the colour of another."""
    for one, other in itertools.combinations(COLOURED, 2):
        distance = apart(getattr(APPEARANCES[one], scheme)[0], getattr(APPEARANCES[other], scheme)[0], vision)
        assert distance >= LEAST_APART, (one, other, distance)


def test_red_and_green_are_caught():
    """The usual pair of traffic lights fails the check that ours passes, and so does grey on white."""
    assert apart("#5fa55a", "#c98a4b", "no red") < LEAST_APART < apart("#5fa55a", "#c98a4b", "all cones")
    assert contrast("#ffffff", "#999999") < LEAST_CONTRAST
    assert contrast("#ffffff", "#000000") == pytest.approx(21.0)


def test_words_and_marks_differ():
    """Without any colour each verdict still has a word and a mark of its own."""
    for name in ("word", "mark", "name", "meaning"):
        found = [getattr(each, name) for each in APPEARANCES.values()]
        assert len(set(found)) == len(found), name


@pytest.mark.parametrize(
    ("verdict", "name"),
    [
        (Verdict.REPRODUCED, "reproduced"), (Verdict.REGRESSED, "regressed"), (Verdict.BETTER, "better-than-reference"),
        (Verdict.UNKNOWN, "unknown"), (Verdict.UNSUPPORTED, "unsupported"),
        ("known-finding", "known-finding"), ("failed:hang", "failed"), ("failed:", "failed"),
        ("left", "left"), ("never", "never"), ("not judged", "other"), ("Reproduced", "other"), ("", "other"),
        ("drifting", "other"), ("reproduced ", "other"),
    ],
)  # fmt: skip
def test_only_reproduced_looks_like_reproduced(verdict, name):
    """A verdict that the report does not know has an appearance of its own."""
    assert appearance_of(verdict).name == name


def test_a_new_word_of_vigils_is_neither_fine_nor_wrong(monkeypatch):
    """A verdict that the report has no field for yet shows its own name, pale; one that Vigil does not know needs a look."""
    monkeypatch.setattr("reports.site.appearance.verdict_in", lambda text: Verdict.UNKNOWN if text == "ran" else None)
    assert (appearance_of("ran").name, word_of("ran")) == ("neutral", "ran")
    assert (appearance_of("runs").name, word_of("runs")) == ("other", "other: runs")


@pytest.mark.parametrize(
    ("verdict", "is_step", "word"),
    [
        ("regressed", False, "worse"), ("regressed", True, "wrong step"), ("better-than-reference", False, "better"),
        ("failed:out_of_memory", False, "failed: out of memory"), ("reproduced", True, "reproduced"),
    ],
)  # fmt: skip
def test_a_state_has_one_word(verdict, is_step, word):
    """Whatever page shows it."""
    assert word_of(verdict, is_step=is_step) == word
