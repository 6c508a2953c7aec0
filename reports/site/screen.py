"""The first screen as `data.json`, and the names that its causes keep from report to report."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence

from reports.site.answer import Answer, CauseRow, Tile
from reports.site.causes import Begin, Cause, Found, Nights, where_of
from reports.site.cell_results import Key
from reports.site.sources import Sources
from reports.site.standing import ReportedCell, public
from reports.site.words import file_name, plain
from vigil.documents.first_screen import (
    FirstScreen,
    ShownAnswer,
    ShownBegin,
    ShownCause,
    ShownCell,
    ShownFinding,
    ShownTile,
)

FIXED = "fixed"


def first_screen(
    sources: Sources,
    cells: Mapping[Key, ReportedCell],
    found: Found,
    rows: Sequence[CauseRow],
    *,
    answer: Answer,
    tiles: Sequence[Tile],
) -> FirstScreen:
    """Return what the first screen says. rows: of the causes, in their order."""
    history = _history(cells)
    return FirstScreen(
        id=_urn(history, []),
        written=sources.now.isoformat(timespec="seconds"),
        night=sources.night_id,
        note=sources.note,
        answer=ShownAnswer(state=answer.name, sentence=answer.title, details=tuple(answer.details)),
        tiles=tuple(_tile(each) for each in tiles),
        causes=tuple(_cause(cause, row, found.nights, history) for cause, row in zip(found.causes, rows, strict=True)),
        fixed=tuple(_fixed(cause, found.nights, history) for cause in found.fixed),
    )


def _tile(tile: Tile) -> ShownTile:
    told = tuple(word for _, word in tile.counts)
    return ShownTile(framework=tile.framework, release=tile.release, since=tile.since, told=told)


def _cause(cause: Cause, row: CauseRow, nights: Nights, history: uuid.UUID) -> ShownCause:
    return ShownCause(
        id=_urn(history, _place(cause)),
        state=row.state or None,
        word=row.word,
        framework=cause.framework,
        where=row.where,
        what=f"{row.bold}{row.what}",
        told=row.told,
        since=_begin(cause.begin, nights, ", ".join(part for part in (row.since, row.change) if part)),
        sure=row.sure,
        command=row.command,
        search=row.known.search,
        known=tuple(ShownFinding(name=each.name, evidence=each.evidence) for each in row.known.findings),
        cells=_cells(cause),
    )


def _fixed(cause: Cause, nights: Nights, history: uuid.UUID) -> ShownCause:
    return ShownCause(
        id=_urn(history, _place(cause)),
        state=FIXED,
        word=plain(cause.word),
        framework=cause.framework,
        where=plain(where_of(cause)),
        what="",
        told="",
        since=_begin(cause.begin, nights, ""),
        sure="",
        command=None,
        search=None,
        known=(),
        cells=_cells(cause),
    )


def _cells(cause: Cause) -> tuple[ShownCell, ...]:
    return tuple(
        ShownCell(recipe=key[0], profile=key[1], context=key[2], page=f"cells/{file_name(*key)}.html") for key in cause.keys
    )


def _begin(begin: Begin, nights: Nights, told: str) -> ShownBegin:
    night = nights.names[begin.night] if begin.night is not None else None
    began = nights.began.get(night) if night is not None else None
    return ShownBegin(
        told=told,
        night=night,
        began=began.isoformat(timespec="seconds") if began is not None else None,
        release=public(begin.release),
        before=public(begin.before) if begin.is_of_release else None,
    )


def _place(cause: Cause) -> list[str]:
    """Return what a cause is known by from report to report: what is wrong, and the cells, by what they share.

    No two have it: more than half of the cells that answer to a description are in its cause, and a cell is wrong in one way of a
    sort. When it began is not of it, for that is an estimate which later nights make better.
    """
    if len(cause.keys) == 1:
        return [cause.framework, cause.sort, *cause.keys[0]]
    if cause.keys:
        return [cause.framework, cause.sort, *(f"{name}={value}" for name, value in sorted(cause.shared.items()))]
    pool = cause.lead.found.line.cell if cause.troubles and cause.lead.found else "release"
    return [cause.framework, cause.sort, pool]


def _history(cells: Mapping[Key, ReportedCell]) -> uuid.UUID:
    """Return what tells one history from others: its first result, which stays the first."""
    results = (result for cell in cells.values() for result in cell.results)
    first = min(results, key=lambda each: (each.created, each.identity), default=None)
    return uuid.uuid5(uuid.NAMESPACE_OID, f"vigil {first.identity if first else ''}")


def _urn(history: uuid.UUID, place: Sequence[str]) -> str:
    return uuid.uuid5(history, json.dumps(place)).urn
