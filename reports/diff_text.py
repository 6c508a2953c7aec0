"""What a change does to the references, on a terminal and as Markdown for a pull request."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence

from reports.reference_table import amount, band_lines, interval, lots, seeds_text
from reports.tables import markdown_table
from vigil.references.diff import AddedEntry, AddedLot, BandMove, ProfileDiff, ReferenceDiff, SideSummary
from vigil.references.overview import distinct, have_band, why_none

ADDED = ("context", "release", "rows", "seeds", "mean", "spread", "recipe", "by the old band")
BANDS = ("", "recipe", "samples", "mean", "spread", "band for one run", "1 run sees", "3 runs see")
_FALSE_ALARMS = "by the old band: the added runs of each context, judged together as any runs are, at 1 % false alarms each"


def diff_lines(diff: ReferenceDiff) -> list[str]:
    """Return the comparison as lines of text."""
    lines = [f"references, compared with {diff.base.name} ({diff.base.commit[:12]})"]
    for change in diff.profiles:
        unit = change.new.unit or change.old.unit or ""
        lines.append(f"{change.recipe} {change.profile}")
        for name, side in (("old", change.old), ("new", change.new)):
            lines += [f"  {name} band    {_version(side)}{line}" for line in band_lines(side.bands, unit)]
        lines += [f"  {line}" for line in _effects(change)]
        lines += [f"  added       {lots([added.lot])}{_judged(added)}" for added in change.added]
        lines += [f"  superseded  {_superseded(entry)}" for entry in change.superseded]
        lines += [f"  {line}" for line in _doubts(change)]
    lines += [f"also changed: {line}" for line in diff.others]
    if not diff.profiles and not diff.problems:
        lines.append("no sample was added or superseded, and no band has moved")
    lines += [f"PROBLEM {line}" for line in diff.problems]
    if diff.problems:
        lines.append(f"{len(diff.problems)} problems: rows and entries are appended, never edited or removed")
    return lines


def diff_markdown(diff: ReferenceDiff) -> str:
    """Return the comparison as Markdown; texts that people wrote are escaped."""
    lines = ["## References", "", f"Compared with {_plain(diff.base.name)} (`{diff.base.commit[:12]}`).", ""]
    if diff.problems:
        lines += [f"**{len(diff.problems)} problems: rows and entries are appended, never edited or removed.**", ""]
        lines += [*(f"- {_plain(line)}" for line in diff.problems), ""]
    for change in diff.profiles:
        lines += [f"### {_plain(change.recipe)}, profile {_plain(change.profile)}", ""]
        sides = (("old", change.old), ("new", change.new))
        lines += markdown_table(BANDS, [row for name, side in sides for row in _band_rows(name, side)])
        lines += ["", *(f"- {_plain(line)}" for line in _effects(change))]
        if change.added:
            lines += ["", f"Added ({_FALSE_ALARMS}):", "", *markdown_table(ADDED, [_added_row(lot) for lot in change.added])]
        remarks = [f"superseded: {_superseded(entry)}" for entry in change.superseded] + _doubts(change)
        lines += ["", *(f"- {_plain(line)}" for line in remarks), ""]
    if not diff.profiles and not diff.problems:
        lines += ["No sample was added or superseded, and no band has moved.", ""]
    if diff.others:
        lines += ["Also changed:", "", *(f"- {_plain(line)}" for line in diff.others), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _effects(change: ProfileDiff) -> list[str]:
    """Return what the two bands say of one and the same value."""
    old, new = change.old, change.new
    had, has = have_band(old.bands), have_band(new.bands)
    lines = []
    for names, move in _moves(change.moves):
        lines += [f"{names}now OUTSIDE, was inside: {_ends(interval)}" for interval in move.now_outside]
        lines += [f"{names}now INSIDE, was outside: {_ends(interval)}" for interval in move.now_inside]
    if had and not has:
        lines.append("verdicts WILL BE unknown: there was a band and there is none any more")
    if has and not had:
        lines.append("verdicts were unknown; there is a band now")
    if had and has and not lines:
        lines.append("the band is the same")
    if old.identity and new.identity and old.identity != new.identity:
        lines.append("the recipe has changed: the two bands are of different trainings")
    elif old.checksum and new.checksum and old.checksum != new.checksum:
        lines.append(f"the newest samples are of other data: checksum {old.checksum}, now {new.checksum}")
    return lines


def _doubts(change: ProfileDiff) -> list[str]:
    """Return what a reviewer should ask about the added rows."""
    whys = {
        "added rows of code with uncommitted changes": change.dirty,
        "added rows of a commit that this repository does not have (a shallow clone has few)": change.unknown_commits,
        "added rows without a verification of their context": change.unverified,
    }
    return [f"{len(runs)} {why}: {', '.join(_some(runs))}" for why, runs in whys.items() if runs]


def _some(names: Sequence[str], *, most: int = 3) -> list[str]:
    return [*names[:most], *(["..."] if len(names) > most else [])]


def _superseded(added: AddedEntry) -> str:
    by = f" (by {added.entry.by})" if added.entry.by else ""
    return f"{added.entry.date}: {lots(added.contexts)}: {added.entry.reason}{by}"


def _judged(added: AddedLot) -> str:
    return f"; by the old band: {added.by_the_old_band}" if added.by_the_old_band else ""


def _version(side: SideSummary) -> str:
    return "" if side.identity is None else f"v{side.identity.version} ({side.identity.hash}): "


def _moves(moves: Mapping[str, BandMove]) -> list[tuple[str, BandMove]]:
    """Return what moves in which frameworks, once where it is the same in all of them."""
    first = next(iter(moves.values()))
    if all(move == first for move in moves.values()):
        return [("", first)]
    return [(f"{framework}: ", move) for framework, move in moves.items()]


def _ends(bounds: Sequence[float]) -> str:
    return f"{amount(bounds[0])} to {amount(bounds[1])}"


def _added_row(added: AddedLot) -> tuple[str, ...]:
    lot = added.lot
    numbers = (str(lot.rows), seeds_text(lot.seeds), amount(lot.mean), amount(lot.spread))
    recipe = f"v{added.recipe.version} ({added.recipe.hash})"
    return _plain(lot.context), _plain(lot.release), *numbers, _plain(recipe), _plain(added.by_the_old_band or "-")


def _band_rows(name: str, side: SideSummary) -> list[tuple[str, ...]]:
    return [
        (
            f"{name} ({names})" if names else name,
            _version(side).rstrip(": ") or "-",
            f"{side.rows} of {side.seeds} seeds",
            amount(side.mean),
            amount(side.spread),
            interval(judging) if judging.band else _plain(f"none: {why_none(side.bands)}"),
            amount(judging.catches[1]),
            amount(judging.catches[3]),
        )
        for names, judging in distinct(side.bands)
    ]


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is: no markup, no link, nobody mentioned."""
    escaped = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", html.escape(" ".join(text.split()), quote=False))
    return escaped.replace("@", "&#64;")
