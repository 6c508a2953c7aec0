"""Tonight at a glance: the map of every cell, the counts, what failed and what that cost, what was left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from reports.site.appearance import APPEARANCES, FAILED, Appearance, appearance_of
from reports.site.cell_results import KINDS, CellResult, Key
from reports.site.sources import Sources
from reports.site.standing import ReportedCell, key_of, problem_of
from vigil.documents.context import FRAMEWORKS
from vigil.documents.night import CellKind


@dataclass(frozen=True)
class CellMap:
    """Every cell, contexts down and frameworks side by side. columns: recipe, profile, and the frameworks that have it.

    rows: a context without its framework, and for each recipe's framework the cell or None.
    """

    columns: Sequence[tuple[str, str, Sequence[str]]]
    rows: Sequence[tuple[str, Sequence[ReportedCell | None]]]


@dataclass(frozen=True)
class TestedRelease:
    """What a night tested of a framework. problem: why it could not."""

    framework: str
    request: str | None
    version: str | None
    problem: str | None


@dataclass(frozen=True)
class EndedCell:
    """A cell of the night that failed, or was left; `verdict` is then its state."""

    key: Key
    kind: CellKind
    verdict: str
    reason: str
    seconds: float | None


def map_of(cells: Mapping[Key, ReportedCell]) -> CellMap:
    """Return the map: `quick` before other profiles, the known frameworks first, what is usual above what is rare."""
    places = sorted({key[:2] for key in cells}, key=lambda place: (place[0], place[1] != "quick", place[1]))
    held: dict[tuple[str, str], set[str]] = {}
    for key, cell in cells.items():
        held.setdefault(key[:2], set()).add(cell.framework)
    columns = [(recipe, profile, _in_order(held[recipe, profile])) for recipe, profile in places]
    # What a context has besides its framework is what frameworks have in common.
    rests = sorted({key[2][len(cell.framework) :] for key, cell in cells.items()}, key=lambda rest: (rest.count("-"), rest))
    rows = []
    for rest in rests:
        entries = [cells.get((recipe, profile, name + rest)) for recipe, profile, names in columns for name in names]
        rows.append((rest.removeprefix("-"), entries))
    return CellMap(columns, rows)


def _in_order(frameworks: Collection[str]) -> list[str]:
    return [name for name in FRAMEWORKS if name in frameworks] + sorted(set(frameworks) - set(FRAMEWORKS))


def counts_of(cells: Mapping[Key, ReportedCell]) -> list[tuple[Appearance, dict[CellKind, int]]]:
    """Return how many cells stand how, of each kind; what does not occur is left out."""
    counts = {name: dict.fromkeys(KINDS, 0) for name in APPEARANCES}
    for cell in cells.values():
        for kind, standing in cell.standings.items():
            counts[standing.appearance.name][kind] += 1
    return [(APPEARANCES[name], of_kind) for name, of_kind in counts.items() if any(of_kind.values())]


def releases_of(sources: Sources, cells: Mapping[Key, ReportedCell]) -> list[TestedRelease]:
    """Return what the night tested; without its document, the newest release that history knows of each framework."""
    if sources.night:
        releases = sources.night.releases
        return [
            TestedRelease(name, releases[name].request, releases[name].version, problem_of(releases[name]))
            for name in _in_order(releases)
        ]
    newest: dict[str, CellResult] = {}
    for cell in cells.values():
        for result in cell.results:
            if result.release and (cell.framework not in newest or result.created > newest[cell.framework].created):
                newest[cell.framework] = result
    return [TestedRelease(name, None, newest[name].release, None) for name in _in_order(newest)]


def failures_of(sources: Sources, cells: Mapping[Key, ReportedCell]) -> list[EndedCell]:
    """Return what failed in the night that is shown, the dearest first."""
    if sources.night:
        failures = [
            EndedCell(key_of(row), row.kind, row.verdict, row.reason or "", row.seconds)
            for row in sources.night.cells
            if row.is_failed and row.verdict is not None
        ]
    else:
        failures = [
            EndedCell(cell.key, result.kind, result.verdict, result.reason or "", result.seconds)
            for cell in cells.values()
            for result in cell.results
            if result.is_clean and result.night is not None and result.night == sources.night_id
            and appearance_of(result.verdict).name == FAILED
        ]  # fmt: skip
    return sorted(failures, key=lambda ended: (-(ended.seconds or 0.0), ended.key, ended.kind))


def left_of(sources: Sources) -> list[EndedCell]:
    """Return what the night planned and did not run."""
    if not sources.night:
        return []
    return [
        EndedCell(key_of(row), row.kind, row.status, row.reason or row.chosen, None)
        for row in sources.night.cells
        if not row.is_done
    ]
