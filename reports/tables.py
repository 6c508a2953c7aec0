"""Tables on a terminal, in a log, and in Markdown; blocks of text where a table would be wider than the room there is."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from vigil.terminal import answer, console, plain, width

_INDENT = "    "
_MOST_FOLDED = 1.5  # a table that wants more room than so many times what there is has columns of single words


class Block(NamedTuple):
    """What is said of one thing: a line that names it, and lines of a name and a text. A text that is empty is left out."""

    title: str
    lines: Sequence[tuple[str, str]]


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, notes: Iterable[str]) -> None:
    """Print a table, and its notes below it. Cells are shown as they are: an error message may look like markup.

    A table in which words would break, or stand one below the other, is printed as text, a paragraph a row.
    """
    rows = [[plain(cell) for cell in row] for row in rows]
    table = Table()
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    drawn = console()
    answer(title)
    needs = drawn.measure(table, options=drawn.options.update(max_width=100_000))
    if needs.minimum <= drawn.width and needs.maximum <= _MOST_FOLDED * drawn.width:
        drawn.print(table)
    else:
        for row in rows:
            print_paragraph(*_as_text(columns, row))
    print_notes(notes)


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print blocks with their names in one column."""
    blocks = list(blocks)
    widest = max((len(name) for block in blocks for name, text in block.lines if text), default=0)
    for block in blocks:
        print_paragraph(block.title, "")
        for name, text in block.lines:
            for number, line in enumerate(text.splitlines()):
                _fill(line, first=f"{_INDENT}{'' if number else name:<{widest}}  ", rest=" " * (len(_INDENT) + widest + 2))


def print_paragraph(title: str, text: str) -> None:
    """Print a line that names something, and what is said of it, indented."""
    _fill(title, first="", rest=_INDENT)
    _fill(text, first=_INDENT, rest=_INDENT)


def print_notes(notes: Iterable[str]) -> None:
    """Print lines of text, no wider than there is room."""
    for line in notes:
        _fill(line, first="", rest="  ")


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown; bars and line breaks within a cell are replaced."""
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return lines + [f"| {' | '.join(' '.join(cell.replace('|', '/').split()) for cell in row)} |" for row in rows]


def _as_text(columns: Sequence[str], row: Sequence[str]) -> tuple[str, str]:
    """Return the first two cells of a row as its title, and the others with the names of their columns."""
    said = [(column, " ".join(cell.split())) for column, cell in zip(columns, row, strict=True)]
    rest = [f"{column} {cell}".strip() for column, cell in said[2:] if cell not in ("", "-")]
    return ": ".join(cell for _, cell in said[:2] if cell), "; ".join(rest)


def _fill(text: str, *, first: str, rest: str) -> None:
    if text:
        print(
            textwrap.fill(
                text,
                width=width(),
                initial_indent=first,
                subsequent_indent=rest,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
