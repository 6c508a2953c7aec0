"""Tonight at a glance: the heat map, the counts, what needs a look, what failed and what that cost, what was left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.site.appearance import APPEARANCES, FAILED, OTHER, Appearance, appearance_of, verdict_in
from reports.site.cell_results import KINDS, CellResult, Key
from reports.site.sources import Sources
from reports.site.standing import ReportedCell, Standing, key_of, problem_of
from vigil.documents.context import FRAMEWORKS
from vigil.documents.night import REPRODUCE, CellKind
from vigil.documents.verdict import Verdict
from vigil.statistics.discoveries import expected_alarms

ATTENTION = (Verdict.REGRESSED.value, Verdict.BETTER.value, FAILED, OTHER)  # appearances, the worst first


@dataclass(frozen=True)
class HeatRows:
    """The heat map's rows of one framework: each a context, and for each column the cell or None."""

    framework: str
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


def columns_of(cells: Mapping[Key, ReportedCell]) -> list[tuple[str, str]]:
    """Return the heat map's columns: recipe and profile, `quick` before the others."""
    return sorted({key[:2] for key in cells}, key=lambda column: (column[0], column[1] != "quick", column[1]))


def groups_of(cells: Mapping[Key, ReportedCell]) -> list[HeatRows]:
    """Return the heat map's rows, the known frameworks first."""
    frameworks = {cell.framework for cell in cells.values()}
    order = [name for name in FRAMEWORKS if name in frameworks] + sorted(frameworks - set(FRAMEWORKS))
    columns = columns_of(cells)
    groups = []
    for framework in order:
        contexts = sorted({key[2] for key, cell in cells.items() if cell.framework == framework})
        groups.append(HeatRows(framework, [(text, [cells.get((*column, text)) for column in columns]) for text in contexts]))
    return groups


def counts_of(cells: Mapping[Key, ReportedCell]) -> list[tuple[Appearance, dict[CellKind, int]]]:
    """Return how many cells stand how, of each kind; what does not occur is left out."""
    counts = {name: dict.fromkeys(KINDS, 0) for name in APPEARANCES}
    for cell in cells.values():
        for kind, standing in cell.standings.items():
            counts[standing.appearance.name][kind] += 1
    return [(APPEARANCES[name], of_kind) for name, of_kind in counts.items() if any(of_kind.values())]


def attention(cells: Mapping[Key, ReportedCell]) -> list[tuple[ReportedCell, CellKind, Standing]]:
    """Return what needs a look, the worst first. What was wrong and has not run since is at the end, and is not forgotten."""
    wanting = [
        (cell, kind, standing)
        for cell in cells.values()
        for kind, standing in cell.standings.items()
        if appearance_of(standing.verdict).name in ATTENTION
    ]

    def rank(entry: tuple[ReportedCell, CellKind, Standing]) -> tuple[bool, int, Key, str]:
        cell, kind, standing = entry
        return bool(standing.stale), ATTENTION.index(appearance_of(standing.verdict).name), cell.key, kind

    return sorted(wanting, key=rank)


def expected_by_chance(cells: Mapping[Key, ReportedCell]) -> tuple[int, float]:
    """Return how many reproductions are judged, and how many of them chance puts outside their bands."""
    standings = [cell.standings[REPRODUCE] for cell in cells.values()]
    judged = sum(_is_judged(standing.verdict) and not standing.stale for standing in standings)
    return judged, expected_alarms(judged)


def _is_judged(text: str) -> bool:
    verdict = verdict_in(text)
    return verdict is not None and verdict.is_judged


def releases_of(sources: Sources, cells: Mapping[Key, ReportedCell]) -> list[TestedRelease]:
    """Return what the night tested; without its document, the newest release that history knows of each framework."""
    if sources.night:
        return [
            TestedRelease(name, release.request, release.version, problem_of(release))
            for name, release in sorted(sources.night.releases.items())
        ]
    newest: dict[str, CellResult] = {}
    for cell in cells.values():
        for result in cell.results:
            if result.release and (cell.framework not in newest or result.created > newest[cell.framework].created):
                newest[cell.framework] = result
    return [TestedRelease(name, None, result.release, None) for name, result in sorted(newest.items())]


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
