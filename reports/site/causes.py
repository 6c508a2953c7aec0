"""What needs a look, one row a cause: what is wrong of each cell, joined by framework, beginning, and what the cells share.

A release that breaks bf16 in sixty cells is one cause and not sixty. Looks (a night's verdicts) and drift (many nights together)
of one cell are joined first. Then cells of one framework that went wrong alike, between the same nights, are laid under the
fewest descriptions such as "bf16" or "resnet_cifar, compile" that most of them answer to. What is left alone, and chance would
bring about as often, is kept apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import scipy

from reports.site.appearance import APPEARANCES, FAILED, OTHER, Appearance, appearance_of
from reports.site.cell_drift import DriftLine, SiteDrift
from reports.site.cell_results import CellResult, Key
from reports.site.sources import Sources
from reports.site.standing import ReportedCell, Standing, public
from vigil.documents.night import REPRODUCE, VERIFY, CellKind
from vigil.documents.verdict import Verdict
from vigil.drift.findings import EVERY
from vigil.statistics.discoveries import FALSE_ALARMS, FALSE_DISCOVERIES, adjusted
from vigil.tracking.history_rows import VerificationRow

ATTENTION = (Verdict.REGRESSED.value, Verdict.BETTER.value, FAILED, OTHER)
STEP, WORSE, BETTER, MOVED = "wrong step", "worse", "better", "moved"
# The surest first: a wrong step is beyond rounding, a failure is a fact, a number has its chance.
_ORDER = (STEP, WORSE, FAILED, BETTER, MOVED, OTHER)
_LIKE = {STEP: Verdict.REGRESSED.value, WORSE: Verdict.REGRESSED.value, BETTER: Verdict.BETTER.value, MOVED: OTHER}
_FIELDS = ("recipe", "mode", "precision", "devices")
# Of the cells that a description holds, so many must be wrong: more than half, or two causes could have one description.
# Measured (`python -m benchmarks.cause_settings`, 2026-11-24): of causes of 5 sd in four of five cells 100 % are told right at
# 0.6, 94 % at 0.7, 67 % at 0.8; of 4 sd 72, 67 and 58 %. Where every cell is broken, 0.5 to 0.7 differ by less than the draws do.
_MOST_OF = 0.6
# Nights by which a cell's number may show later, or earlier, what its siblings' show. The same measurement: of causes of 4 sd in
# every cell 69 % are told right at 0, 78 % at 2 and 3, with 2.6, 1.5 and 0.9 rows too many. From 3 on nothing changes.
_LATE = 3
_CERTAIN_P = 1e-12


@dataclass(frozen=True)
class Begin:
    """Where something began: numbers into the nights of the report. night: None where it was so all along, or is not known."""

    night: int | None = None
    low: int | None = None
    high: int | None = None
    release: str | None = None
    before: str | None = None

    @property
    def is_of_release(self) -> bool:
        """Did another release begin with it?"""
        return bool(self.release and self.before and public(self.release) != public(self.before))

    @property
    def change(self) -> tuple[str | None, str | None] | None:
        """The releases before and after, where they differ."""
        return (public(self.before), public(self.release)) if self.is_of_release else None


@dataclass(frozen=True)
class Trouble:
    """What is wrong with one cell in one way. key: None for cells pooled. p: that chance did it, where that can be said.

    kinds: how the looks stand that show it. found: what drift found of it. stale: nothing of it is of today.
    """

    key: Key | None
    framework: str
    sort: str
    begin: Begin
    kinds: Mapping[CellKind, Standing]
    found: DriftLine | None
    measured: VerificationRow | None
    p: float | None
    stale: bool
    nights_wrong: int = 1
    nights: int = 1

    @property
    def size(self) -> float:
        """How far it is off, to tell the worst: in standard deviations, or in what is accepted."""
        if self.measured is not None and self.measured.worst_score is not None:
            return abs(self.measured.worst_score)
        if self.found is not None and self.found.drift is not None and math.isfinite(self.found.drift.size_sd):
            return abs(self.found.drift.size_sd)
        return 0.0


@dataclass(frozen=True)
class Cause:
    """One row: troubles that are told as one, the worst first. of: how many cells answer to the description; 0 for none of it."""

    sort: str
    framework: str
    troubles: tuple[Trouble, ...]
    begin: Begin
    shared: Mapping[str, str]
    of: int
    pools: tuple[Trouble, ...] = ()
    problem: str | None = None

    @property
    def lead(self) -> Trouble:
        return self.troubles[0]

    @property
    def keys(self) -> list[Key]:
        """Its cells."""
        return [each.key for each in self.troubles if each.key is not None]

    @property
    def is_stale(self) -> bool:
        return bool(self.troubles) and all(each.stale for each in self.troubles)

    @property
    def appearance(self) -> Appearance:
        return APPEARANCES[_LIKE.get(self.sort, self.sort)]

    @property
    def word(self) -> str:
        return self.sort if self.sort not in (FAILED, OTHER) else self.appearance.word


@dataclass(frozen=True)
class Nights:
    """The nights of a history in the order of time, and the number of each. began: when the first result of each was made."""

    names: tuple[str, ...]
    began: Mapping[str, datetime]

    def day(self, name: str) -> str:
        """Return the day on which a night began; nothing where it has no result."""
        when = self.began.get(name)
        return f"{when:%b} {when.day}" if when is not None else ""

    @cached_property
    def number(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}


@dataclass(frozen=True)
class Found:
    """All causes, the surest first; those that are no surer than chance; what this night found right again; and the nights.

    judged, outside: reproductions that a band judged, and how many of them lie outside.
    """

    causes: tuple[Cause, ...]
    by_chance: tuple[Cause, ...]
    fixed: tuple[Cause, ...]
    nights: Nights
    judged: int
    outside: int


def nights_of(cells: Mapping[Key, ReportedCell], *, shown: str | None) -> Nights:
    """Return every night that a result names, by its first result, and the one that is shown."""
    began: dict[str, datetime] = {}
    for cell in cells.values():
        for result in cell.results:
            if result.night is not None and (result.night not in began or result.created < began[result.night]):
                began[result.night] = result.created
    names = sorted(began, key=lambda name: (began[name], name))
    return Nights((*names, shown) if shown is not None and shown not in began else tuple(names), began)


def causes_of(sources: Sources, cells: Mapping[Key, ReportedCell], drifts: SiteDrift) -> Found:
    """Return what needs a look, joined by cause."""
    nights = nights_of(cells, shown=sources.night_id)
    judged = {cell.key: p for cell in cells.values() if (p := _chance_of(cell)) is not None}
    stands = _standing(sources, cells, judged)
    of_cell = {key: _of_cell(cell, drifts, nights, judged.get(key)) for key, cell in cells.items()}
    sure: list[Trouble] = []
    unsure: list[Trouble] = []
    for key, troubles in of_cell.items():
        for each in troubles:
            (sure if _is_sure(each, key in stands) else unsure).append(each)
    pools = [_pool(each, drifts, nights) for each in drifts.findings if each.key is None]
    causes = _with_stragglers([cause for group in _alike(sure) for cause in _described(group, cells)])
    causes, alone = _held_to_chance(causes, drifts)
    unsure_causes = [Cause(each.sort, each.framework, (each,), each.begin, {}, 0) for each in unsure]
    wrong = {key for each in causes for key in each.keys}
    outside = sum(_is_outside(cell.standings[REPRODUCE]) for cell in cells.values())
    return Found(
        causes=tuple(sorted([*_with_pools(causes, pools), *_environments(sources, nights)], key=_rank)),
        by_chance=tuple(sorted([*alone, *unsure_causes], key=_rank)),
        fixed=tuple(_fixed(cells, sources.night_id, nights, but=wrong)),
        nights=nights,
        judged=len(judged),
        outside=outside,
    )


def _of_cell(cell: ReportedCell, drifts: SiteDrift, nights: Nights, p: float | None) -> list[Trouble]:
    """Return what is wrong with a cell: a number or a step in one way, what failed in another."""
    wrong = {kind: each for kind, each in cell.standings.items() if appearance_of(each.verdict).name in ATTENTION}
    found = next((each for each in drifts.by_key.get(cell.key, ()) if each.drift is not None), None)
    move = next((each for each in drifts.by_key.get(cell.key, ()) if each.drift is None), None)
    gap = next((each for each in drifts.gaps_by_key.get(cell.key, ())), None)
    troubles = []
    failed = {kind: each for kind, each in wrong.items() if appearance_of(each.verdict).name == FAILED}
    other = {kind: each for kind, each in wrong.items() if appearance_of(each.verdict).name == OTHER}
    values = {kind: each for kind, each in wrong.items() if kind not in failed and kind not in other}
    if values or found or move:
        troubles.append(_numbers(cell, values, found, move, nights, p))
    for sort, kinds in ((FAILED, failed), (OTHER, other)):
        if kinds or (sort == FAILED and gap and not wrong):
            troubles.append(_ended(cell, sort, kinds, gap if sort == FAILED else None, nights))
    return troubles


def _numbers(
    cell: ReportedCell,
    values: Mapping[CellKind, Standing],
    found: DriftLine | None,
    move: DriftLine | None,
    nights: Nights,
    p: float | None,
) -> Trouble:
    """Return what is wrong with a cell's numbers. A step that is wrong says more than a metric that is off."""
    step = values.get(VERIFY)
    # The verification before the first seed may have found what no whole one has yet looked at.
    rung = _last_wrong_step(cell) if REPRODUCE in values or move else None
    measured, has_step = None, False
    if (step is not None and appearance_of(step.verdict).name == Verdict.REGRESSED) or rung is not None or move is not None:
        streak = _streak(cell, VERIFY, nights, name=Verdict.REGRESSED.value)
        has_step = True
        measured = next((each.measured for each in reversed(cell.results) if _is_wrong_step(each)), None)
        begin, wrong, seen = streak
        if begin.night is None and found is not None:
            begin = _of_drift(found, nights)
        sort = STEP
    elif found is not None and found.drift is not None:
        begin, wrong, seen = _of_drift(found, nights), *_counted(cell, found, nights)
        sort = {True: WORSE, False: BETTER, None: MOVED}[found.drift.worse]
    else:
        name = appearance_of(values[REPRODUCE].verdict).name
        begin, wrong, seen = _streak(cell, REPRODUCE, nights, name=name)
        sort = WORSE if name == Verdict.REGRESSED else BETTER
    return Trouble(
        key=cell.key,
        framework=cell.framework,
        sort=sort,
        begin=begin,
        kinds=values,
        found=found or move,
        measured=measured,
        p=None if has_step else found.drift.p if found is not None and found.drift is not None else p,
        stale=bool(values) and all(each.stale for each in values.values()) and found is None and move is None,
        nights_wrong=wrong,
        nights=seen,
    )


