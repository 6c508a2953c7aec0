"""References as a person reads them: what there is and what judges, and what a superseding entry did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from reports.tables import Block, print_blocks, print_notes, print_table
from vigil.documents.identity import Identity
from vigil.references.overview import Bands, JudgingBand, SampleGroup, SampleLot, by_context, distinct, have_band, why_none
from vigil.references.samples import MIN_SAMPLES, MIN_SEEDS
from vigil.references.supersede import Superseded
from vigil.terminal import answer

CONTEXT_COLUMNS = ("profile", "version", "context", "release", "rows", "seeds", "mean", "spread")
NOTES = (
    "sees: the smallest true drop that the verdict on so many runs would flag nine times in ten",
    "in use: by runs whose data have the same checksum, which every run checks; a run of other data is `unknown`",
)


def show(groups: Sequence[SampleGroup], *, of: Sequence[str], in_detail: bool) -> None:
    """Print a block for each group of samples, and with `in_detail` a row for each context and release."""
    if not groups:
        name = of[0] if len(of) == 1 else None
        print(f"no samples{f' of {name}' if name else ''}; to make some: vigil reference add {name or 'RECIPE'}")
        return
    used = sum(group.in_use for group in groups)
    answer(f"references: {used} of {len(groups)} groups of samples {'is' if used == 1 else 'are'} in use")
    print_blocks(map(block, groups))
    print_notes(NOTES)
    if in_detail:
        rows = [_context_row(group, lot) for group in groups for lot in group.contexts]
        print_table("by context and release", CONTEXT_COLUMNS, rows, notes=())


def block(group: SampleGroup) -> Block:
    """Return what there is of a group, what judges, and what a reader must know of it."""
    recipe, releases = group.recipe, [f"{name} {', '.join(versions)}" for name, versions in group.frameworks.items()]
    dates = " to ".join(dict.fromkeys(group.dates[:1] + group.dates[-1:]))
    lines = [("samples", f"{group.rows} of {len(group.seeds)} seeds, {dates}: {'; '.join(releases)}" if group.rows else "none")]
    if group.rows:
        lines.append(("mean", f"{amount(group.mean)} {group.unit}, spread {amount(group.spread)}"))
    if group.in_use:
        lines.append(("band", "\n".join(_judging(names, judging) for names, judging in distinct(group.bands))))
    if group.hardware:
        lines.append(("measured", f"on {'; '.join(group.hardware)}; data {group.data.name} {group.data.checksum}"))
    if group.dirty:
        lines.append(("uncommitted", f"{len(group.dirty)} rows of code with changes: {', '.join(group.dirty)}"))
    if group.rows > group.verified:
        lines.append(("unverified", f"{group.rows - group.verified} of {group.rows} rows: their context was not verified"))
    for entry in group.superseded:
        by = f" (by {entry.by})" if entry.by else ""
        lines.append(("superseded", f"{entry.date}: {lots(entry.contexts)}: {entry.reason}{by}"))
    return Block(f"{recipe.name} {recipe.profile} {_version(recipe)}: {group.state}", lines)


def _judging(names: str, judging: JudgingBand) -> str:
    sees = ", ".join(f"{amount(drop)} in {runs} {'run' if runs == 1 else 'runs'}" for runs, drop in judging.catches.items())
    return f"{names} {interval(judging)}; sees {sees}".strip()


def supersede_lines(path: Path, groups: Sequence[Superseded], *, recipe_named: str, undo: str) -> list[str]:
    """Return what was superseded, the band before and after, what then remains, and how it is undone.

    Args:
        recipe_named: what names the recipe in a command.
    """
    lines = []
    for group in groups:
        entry, recipe = group.entry, group.entry.recipe
        lines.append(f"{recipe.name} {recipe.profile} {_version(recipe)}, {entry.metric}")
        lines += [f"  superseded  {lot.rows} of {lot.context}, release {lot.release}" for lot in by_context(group.rows)]
        lines.append(f"  reason      {entry.reason}")
        lines += [f"  old band    {line}" for line in band_lines(group.old, entry.unit)]
        lines += [f"  new band    {line}" for line in band_lines(group.new, entry.unit)]
        seeds = len({row.seed for row in group.remaining})
        lines.append(f"  remain      {len(group.remaining)} samples of {seeds} seeds")
        if not have_band(group.new):
            lines.append(
                f"  VERDICTS WILL BE unknown until there are {MIN_SAMPLES} samples of {MIN_SEEDS} seeds again: "
                f"vigil reference add {recipe_named} --profile {recipe.profile}"
            )
    lines.append(f"written: {path}. No row was touched.")
    lines.append(f"to undo before it is committed: {undo}")
    return [*lines, f"what a reviewer sees: vigil reference diff --recipe {recipe_named}"]


def band_lines(bands: Bands, unit: str) -> list[str]:
    """Return each band that differs, what it was made of and what it sees; or why there is none."""
    if not have_band(bands):
        return [f"none: {why_none(bands)}"]
    return [f"{f'{names}: ' if names else ''}{_band_text(judging, unit)}" for names, judging in distinct(bands)]


def interval(judging: JudgingBand) -> str:
    """Return a band's two ends."""
    return f"{amount(judging.band.low)} to {amount(judging.band.high)}" if judging.band else "-"


def _band_text(judging: JudgingBand, unit: str) -> str:
    band = judging.band
    if band is None:
        return "-"
    sees = ", ".join(f"{amount(drop)} in {count}" for count, drop in judging.catches.items() if drop is not None)
    return (
        f"{interval(judging)} {unit} (mean {amount(band.mean)}, spread {amount(band.spread)}, "
        f"{band.n} samples of {band.n_seeds} seeds; sees a drop of {sees} runs)"
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


def lots(contexts: Iterable[SampleLot]) -> str:
    """Return how many rows of which context and release, in one line."""
    return ", ".join(f"{lot.rows} of {lot.context} {lot.release} (mean {amount(lot.mean)})" for lot in contexts)


def _version(recipe: Identity) -> str:
    return f"v{recipe.version} ({recipe.hash})"


def _context_row(group: SampleGroup, lot: SampleLot) -> tuple[str, ...]:
    return (
        group.recipe.profile,
        f"{group.recipe.version} ({group.recipe.hash})",
        lot.context,
        lot.release,
        str(lot.rows),
        seeds_text(lot.seeds),
        amount(lot.mean),
        amount(lot.spread),
    )
