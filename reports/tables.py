"""Tables on a terminal, in a log, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

# A log has no width of its own.
_WIDTH_OF_A_LOG = 220


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, notes: Iterable[str]) -> None:
    """Print a table, and its notes below it. Cells are shown as they are: an error message may look like markup."""
    table = Table(title=Text(title), title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console() if Console().is_terminal else Console(width=_WIDTH_OF_A_LOG)
    console.print(table)
    for line in notes:
        print(line)


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown; bars and line breaks within a cell are replaced."""
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return lines + [f"| {' | '.join(' '.join(cell.replace('|', '/').split()) for cell in row)} |" for row in rows]