def _ended(cell: ReportedCell, sort: str, kinds: Mapping[CellKind, Standing], gap: DriftLine | None, nights: Nights) -> Trouble:
    """Return what ended a cell without a number, or that it gives none any more."""
    begin, wrong, seen = Begin(), 1, 1
    for kind in kinds:
        name = appearance_of(kinds[kind].verdict).name
        begin, wrong, seen = _streak(cell, kind, nights, name=name)
    if not kinds and gap is not None:
        last = nights.number.get(gap.line.since)
        begin = Begin(last, last, last)
    stale = bool(kinds) and all(each.stale for each in kinds.values())
    return Trouble(cell.key, cell.framework, sort, begin, kinds, gap, None, None, stale, wrong, seen)


def _streak(cell: ReportedCell, kind: CellKind, nights: Nights, *, name: str) -> tuple[Begin, int, int]:
    """Return where the last unbroken row of results of this appearance began, and in how many of how many nights it was so."""
    results = cell.clean(kind)
    first, before = None, None
    for each in reversed(results):
        if appearance_of(each.verdict).name == name:
            first = each
        elif first is None or appearance_of(each.verdict).name == Verdict.UNKNOWN:
            continue
        else:
            before = each
            break
    wrong = sum(appearance_of(each.verdict).name == name for each in results)
    if first is None:
        return Begin(), wrong, len(results)
    night = nights.number.get(first.night) if first.night else None
    low = nights.number.get(before.night) if before is not None and before.night else None
    low = night if low is None or night is None else min(low + 1, night)
    release_before = before.release if before is not None else None
    if before is None:  # so all along: no night and no release brought it, as far as is known
        return (
            (Begin(night, night, night, first.release, None) if len(results) == 1 else Begin(release=first.release)),
            wrong,
            len(results),
        )
    return Begin(night, low, night, first.release, release_before), wrong, len(results)


