"""Names, numbers and times as they stand on a page: for files and for people."""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from typing import Any

from vigil.paths import file_name as file_name

# Controls, and the characters that turn the direction of the text after them: in a name they can only mislead.
_TURNS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_TURNS_IN_LINES = re.compile(_TURNS.pattern.replace(r"\x00-\x1f", r"\x00-\x08\x0b-\x1f"))


def plain(text: Any) -> str:
    """Return a text without what turns its direction or controls a terminal; nothing for None."""
    return "" if text is None else _TURNS.sub(" ", str(text)).strip()


def without_turns(value: Any) -> Any:
    """Return what a template shows; a text, which may have lines, without what turns the direction of the text after it."""
    return _TURNS_IN_LINES.sub(" ", value) if type(value) is str else value


def shortened(text: str, length: int) -> str:
    """Return the beginning of a text that is too long, with a mark that it goes on."""
    return text if len(text) <= length else text[: length - 1] + "…"


def number(value: float | None, *, digits: int = 4) -> str:
    """Return a number with its meaningful digits; a dash for one that is not there."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    return f"{value:.{digits}g}" if abs(value) < 10**digits or abs(value) >= 1e7 else f"{value:,.0f}"


def points(value: float | None, unit: str | None) -> str:
    """Return a metric's value: percent with two digits behind the point, anything else with five that mean something."""
    if value is not None and math.isfinite(value) and unit == "percent":
        return f"{value:.2f}"
    return number(value, digits=5)


def moment(when: datetime | None) -> str:
    """Return a time to the minute, in UTC."""
    return "-" if when is None else f"{when.astimezone(timezone.utc):%Y-%m-%d %H:%M}"


def count(how_many: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: 1 cell, 2 cells."""
    return f"{how_many:,} {one if how_many == 1 else many or one + 's'}"


def duration(seconds: Any) -> str:
    """Return how long something took; a dash where nobody knows."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
        return "-"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
