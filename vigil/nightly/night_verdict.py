"""The verdict of a night: which numbers outside their bands are more than chance among so many.

A band lets one right run in a hundred fall outside. Over a night's reproductions the share of false alarms among those that are
called wrong is held to 5 % by Benjamini and Hochberg's procedure (doi:10.1111/j.2517-6161.1995.tb02031.x) on the verdicts' p
values. Cells of one seed share weights and batches, so their p values depend on each other positively, under which the procedure
still holds (Benjamini and Yekutieli, doi:10.1214/aos/1013699998).
"""

from __future__ import annotations

from collections.abc import Iterable

import scipy

from vigil.documents.night import LEFT, REPRODUCE, CellRow, LostTime, Night, NightVerdict, StepRow
from vigil.documents.verdict import Verdict
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN
from vigil.failures.categories import CATEGORIES
from vigil.failures.past import triage_of
from vigil.nightly.cells import cell_of
from vigil.nightly.ledger import Ledger

FALSE_ALARMS = 0.01
FALSE_DISCOVERIES = 0.05
# A wrong number is worse than one that is missing, and both are worse than one that nothing is known of.
WORST_FIRST = (EXIT_OUTSIDE, EXIT_COULD_NOT_RUN, EXIT_UNKNOWN, EXIT_REPRODUCED)


def judge_night(night: Night, ledger: Ledger) -> Night:
    """Return a night with its verdict, with what stands of cells that it left, and in its rows which of those outside stand.

    A number stands without regard to the others where it has no p value, and where the last look, same release, was outside
    on the same side with other seeds: twice running is no chance. With seeds of the last look it stands as it did then, for it is
    the same evidence, unless it is further out than that night's numbers allowed. A verification's limits are not drawn from a
    distribution: it always stands.
    """
    # What is held to printed digits has none: chance has no part in it.
    p_values = {row.key: row.p_value for row in night.rows if _is_judged(row) and row.p_value is not None}
    adjusted = scipy.stats.false_discovery_control(list(p_values.values()), method="bh") if p_values else []
    is_beyond = {key: bool(value <= FALSE_DISCOVERIES) for key, value in zip(p_values, adjusted, strict=True)}

    def with_stand(row: CellRow) -> CellRow:
        if row.verdict is None or not row.is_outside:
            return row
        stands = row.kind != REPRODUCE or is_beyond.get(row.key, True)
        last = ledger.outside_before(cell_of(row), verdict=row.verdict, release=night.release_of(row).version)
        if last is not None and row.kind == REPRODUCE:
            if not set(last.seeds) & set(night.seeds):
                stands = True
            elif last.stands is not None and row.p_value is not None:
                stands = last.stands or row.p_value <= FALSE_DISCOVERIES / max(last.judged, 1)
        return row.replace(stands=stands)

    def with_since(row: StepRow) -> StepRow:
        return row.replace(since=ledger.since(cell_of(row), row.verdict) or night.id) if row.is_done and row.verdict else row

    cells = tuple(with_stand(row) for row in night.cells)
    steps = tuple(with_since(row.replace(stands=True) if row.is_outside else row) for row in night.steps)
    rows = (*cells, *steps)
    # What was wrong or failed on this basis, and tonight's budget left, is so still.
    left = [found for row in rows if not row.is_done and (found := ledger.not_fine(cell_of(row), row.basis)) is not None]
    keys = {row.key for row in rows}
    standing = (*(finding for finding in night.standing if finding.key not in keys), *left)
    counts: dict[str, int] = {}
    for row in rows:
        name = row.ended_as or LEFT
        counts[name] = counts.get(name, 0) + 1
    verdict = NightVerdict(
        exit_code=worst([*(code_of(row) for row in rows), *(standing_code(finding.verdict) for finding in standing)]),
        counts=counts,
        judged=len(p_values),
        false_alarms_expected=round(FALSE_ALARMS * len(p_values), 2),
        by_chance=tuple(row.key for row in rows if row.stands is False),
    )
    facts = {"steps": steps} if steps else {}
    lost = lost_time(rows, ledger)
    return night.replace(cells=cells, standing=standing, verdict=verdict, **facts, **({"lost": lost} if lost else {}))


def lost_time(rows: Iterable[CellRow], ledger: Ledger) -> tuple[LostTime, ...]:
    """Return what failures took, by category: what cost most first.

    Each try that failed is a failure. A try again is one after a failure on the same basis, in this night or the one before; it
    stands with the category of that failure, and was useless where it failed too.
    """
    failures: dict[str, list[float]] = {}
    again: dict[str, list[bool]] = {}
    for row in rows:
        before = ledger.last(cell_of(row), basis=row.basis)
        category = before.triage.category if before and before.triage else None
        ends: list[tuple[str | None, float]] = [(each.triage.category, each.seconds) for each in row.tries]
        if row.is_done:
            own = (row.seconds or 0.0) - sum(each.seconds for each in row.tries)
            ends.append((triage_of(row).category if row.is_failed else None, own))
        for end, seconds in ends:
            if category is not None:
                again.setdefault(category, []).append(end is not None)
            if end is not None:
                failures.setdefault(end, []).append(seconds)
            category = end
    lost = [
        LostTime(
            category=category,
            name=CATEGORIES[category].name,
            failures=len(failures.get(category, ())),
            seconds=round(sum(failures.get(category, ())), 1),
            tries=len(again.get(category, ())),
            useless=sum(again.get(category, ())),
        )
        for category in failures.keys() | again.keys()
    ]
    return tuple(sorted(lost, key=lambda each: (-each.seconds, -each.failures, each.category)))


def worst(codes: Iterable[int]) -> int:
    """Return the worst of exit codes, 0 for none."""
    present = {EXIT_REPRODUCED, *codes}
    return next(code for code in WORST_FIRST if code in present)


def standing_code(verdict: Verdict) -> int:
    """Return the exit code of what an earlier night has found and nothing has changed since."""
    if verdict.is_failed:
        return EXIT_COULD_NOT_RUN
    return EXIT_UNKNOWN if verdict.is_undecided else EXIT_OUTSIDE


def code_of(row: CellRow) -> int:
    """Return the exit code of one cell of a night; what is left, unsupported, a known finding or chance is no failure."""
    verdict = row.ended_as
    if verdict is None or verdict in (Verdict.UNSUPPORTED, Verdict.KNOWN_FINDING) or (verdict.is_outside and not row.stands):
        return EXIT_REPRODUCED
    return verdict.exit_code


def _is_judged(row: CellRow) -> bool:
    return row.kind == REPRODUCE and row.ended_as is not None and row.ended_as.is_judged