def _of_drift(found: DriftLine, nights: Nights) -> Begin:
    drift, mark = found.drift, found.mark
    if drift is None or mark is None:
        return Begin()
    low, here, high = (nights.number.get(name) for name in (mark.low, mark.night, mark.high))
    return Begin(here, low, high, drift.since.release, drift.since.release_before)


def _counted(cell: ReportedCell, found: DriftLine, nights: Nights) -> tuple[int, int]:
    """Return the nights since a drift began, and all of them."""
    of_cell = sorted({nights.number[each.night] for each in cell.results if each.night and each.kind == REPRODUCE})
    begin = _of_drift(found, nights).night
    return (len(of_cell) if begin is None else sum(each >= begin for each in of_cell)), len(of_cell)


def _pool(found: DriftLine, drifts: SiteDrift, nights: Nights) -> Trouble:
    worse = found.drift.worse if found.drift is not None else None
    sort = {True: WORSE, False: BETTER, None: MOVED}[worse]
    p = found.drift.p if found.drift is not None else None
    return Trouble(None, found.framework, sort, _of_drift(found, nights), {}, found, None, p, False)


def _is_wrong_step(result: CellResult) -> bool:
    return result.kind == VERIFY and result.is_clean and result.verdict == Verdict.REGRESSED


def _last_wrong_step(cell: ReportedCell) -> CellResult | None:
    """Return the newest verification of a training step, if it found one wrong."""
    last = cell.newest(VERIFY)
    return last if last is not None and _is_wrong_step(last) else None


