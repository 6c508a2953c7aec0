"""The two streams that a person reads: nothing foreign steers the terminal, and text is as wide as there is room.

A recipe, a log or a file name may hold escape sequences that clear the screen or rewrite what was said. `plain_streams` shows
them as text, in whatever is printed. What is drawn with `console` goes past it: hand it `plain` text.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

WIDEST = 110  # longer lines are hard to read
NARROWEST = 40
# C0 but for tab and line feed, DEL and C1; line separators and marks that turn the direction; halves of surrogate pairs, which a
# file name that is not UTF-8 becomes.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    r"""Return text in which characters that steer a terminal are written out.

    >>> plain("loss\x1b[2J\r0.1")
    'loss\\x1b[2J\\r0.1'
    """
    return _STEERING.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


class PlainStream:
    """A stream of text that writes what is `plain`, and what its encoding lacks as escapes."""

    def __init__(self, stream: TextIO) -> None:
        self.steered = stream

    def write(self, text: str) -> int:
        """Write text; return how much was given."""
        encoding = getattr(self.steered, "encoding", None) or "utf-8"
        self.steered.write(plain(text).encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.steered, name)


@contextmanager
def plain_streams() -> Iterator[None]:
    """Let all that is printed within be plain."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (PlainStream(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def console(*, stderr: bool = False) -> Console:
    """Return what draws on a stream: colours, tables, bars. Give it `plain` text only."""
    stream = sys.stderr if stderr else sys.stdout
    stream = getattr(stream, "steered", stream)
    if stream.isatty() and "COLUMNS" not in os.environ:
        return Console(file=stream, highlight=False, markup=False, emoji=False)  # a terminal may change its size under way
    columns, lines = shutil.get_terminal_size((WIDEST, 24))  # a log has no size of its own
    return Console(file=stream, width=max(NARROWEST, columns), height=lines, highlight=False, markup=False, emoji=False)


def some_of(names: Sequence[str], most: int) -> str:
    """Return the first names of a list, and how many more there are.

    >>> some_of(["a", "b", "c"], 2), some_of(["a"], 2)
    ('a, b and 1 more', 'a')
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def width() -> int:
    """Return how wide a text on standard output may be."""
    return max(NARROWEST, min(WIDEST, console().width))


def answer(text: str) -> None:
    """Print the line that answers what was asked, bold on a terminal."""
    print(flush=True, end="")
    console().print(Text(textwrap.fill(plain(text), width=width(), break_long_words=False), style="bold"), soft_wrap=True)


def answered(text: str) -> None:
    """Print a text whose first line is the answer."""
    first, _, rest = text.partition("\n")
    answer(first)
    print(rest)
