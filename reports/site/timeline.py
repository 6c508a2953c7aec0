"""Nights and releases as the history has them: a page each that says the same whenever the report is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from reports.site.answer import CauseRow
from reports.site.appearance import appearance_of
from reports.site.causes import ATTENTION, Cause, Nights
from reports.site.cell_results import CellResult, Key
from reports.site.standing import ReportedCell, public
from reports.site.words import file_name


@dataclass
class PastNight:
    """One night: how many results stood how, the release of each framework, those new in it, and what was not fine."""

    name: str
    began: datetime | None
    counts: Counter[str] = field(default_factory=Counter)
    releases: dict[str, str] = field(default_factory=dict)
    new: tuple[str, ...] = ()
    wrong: list[tuple[Key, CellResult]] = field(default_factory=list)


@dataclass(frozen=True)
class PastRelease:
    """A release of a framework: the nights that ran it, and the causes that began with it."""

    framework: str
    release: str
    first: str
    last: str
    nights: int
    rows: Sequence[CauseRow]
    anchor: str


def past_nights(cells: Mapping[Key, ReportedCell], nights: Nights) -> list[PastNight]:
    """Return every night in the order of time."""
    found = {name: PastNight(name, nights.began.get(name)) for name in nights.names}
    ran: dict[str, dict[str, Counter[str]]] = {name: {} for name in nights.names}
    for cell in cells.values():
        for result in cell.results:
            if result.night is None or not result.is_clean:
                continue
            night = found[result.night]
            name = appearance_of(result.verdict).name
            night.counts[name] += 1
            if name in ATTENTION:
                night.wrong.append((cell.key, result))
            if result.release:
                ran[night.name].setdefault(cell.framework, Counter())[public(result.release) or ""] += 1
    before: dict[str, str] = {}
    for night in found.values():
        night.releases = {name: counts.most_common(1)[0][0] for name, counts in sorted(ran[night.name].items())}
        night.new = tuple(name for name, release in night.releases.items() if before and before.get(name) != release)
        before |= night.releases
        night.wrong.sort(key=lambda each: (ATTENTION.index(appearance_of(each[1].verdict).name), each[0], each[1].kind))
    return list(found.values())


def past_releases(nights: Sequence[PastNight], causes: Sequence[tuple[Cause, CauseRow]]) -> list[PastRelease]:
    """Return every release that nights ran, in the order in which each first did."""
    held: dict[tuple[str, str], list[str]] = {}
    for night in nights:
        for place in night.releases.items():
            held.setdefault(place, []).append(night.name)
    return [
        PastRelease(
            framework=framework,
            release=release,
            first=names[0],
            last=names[-1],
            nights=len(names),
            rows=[
                row for cause, row in causes
                if cause.framework == framework and cause.begin.is_of_release and public(cause.begin.release) == release
            ],
            anchor=file_name(framework, release),
        )
        for (framework, release), names in held.items()
    ]  # fmt: skip