def _is_outside(standing: Standing) -> bool:
    name = appearance_of(standing.verdict).name
    return not standing.stale and name in (Verdict.REGRESSED, Verdict.BETTER)


def _chance_of(cell: ReportedCell) -> float | None:
    """Return how likely chance puts the newest runs so far from the middle of their band; None for what no band judged.

    Of a normal value: history holds a band and not how many samples it was made from. So it is a little too sure, and a
    night's own document, which knows better, comes before it.
    """
    standing = cell.standings[REPRODUCE]
    if standing.stale or appearance_of(standing.verdict).name not in (Verdict.REPRODUCED, *ATTENTION[:2]):
        return None
    newest = cell.newest(REPRODUCE)
    banded = [run for run in newest.runs if None not in (run.value, run.band_low, run.band_high)] if newest else []
    if not banded:
        return None
    low, high = banded[0].band_low, banded[0].band_high
    if low is None or high is None or not high > low:
        return None
    values = [run.value for run in banded if run.value is not None]
    z = abs(math.fsum(values) / len(values) - (low + high) / 2) / ((high - low) / 2)
    return float(2 * scipy.stats.norm.sf(z * scipy.stats.norm.isf(FALSE_ALARMS / 2) * math.sqrt(len(values))))


def _standing(sources: Sources, cells: Mapping[Key, ReportedCell], judged: Mapping[Key, float]) -> set[Key]:
    """Return the cells whose number of this night stands against chance among all that were judged."""
    known = {}
    for row in sources.night.cells if sources.night else ():
        if row.kind == REPRODUCE and row.stands is not None:
            known[row.recipe, row.profile, row.context.text] = row.stands
    keys = list(judged)
    q_values = dict(zip(keys, adjusted([judged[key] for key in keys]), strict=True))
    return {key for key in cells if known.get(key, q_values.get(key, 0.0) <= FALSE_DISCOVERIES)}


