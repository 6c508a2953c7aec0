"""What sweeps take: `python -m benchmarks.sweep_times NAME=SOURCE[,SOURCE...] ...` prints a Markdown table, a column each.

A source is a runs directory that `vigil verify --all` has filled, or a page that it wrote by `--markdown`. A row is a recipe,
framework and mode, with the seconds of all its contexts, whatever their verdict; below stand their sum and the longest.
"""

from __future__ import annotations

import argparse
import collections
from collections.abc import Sequence
from pathlib import Path

from vigil.documents.context import Context, parse_context
from vigil.documents.verification import Verification

LONG = 120.0
# (recipe, context, in the short form, seconds)
Row = tuple[str, Context, bool, float]


def rows_of(source: Path) -> list[Row]:
    """Return the verifications of a runs directory or of a page. Raises ValueError for one that holds none."""
    rows = _of_runs(source) if source.is_dir() else _of_page(source)
    if not rows:
        raise ValueError(f"{source}: found no verification. `vigil verify RECIPE --all` makes them, `--markdown FILE` a page.")
    return rows


def _of_runs(directory: Path) -> list[Row]:
    documents = [Verification.read(place.parent) for place in sorted(directory.glob(f"*/{Verification.FILE_NAME}"))]
    return [(each.recipe.name, each.context, each.is_short, each.seconds) for each in documents]


def _of_page(page: Path) -> list[Row]:
    lines = page.read_text(encoding="utf-8").splitlines()
    # The last line names the recipe: "- moco_lite v1 (a122a7a6df17), profile quick; ...".
    recipes = [line.split()[1] for line in lines if line.startswith("- ") and ", profile " in line]
    if not recipes:
        raise ValueError(f"{page}: names no recipe. `vigil verify RECIPE --all --markdown FILE` writes such pages.")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [
        (recipes[-1], parse_context(first.removesuffix(" (short)")), first.endswith(" (short)"), float(last))
        for first, *_, last in cells
        if first.count("-") >= 3 and last
    ]


def table(columns: dict[str, Sequence[Row]]) -> list[str]:
    """Return the lines of a Markdown table: seconds by recipe, framework and mode, a column for each sweep."""
    groups: dict[tuple[str, str, str], dict[str, float]] = collections.defaultdict(dict)
    for name, rows in columns.items():
        for recipe, context, _, seconds in rows:
            group = groups[recipe, context.framework, context.mode]
            group[name] = group.get(name, 0.0) + seconds
    lines = [_line("seconds of", *columns), _line("---", *(["--:"] * len(columns)))]
    lines += [_line(" ".join(group), *(_whole(of.get(name)) for name in columns)) for group, of in groups.items()]
    times = {name: [seconds for *_, seconds in rows] for name, rows in columns.items()}
    lines.append(_line("**all**", *(f"**{sum(found):,.0f}**" for found in times.values())))
    counts = [f"{len(rows)}, {sum(is_short for _, _, is_short, _ in rows)}" for rows in columns.values()]
    lines.append(_line("contexts, in the short form", *counts))
    lines.append(_line("longest", *(_whole(max(found)) for found in times.values())))
    return [*lines, _line(f"above {LONG:.0f} s", *(str(sum(each > LONG for each in found)) for found in times.values()))]


def longest(rows: Sequence[Row]) -> list[str]:
    """Return lines: each context above the limit, the longest first."""
    some = sorted((row for row in rows if row[3] > LONG), key=lambda row: -row[3])
    return [f"- {recipe} {of.text}{', short form' if is_short else ''}: {took:.0f} s" for recipe, of, is_short, took in some]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _whole(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:,.0f}"


def main() -> None:
    """Print the table, and of the last column the contexts that take long."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("columns", nargs="+", metavar="NAME=SOURCE[,SOURCE...]", help="a sweep: runs directories, or pages")
    columns: dict[str, list[Row]] = {}
    for given in parser.parse_args().columns:
        name, _, sources = given.partition("=")
        if not sources:
            parser.error(f"found {given!r}. Allowed: NAME=SOURCE[,SOURCE...], as cold=runs.")
        try:
            columns[name] = [row for source in sources.split(",") for row in rows_of(Path(source))]
        except (OSError, ValueError) as error:
            parser.error(str(error))
    print("\n".join(table(columns)))
    name, rows = list(columns.items())[-1]
    if found := longest(rows):
        print("\n".join([f"\n{name}, above {LONG:.0f} s:", *found]))


if __name__ == "__main__":
    main()
