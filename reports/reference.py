"""References as a person reads them: what there is and what judges, and what a superseding entry did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.tables import print_table
from vigil.references.overview import Bands, by_context, distinct, have_band, why_none
from vigil.references.samples import MIN_SAMPLES, MIN_SEEDS

COLUMNS = (
    "recipe", "profile", "version", "rows", "seeds", "releases", "dates", "mean", "spread", "band for one run",
    "1 run sees", "3 runs see", "state",
)  # fmt: skip
CONTEXT_COLUMNS = ("profile", "version", "context", "release", "rows", "seeds", "mean", "spread")
_SEES = "1 run sees, 3 runs see: the smallest true drop that the verdict on so many runs would flag nine times in ten"
_DATA = "in use: by runs whose data have the same checksum, which every run checks; a run of other data is `unknown`"

Document = Mapping[str, Any]


def show(documents: Sequence[Document], *, of: Sequence[str], in_detail: bool) -> None:
    """Print a row for each group of samples, and with `in_detail` one for each context and release."""
    if not documents:
        print(f"no samples{f' of {of[0]}' if len(of) == 1 else ''}; to make some: vigil reference add RECIPE --profile quick")
        return
    print_table("references", COLUMNS, [_row(each) for each in documents], notes=notes(documents))
    if in_detail:
        rows = [_context_row(document, lot) for document in documents for lot in document["contexts"]]
        print_table("by context and release", CONTEXT_COLUMNS, rows, notes=())


def notes(documents: Sequence[Document]) -> list[str]:
    """Return how to read the table, and what a reader must know of each group."""
    lines = [_SEES, _DATA]
    for each in documents:
        name = f"{each['recipe']['name']} {each['recipe']['profile']} v{each['recipe']['version']} ({each['recipe']['hash']})"
        if not each["in_use"]:
            lines.append(f"{name}: {each['state']}")
        if each["hardware"]:
            lines.append(
                f"{name}: measured on {'; '.join(each['hardware'])}; data {each['data']['name']} {each['data']['checksum']}"
            )
        if each["dirty"]:
            lines.append(f"{name}: {len(each['dirty'])} rows of code with uncommitted changes: {', '.join(each['dirty'])}")
        if each["rows"] > each["verified"]:
            lines.append(
                f"{name}: {each['rows'] - each['verified']} of {each['rows']} rows carry no verification of their context"
            )
        for entry in each["superseded"]:
            by = f" (by {entry['by']})" if entry["by"] else ""
            lines.append(f"{name}: superseded {entry['date']}: {lots(entry['contexts'])}: {entry['reason']}{by}")
    return lines


def supersede_lines(path: Path, found: Sequence[Any], *, undo: str) -> list[str]:
    """Return what was superseded, the band before and after, what then remains, and how it is undone."""
    lines = []
    for each in found:
        entry, unit = each.entry, each.entry["unit"]
        recipe = entry["recipe"]
        lines.append(f"{recipe['name']} {recipe['profile']} v{recipe['version']} ({recipe['hash']}), {entry['metric']}")
        lines += [f"  superseded  {lot['rows']} of {lot['context']}, release {lot['release']}" for lot in by_context(each.rows)]
        lines.append(f"  reason      {entry['reason']}")
        lines += [f"  old band    {line}" for line in band_lines(each.old, unit)]
        lines += [f"  new band    {line}" for line in band_lines(each.new, unit)]
        seeds = len({row["seed"] for row in each.remaining})
        lines.append(f"  remain      {len(each.remaining)} samples of {seeds} seeds")
        if not have_band(each.new):
            lines.append(
                f"  VERDICTS WILL BE unknown until there are {MIN_SAMPLES} samples of {MIN_SEEDS} seeds again: "
                f"vigil reference add {recipe['name']} --profile {recipe['profile']}"
            )
    lines.append(f"written: {path}. No row was touched.")
    lines.append(f"to undo before it is committed: {undo}")
    return [*lines, "what a reviewer sees: vigil reference diff"]


def band_lines(bands: Bands, unit: str) -> list[str]:
    """Return each band that differs, what it was made of and what it sees; or why there is none."""
    if not have_band(bands):
        return [f"none: {why_none(bands)}"]
    return [f"{f'{names}: ' if names else ''}{_band_text(judged, unit)}" for names, judged in distinct(bands)]


def interval(judged: Mapping[str, Any]) -> str:
    """Return a band's two ends."""
    band = judged["band"]
    return f"{amount(band['low'])} to {amount(band['high'])}" if band else "-"


def _band_text(judged: Mapping[str, Any], unit: str) -> str:
    band = judged["band"]
    sees = ", ".join(f"{amount(drop)} in {count}" for count, drop in judged["catches"].items() if drop is not None)
    return (
        f"{interval(judged)} {unit} (mean {amount(band['mean'])}, spread {amount(band['spread'])}, "
        f"{band['n']} samples of {band['n_seeds']} seeds; sees a drop of {sees} runs)"
    )


def amount(value: float | None) -> str:
    """Return a number with the digits that a reader compares.

    >>> amount(88.70666), amount(0.96654), amount(None)
    ('88.71', '0.967', '-')
    """
    if value is None:
        return "-"
    return f"{value:.2f}" if abs(value) >= 10.0 else f"{value:.3g}"


def seeds_text(seeds: Sequence[int]) -> str:
    """Return seeds as ranges.

    >>> seeds_text([3, 4, 5, 9]), seeds_text([7])
    ('3 to 5, 9', '7')
    """
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][-1] + 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ", ".join(f"{part[0]} to {part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def lots(contexts: Iterable[Mapping[str, Any]]) -> str:
    """Return how many rows of which context and release, in one line."""
    return ", ".join(f"{lot['rows']} of {lot['context']} {lot['release']} (mean {amount(lot['mean'])})" for lot in contexts)


def _row(each: Document) -> tuple[str, ...]:
    bands, recipe = distinct(each["bands"]), each["recipe"]
    releases = "; ".join(f"{name} {', '.join(versions)}" for name, versions in each["frameworks"].items())
    return (
        recipe["name"],
        recipe["profile"],
        f"{recipe['version']} ({recipe['hash']})",
        str(each["rows"]),
        str(len(each["seeds"])),
        releases or "-",
        " to ".join(dict.fromkeys(each["dates"][:1] + each["dates"][-1:])) or "-",
        f"{amount(each['mean'])} {each['unit']}" if each["rows"] else "-",
        amount(each["spread"]),
        "\n".join(f"{names} {interval(judged)}".strip() for names, judged in bands),
        *("\n".join(amount(judged["catches"][count]) for _, judged in bands) for count in (1, 3)),
        each["state"].partition(":")[0],
    )


def _context_row(each: Document, lot: Mapping[str, Any]) -> tuple[str, ...]:
    recipe = each["recipe"]
    return (
        recipe["profile"],
        f"{recipe['version']} ({recipe['hash']})",
        lot["context"],
        lot["release"],
        str(lot["rows"]),
        seeds_text(lot["seeds"]),
        amount(lot["mean"]),
        amount(lot["spread"]),
    )