def _is_sure(trouble: Trouble, stands: bool) -> bool:
    """Is it more than one number outside its band, as chance puts one in a hundred?"""
    if trouble.sort in (STEP, FAILED, OTHER) or trouble.found is not None:
        return True
    return stands


def _alike(troubles: Iterable[Trouble]) -> list[list[Trouble]]:
    """Return troubles by framework and sort, and those of each that began between the same nights or with the same release."""
    groups: list[list[Trouble]] = []
    kinds: dict[tuple[str, str, bool], list[Trouble]] = {}
    for each in troubles:
        kinds.setdefault((each.framework, each.sort, each.stale), []).append(each)
    for left in kinds.values():
        while left:
            centre = max(left, key=lambda one: (sum(_together(one.begin, each.begin) for each in left), one.size))
            group = [each for each in left if each is centre or _together(centre.begin, each.begin)]
            groups.append(group)
            left = [each for each in left if each not in group]
    return groups


def _together(one: Begin, other: Begin) -> bool:
    """May they have begun at one time?"""
    if one.change is not None and one.change == other.change:
        return True
    if one.night is None or other.night is None:
        return one.night is other.night and one.change == other.change
    low, high = one.low if one.low is not None else one.night, one.high if one.high is not None else one.night
    low_other = other.low if other.low is not None else other.night
    high_other = other.high if other.high is not None else other.night
    return low <= high_other and low_other <= high


def _described(group: Sequence[Trouble], cells: Mapping[Key, ReportedCell]) -> list[Cause]:
    """Return the fewest causes whose descriptions hold a group: the one that holds the most first, and what is left alone."""
    framework = group[0].framework
    family = [key for key, cell in cells.items() if cell.framework == framework and is_looked_at(cell)]
    left, causes = list(group), []
    while len(left) > 1:
        wrong = {each.key for each in left}
        best: tuple[tuple[float, ...], dict[str, str]] | None = None
        for names in itertools.chain.from_iterable(itertools.combinations(_FIELDS, n) for n in range(len(_FIELDS) + 1)):
            for values in {tuple(_field(each.key, name) for name in names) for each in left if each.key is not None}:
                chosen = dict(zip(names, values, strict=True))
                held = [key for key in family if _answers(key, chosen)]
                hit = sum(key in wrong for key in held)
                if hit > 1 and hit >= _MOST_OF * len(held):
                    score = (hit, hit / len(held), -len(names))
                    if best is None or score > best[0]:
                        best = score, chosen
        if best is None:
            break
        chosen = best[1]
        held = [key for key in family if _answers(key, chosen)]
        joined = [each for each in left if each.key in held]
        causes.append(_cause(joined, chosen, len(held)))
        left = [each for each in left if each.key not in held]
    return [*causes, *(_cause([each], {}, 0) for each in left)]


def is_looked_at(cell: ReportedCell) -> bool:
    """Has it any result of today? A cell that was not looked at is no sibling that is fine."""
    return any(each.when is not None and not each.stale for each in cell.standings.values()) or any(
        appearance_of(each.verdict).name in ATTENTION for each in cell.standings.values()
    )


def _answers(key: Key, description: Mapping[str, str]) -> bool:
    return all(_field(key, name) == value for name, value in description.items())


def _field(key: Key | None, name: str) -> str:
    """Return what a cell has of a field of its description; a context's text is framework-mode-precision-xN and what is rare."""
    if key is None:
        return ""
    if name == "recipe":
        return key[0]
    _, mode, precision, rest = (*key[2].split("-", 3), "", "", "", "")[:4]
    return {"mode": mode, "precision": precision, "devices": rest}[name]


def _cause(troubles: Sequence[Trouble], shared: Mapping[str, str], of: int) -> Cause:
    ordered = sorted(troubles, key=lambda each: (-each.size, each.key or ("", "", "")))
    return Cause(ordered[0].sort, ordered[0].framework, tuple(ordered), _when(ordered), shared, of)


