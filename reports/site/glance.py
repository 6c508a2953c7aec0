"""Tonight at a glance: the heat map, the counts, what needs a look, what failed and what that cost, what was left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.site.looks import KINDS, REPRODUCE, Key
from reports.site.sources import Sources, context_text
from reports.site.standing import DONE, Cell, Standing, problem_of
from reports.site.verdicts import APPEARANCES, FAILED, Appearance, appearance_of
from vigil.documents.context import FRAMEWORKS

ATTENTION = ("regressed", "better-than-reference", "failed", "other")
JUDGED = ("reproduced", "regressed", "better-than-reference")
FALSE_ALARMS = 0.01


@dataclass(frozen=True)
class Group:
    """The heat map's rows of one framework: each a context, and for each column the cell or None."""

    framework: str
    rows: Sequence[tuple[str, Sequence[Cell | None]]]


@dataclass(frozen=True)
class Release:
    """What a night tested of a framework. problem: why it could not."""

    framework: str
    request: str | None
    version: str | None
    problem: str | None


@dataclass(frozen=True)
class Ended:
    """A cell of the night that failed, or was left. key: None for one that has no page."""

    key: Key
    kind: str
    verdict: str
    reason: str
    seconds: float | None


def columns_of(cells: Mapping[Key, Cell]) -> list[tuple[str, str]]:
    """Return the heat map's columns: recipe and profile, `quick` before the others."""
    return sorted({key[:2] for key in cells}, key=lambda column: (column[0], column[1] != "quick", column[1]))


def groups_of(cells: Mapping[Key, Cell]) -> list[Group]:
    """Return the heat map's rows, the known frameworks first."""
    frameworks = {cell.framework for cell in cells.values()}
    order = [name for name in FRAMEWORKS if name in frameworks] + sorted(frameworks - set(FRAMEWORKS))
    columns = columns_of(cells)
    groups = []
    for framework in order:
        contexts = sorted({key[2] for key, cell in cells.items() if cell.framework == framework})
        groups.append(Group(framework, [(text, [cells.get((*column, text)) for column in columns]) for text in contexts]))
    return groups


def counts_of(cells: Mapping[Key, Cell]) -> list[tuple[Appearance, dict[str, int]]]:
    """Return how many cells stand how, of each kind; what does not occur is left out."""
    found = {name: dict.fromkeys(KINDS, 0) for name in APPEARANCES}
    for cell in cells.values():
        for kind, standing in cell.standings.items():
            found[standing.appearance.name][kind] += 1
    return [(APPEARANCES[name], of_kind) for name, of_kind in found.items() if any(of_kind.values())]


def attention(cells: Mapping[Key, Cell]) -> list[tuple[Cell, str, Standing]]:
    """Return what needs a look, the worst first. What was wrong and has not run since is at the end, and is not forgotten."""
    found = [
        (cell, kind, standing)
        for cell in cells.values()
        for kind, standing in cell.standings.items()
        if appearance_of(standing.verdict).name in ATTENTION
    ]

    def rank(each: tuple[Cell, str, Standing]) -> tuple[Any, ...]:
        cell, kind, standing = each
        return bool(standing.stale), ATTENTION.index(appearance_of(standing.verdict).name), cell.key, kind

    return sorted(found, key=rank)


def expected_by_chance(cells: Mapping[Key, Cell]) -> tuple[int, float]:
    """Return how many reproductions are judged, and how many of them chance puts outside their bands."""
    standings = [cell.standings[REPRODUCE] for cell in cells.values()]
    judged = sum(standing.verdict in JUDGED and not standing.stale for standing in standings)
    return judged, judged * FALSE_ALARMS


def releases_of(sources: Sources, cells: Mapping[Key, Cell]) -> list[Release]:
    """Return what the night tested; without its document, the newest release that history knows of each framework."""
    if sources.night:
        return [
            Release(name, facts.get("request"), facts.get("version"), problem_of(facts))
            for name, facts in sorted((sources.night.get("releases") or {}).items())
        ]
    newest: dict[str, Any] = {}
    for cell in cells.values():
        for look in cell.looks:
            if look.release and (cell.framework not in newest or look.created > newest[cell.framework].created):
                newest[cell.framework] = look
    return [Release(name, None, look.release, None) for name, look in sorted(newest.items())]


def failures_of(sources: Sources, cells: Mapping[Key, Cell]) -> list[Ended]:
    """Return what failed in the night that is shown, the dearest first."""
    if sources.night:
        found = [
            Ended(_key(row), row["kind"], row["verdict"], row.get("reason") or "", row.get("seconds"))
            for row in sources.night["cells"]
            if row["status"] == DONE and str(row.get("verdict")).startswith(FAILED)
        ]
    else:
        found = [
            Ended(cell.key, look.kind, look.verdict, look.reason or "", look.seconds)
            for cell in cells.values()
            for look in cell.looks
            if look.is_clean and look.verdict.startswith(FAILED) and look.night is not None and look.night == sources.night_id
        ]
    return sorted(found, key=lambda each: (-(each.seconds or 0.0), each.key, each.kind))


def left_of(sources: Sources) -> list[Ended]:
    """Return what the night planned and did not run."""
    if not sources.night:
        return []
    return [
        Ended(_key(row), row["kind"], row["status"], row.get("reason") or row.get("chosen") or "", None)
        for row in sources.night["cells"]
        if row["status"] != DONE
    ]


def _key(row: Mapping[str, Any]) -> Key:
    return row["recipe"], row["profile"], context_text(row)
