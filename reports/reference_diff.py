"""What a change does to the references, on a terminal and as Markdown for a pull request."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

from reports.reference import amount, band_lines, interval, lots, seeds_text
from reports.tables import markdown_table
from vigil.references.overview import distinct, have_band, why_none

ADDED = ("context", "release", "rows", "seeds", "mean", "spread", "recipe", "by the old band")
BANDS = ("", "recipe", "samples", "mean", "spread", "band for one run", "1 run sees", "3 runs see")
_FALSE_ALARMS = "by the old band: the added runs of each context, judged together as any runs are, at 1 % false alarms each"

Found = Mapping[str, Any]


def diff_lines(found: Found) -> list[str]:
    """Return the comparison as lines of text."""
    lines = [f"references, compared with {found['base']['name']} ({found['base']['commit'][:12]})"]
    for place in found["places"]:
        unit = place["new"]["unit"] or place["old"]["unit"] or ""
        lines.append(f"{place['recipe']} {place['profile']}")
        for side in ("old", "new"):
            bands = band_lines(place[side]["bands"], unit)
            lines += [f"  {side} band    {_version(place[side])}{line}" for line in bands]
        lines += [f"  {line}" for line in _effects(place)]
        lines += [f"  added       {lots([lot])}{_judged(lot)}" for lot in place["added"]]
        lines += [f"  superseded  {_superseded(entry)}" for entry in place["superseded"]]
        lines += [f"  {line}" for line in _doubts(place)]
    lines += [f"also changed: {line}" for line in found["others"]]
    if not found["places"] and not found["problems"]:
        lines.append("no sample was added or superseded, and no band has moved")
    lines += [f"PROBLEM {line}" for line in found["problems"]]
    if found["problems"]:
        lines.append(f"{len(found['problems'])} problems: rows and entries are appended, never edited or removed")
    return lines


def diff_markdown(found: Found) -> str:
    """Return the comparison as Markdown; texts that people wrote are escaped."""
    lines = ["## References", "", f"Compared with {_plain(found['base']['name'])} (`{found['base']['commit'][:12]}`).", ""]
    if found["problems"]:
        lines += [f"**{len(found['problems'])} problems: rows and entries are appended, never edited or removed.**", ""]
        lines += [*(f"- {_plain(line)}" for line in found["problems"]), ""]
    for place in found["places"]:
        lines += [f"### {_plain(place['recipe'])}, profile {_plain(place['profile'])}", ""]
        lines += markdown_table(BANDS, [row for side in ("old", "new") for row in _band_rows(side, place[side])])
        lines += ["", *(f"- {_plain(line)}" for line in _effects(place))]
        if place["added"]:
            lines += ["", f"Added ({_FALSE_ALARMS}):", "", *markdown_table(ADDED, [_added_row(lot) for lot in place["added"]])]
        remarks = [f"superseded: {_superseded(entry)}" for entry in place["superseded"]] + _doubts(place)
        lines += ["", *(f"- {_plain(line)}" for line in remarks), ""]
    if not found["places"] and not found["problems"]:
        lines += ["No sample was added or superseded, and no band has moved.", ""]
    if found["others"]:
        lines += ["Also changed:", "", *(f"- {_plain(line)}" for line in found["others"]), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _effects(place: Found) -> list[str]:
    """Return what the two bands say of one and the same value."""
    old, new = place["old"], place["new"]
    had, has = have_band(old["bands"]), have_band(new["bands"])
    lines = []
    for names, changes in _moves(place["moved"]):
        lines += [f"{names}now OUTSIDE, was inside: {_ends(each)}" for each in changes["now_outside"]]
        lines += [f"{names}now INSIDE, was outside: {_ends(each)}" for each in changes["now_inside"]]
    if had and not has:
        lines.append("verdicts WILL BE unknown: there was a band and there is none any more")
    if has and not had:
        lines.append("verdicts were unknown; there is a band now")
    if had and has and not lines:
        lines.append("the band is the same")
    if None not in (old["hash"], new["hash"]) and (old["version"], old["hash"]) != (new["version"], new["hash"]):
        lines.append("the recipe has changed: the two bands are of different trainings")
    elif None not in (old["checksum"], new["checksum"]) and old["checksum"] != new["checksum"]:
        lines.append(f"the newest samples are of other data: checksum {old['checksum']}, now {new['checksum']}")
    return lines


def _doubts(place: Found) -> list[str]:
    """Return what a reviewer should ask about the added rows."""
    whys = {
        "dirty": "added rows of code with uncommitted changes",
        "unknown_commits": "added rows of a commit that this repository does not have (a shallow clone has few)",
        "unverified": "added rows without a verification of their context",
    }
    return [f"{len(place[key])} {why}: {', '.join(_some(place[key]))}" for key, why in whys.items() if place[key]]


def _some(names: Sequence[str], *, most: int = 3) -> list[str]:
    return [*names[:most], *(["..."] if len(names) > most else [])]


def _superseded(entry: Found) -> str:
    by = f" (by {entry['by']})" if entry["by"] else ""
    return f"{entry['date']}: {lots(entry['contexts'])}: {entry['reason']}{by}"


def _judged(lot: Found) -> str:
    return f"; by the old band: {lot['by_the_old_band']}" if lot["by_the_old_band"] else ""


def _version(side: Found) -> str:
    return "" if side["hash"] is None else f"v{side['version']} ({side['hash']}): "


def _moves(moved: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return what moves in which frameworks, once where it is the same in all of them."""
    values = list(moved.values())
    if all(each == values[0] for each in values):
        return [("", values[0])]
    return [(f"{framework}: ", changes) for framework, changes in moved.items()]


def _ends(bounds: Sequence[float]) -> str:
    return f"{amount(bounds[0])} to {amount(bounds[1])}"


def _added_row(lot: Found) -> tuple[str, ...]:
    numbers = (str(lot["rows"]), seeds_text(lot["seeds"]), amount(lot["mean"]), amount(lot["spread"]))
    recipe = f"v{lot['recipe']['version']} ({lot['recipe']['hash']})"
    return _plain(lot["context"]), _plain(lot["release"]), *numbers, _plain(recipe), _plain(lot["by_the_old_band"] or "-")


def _band_rows(name: str, side: Found) -> list[tuple[str, ...]]:
    return [
        (
            f"{name} ({names})" if names else name,
            _version(side).rstrip(": ") or "-",
            f"{side['rows']} of {side['seeds']} seeds",
            amount(side["mean"]),
            amount(side["spread"]),
            interval(judged) if judged["band"] else _plain(f"none: {why_none(side['bands'])}"),
            amount(judged["catches"][1]),
            amount(judged["catches"][3]),
        )
        for names, judged in distinct(side["bands"])
    ]


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is: no markup, no link, nobody mentioned."""
    escaped = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", html.escape(" ".join(text.split()), quote=False))
    return escaped.replace("@", "&#64;")