def _when(troubles: Sequence[Trouble]) -> Begin:
    """Return where troubles began together: most say the same night; of nights that as many say, the surest trouble's."""
    known = [each.begin for each in troubles if each.begin.night is not None]
    if not known:
        return troubles[0].begin
    counts = {begin.night: sum(each.night == begin.night for each in known) for begin in known}
    return max(known, key=lambda begin: counts[begin.night])


def _with_stragglers(causes: Sequence[Cause]) -> list[Cause]:
    """Return causes, with those that take in single cells whose number went out some nights before or after the others'.

    A number may lie inside its band a night or two after what moved it. A step that is wrong is so from its first night on.
    """
    taken: dict[int, list[Trouble]] = {}
    own = []
    for each in causes:
        into = None
        if len(each.troubles) == 1 and each.sort in (WORSE, BETTER):
            into = next((place for place, other in enumerate(causes) if _takes_in(other, each.lead)), None)
        if into is None:
            own.append(each)
        else:
            taken.setdefault(into, []).append(each.lead)
    places = {id(each): place for place, each in enumerate(causes)}
    return [
        _cause([*each.troubles, *taken[place]], each.shared, each.of) if (place := places[id(each)]) in taken else each
        for each in own
    ]


def _takes_in(cause: Cause, single: Trouble) -> bool:
    if len(cause.troubles) == 1 or (cause.sort, cause.framework, cause.is_stale) != (single.sort, single.framework, single.stale):
        return False
    if single.key is None or not _answers(single.key, cause.shared) or None in (cause.begin.night, single.begin.night):
        return False
    return abs((cause.begin.night or 0) - (single.begin.night or 0)) <= _LATE


def _held_to_chance(causes: Sequence[Cause], drifts: SiteDrift) -> tuple[list[Cause], list[Cause]]:
    """Return causes that stand, and drifts of single cells that do not once the cells of larger causes are taken out.

    Of sixty true findings three more are false at a rate of 5 %. Beside one cause of sixty cells they would be three rows.
    """
    alone = [
        each for each in causes if len(each.troubles) == 1 and each.lead.found and each.lead.p is not None and not each.lead.kinds
    ]
    together = {key for each in causes if each not in alone for key in each.keys}
    p_values = {key: seen.p for key, seen in drifts.seen.items() if seen.p is not None and key not in together}
    keys = list(p_values)
    q_values = dict(zip(keys, adjusted([p_values[key] for key in keys]), strict=True))
    chance = [each for each in alone if q_values.get(each.keys[0], 0.0) > FALSE_DISCOVERIES]
    return [each for each in causes if each not in chance], chance


def _with_pools(causes: Sequence[Cause], pools: Sequence[Trouble]) -> list[Cause]:
    """Return causes with the pooled findings that they explain; a pool that none explains is a cause."""
    taken: dict[int, list[Trouble]] = {}
    own = []
    for pool in pools:
        parts = [
            index
            for index, each in enumerate(causes)
            if len(each.keys) > 1 and pool.framework in (each.framework, EVERY) and _may_explain(each, pool)
        ]
        for index in parts:
            taken.setdefault(index, []).append(pool)
        if not parts:
            own.append(Cause(pool.sort, pool.framework, (pool,), pool.begin, {}, 0))
    joined = [
        Cause(each.sort, each.framework, each.troubles, each.begin, each.shared, each.of, tuple(taken.get(index, ())))
        for index, each in enumerate(causes)
    ]
    return [*joined, *own]


def _may_explain(cause: Cause, pool: Trouble) -> bool:
    """Does a pool move with the cells of a cause, at the same time and to the same side?"""
    drift = pool.found.drift if pool.found else None
    own = cause.lead.found.drift if cause.lead.found else None
    is_alike = own is None or drift is None or (own.size < 0) == (drift.size < 0)
    return is_alike and (pool.begin.night is None or cause.begin.night is None or _together(cause.begin, pool.begin))


def _environments(sources: Sources, nights: Nights) -> list[Cause]:
    """Return a cause for each release that the night could not test."""
    night = sources.night
    found = []
    for name, release in sorted(night.releases.items()) if night else ():
        if release.error:
            begin = Begin(nights.number.get(night.id) if night else None, release=release.version)
            found.append(Cause(FAILED, name, (), begin, {}, 0, problem=release.error.reason))
    return found


def _fixed(cells: Mapping[Key, ReportedCell], night: str | None, nights: Nights, *, but: set[Key]) -> list[Cause]:
    """Return what the night found right and was wrong before, by cause: a number twice, for one may be chance.

    Args:
        but: cells that are wrong now in another way.
    """
    found: dict[tuple[Key, bool], Trouble] = {}
    for key, cell in cells.items():
        for kind, standing in cell.standings.items() if night is not None and key not in but else ():
            results = cell.clean(kind)
            if standing.verdict != Verdict.REPRODUCED or standing.stale or not results or results[-1].night != night:
                continue
            before = [appearance_of(each.verdict).name for each in results[:-1]][-2:]
            needed = 2 if kind == REPRODUCE and before[-1:] != [FAILED] else 1
            if len(before) < needed or any(name not in ATTENTION for name in before[-needed:]):
                continue
            name = before[-1]
            sort = name if name in (FAILED, OTHER) else STEP if kind == VERIFY else WORSE if name == Verdict.REGRESSED else BETTER
            begin, wrong, seen = _streak(cell, kind, nights, name=name)
            trouble = Trouble(key, cell.framework, sort, begin, {kind: standing}, None, None, None, False, wrong, seen)
            if sort == STEP:  # it said more than the number that went wrong with it
                found[key, False] = trouble
            else:
                found.setdefault((key, sort in (FAILED, OTHER)), trouble)
    return [cause for group in _alike(found.values()) for cause in _described(group, cells)]


def _rank(cause: Cause) -> tuple[bool, int, float, int, float, str]:
    """Order causes: those of today, by sort, by how sure, by how many cells."""
    p_values = [each.p for each in (*cause.troubles, *cause.pools) if each.p is not None]
    sure = min(p_values, default=0.0)
    name = str(cause.keys[:1] or cause.framework)
    return (
        cause.is_stale,
        _ORDER.index(cause.sort),
        round(math.log10(max(sure, _CERTAIN_P))),
        -len(cause.keys),
        -(cause.lead.size if cause.troubles else 0.0),
        name,
    )


def where_of(cause: Cause) -> str:
    """Return where a cause is, in words: its cell, or what its cells share and how many they are."""
    if cause.problem is not None:
        return f"{cause.framework}: the release cannot be tested"
    if not cause.keys:
        return cause.lead.found.line.cell if cause.lead.found else cause.framework
    if len(cause.keys) == 1:
        return " ".join((cause.keys[0][0], cause.keys[0][2]))
    shared = ", ".join(value for value in cause.shared.values())
    whole = f"all {cause.of}" if len(cause.keys) == cause.of else f"{len(cause.keys)} of {cause.of}"
    return f"{cause.framework}{f', {shared}' if shared else ''}: {whole} cells"


def families(cause: Cause, cells: Mapping[Key, ReportedCell], found: Sequence[Cause]) -> tuple[list[str], list[str]]:
    """Return the other frameworks with cells of a cause's description: those that are clean there, and those wrong as it is.

    One in which some of these cells are wrong, of another cause, is neither.
    """
    is_alone = len(cause.keys) == 1
    chosen = {name: _field(cause.lead.key, name) for name in _FIELDS} if is_alone else cause.shared
    wrong = {key for each in found for key in each.keys}
    together = {key for each in found if each.sort == cause.sort and _together(each.begin, cause.begin) for key in each.keys}
    clean, alike = [], []
    for framework in sorted({cell.framework for cell in cells.values()} - {cause.framework}):
        held = [
            key for key, cell in cells.items() if cell.framework == framework and is_looked_at(cell) and _answers(key, chosen)
        ]
        if held and sum(key in together for key in held) >= _MOST_OF * len(held):
            alike.append(framework)
        elif held and sum(key in wrong for key in held) < (1 - _MOST_OF) * len(held):
            clean.append(framework)
    return clean, alike
