"""A night from its first line to its last: begun, or gone on with after it was broken off."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import psutil

from vigil.digests import is_listed
from vigil.documents.night import (
    AUDIT,
    LEFT,
    PENDING,
    RUNNING,
    Night,
    NightNarrowing,
    NightRecipe,
    NightRelease,
    StandingFinding,
    StepRow,
)
from vigil.errors import UsageError
from vigil.nightly.again import Again
from vigil.nightly.basis import Bases
from vigil.nightly.bits import bits_of
from vigil.nightly.cell_pool import CellWork, NightClock, run_cells
from vigil.nightly.cells import NightCell, audit_cells, cell_of, night_cells, row_of, step_cells
from vigil.nightly.ledger import DueCell, Ledger
from vigil.nightly.narrowing import Wrong, narrow_all, newly_wrong, reserve
from vigil.nightly.night_file import NightFile, create_night, next_number
from vigil.nightly.night_plan import Estimator, make_plan
from vigil.nightly.night_releases import ReleaseSource, Tell, environments_of, resolve_all
from vigil.nightly.night_verdict import judge_night
from vigil.paths import reference_directory
from vigil.process.side_by_side import available_cores, share_cores
from vigil.recipes.loading import Recipe, recipe_hash
from vigil.steps.verify import framework_of
from vigil.verify.golden import path_of

SEEDS = 16
# The largest peak in the records of clean runs of the quick profiles: PyTorch's tiny_mask_rcnn.
_PEAK_BYTES = int(4.3 * 2**30)
_SHARE_OF_MEMORY = 0.8


@dataclasses.dataclass(frozen=True)
class NightOrder:
    """What is asked of a night. recipes: by where each was found; budget: in seconds; jobs: None for what the machine bears.

    files: users' own steps. has_audits: whether operators are audited, too.
    """

    recipes: Mapping[str, Recipe]
    profile: str
    frameworks: Sequence[str]
    budget: float
    command: str
    n_seeds: int = 1
    jobs: int | None = None
    is_again: bool = False
    files: Sequence[Path] = ()
    has_audits: bool = False


@dataclasses.dataclass(frozen=True)
class NothingNew:
    """Why there is nothing to do tonight. left: how many cells wait for coming nights. standing: what is still wrong."""

    since: str
    releases: dict[str, NightRelease]
    left: int
    standing: tuple[StandingFinding, ...]


MakeWork = Callable[[Night, Mapping[str, Path]], CellWork]


def begin(
    order: NightOrder,
    nights: Path,
    *,
    earlier: Sequence[NightFile],
    releases: ReleaseSource,
    make_work: MakeWork,
    tell: Tell,
    when: datetime | None = None,
) -> NightFile | NothingNew:
    """Find out what is new, and run a night of it; or return that nothing is. The lock on the nights is the caller's to hold."""
    when, clock = when or datetime.now(timezone.utc), NightClock(budget=order.budget)
    documents = [night.document for night in earlier]
    ledger = Ledger(documents)
    resolved = resolve_all(order.frameworks, releases, documents, tell=tell)
    cells = cells_of(order.recipes, order.profile, frameworks=order.frameworks, files=order.files, tell=tell)
    cells += audit_cells(order.frameworks) if order.has_audits else []
    recipes = _recipes(order.recipes, order.profile)
    bases = _bases(resolved, recipes, own=order.recipes, files=order.files)
    if order.is_again:
        due = all_due = [ledger.due_again(cell, bases.of(cell), when=when) for cell in cells]
    else:
        all_due = [item for cell in cells if (item := ledger.due(cell, bases.of(cell), when=when)) is not None]
        due = [item for item in all_due if not ledger.left_today(item, when=when)]
    standing = _standing(cells, bases, ledger, due)
    if not due:
        return NothingNew(documents[-1].id, resolved, len(all_due), standing)
    number = next_number(nights, documents, when=when)
    night = create_night(
        nights,
        number=number,
        when=when,
        command=order.command,
        profile=order.profile,
        budget_seconds=order.budget,
        jobs=order.jobs,
        # Two nights running share none, up to half of them: the same runs again would be no second look.
        seeds=tuple((number * order.n_seeds + offset) % SEEDS for offset in range(order.n_seeds)),
        recipes=recipes,
        releases=resolved,
        covered=len(cells) - len(all_due),
        standing=standing,
        **_rows_of(due, order.files),
    )
    tell(f"night {night.id}: {len(due)} cells are due, {night.document.covered} are covered")
    _carry_on(night, due, ledger=ledger, cells=cells, clock=clock, releases=releases, make_work=make_work, tell=tell)
    return night


def resume(
    night: NightFile,
    recipes: Mapping[str, Recipe],
    *,
    earlier: Sequence[NightFile],
    releases: ReleaseSource,
    make_work: MakeWork,
    tell: Tell,
    budget: float | None = None,
    jobs: int | None = None,
) -> NightFile:
    """Go on with a night: what is done stays done, what was running goes on, what was left is taken where the budget now reaches.

    What was running on another basis, as code that has changed since, begins anew.

    Args:
        recipes: by where each was found, as in the night's document.
        budget: a longer one; the time that was spent counts.

    Raises:
        UsageError: A recipe has changed since.
    """
    document = night.document
    present = _recipes(recipes, document.profile)
    for name, recipe in document.recipes.items():
        now = present[name].hash if name in present else None
        if now != recipe.hash:
            raise UsageError(
                f"{recipe.source}: profile {document.profile} has changed since night {night.id} began (hash "
                f"{recipe.hash}, now {now}). Begin a new night: `vigil nightly`."
            )
    clock = NightClock(budget=budget or document.budget_seconds, spent=document.spent_seconds)
    ledger = Ledger([file.document for file in earlier])
    files = [Path(path) for path in document.files]
    bases = _bases(document.releases, present, own=recipes, files=files)
    due = []
    for row in [row for row in document.rows if not row.is_done]:
        cell = cell_of(row)
        basis = bases.of(cell)
        # The code may have changed since: a verdict stands on what it is made with.
        if row.basis != basis:
            night.mark(row.key, basis=basis, status=PENDING, directory=None, seconds=None)
        due.append(dataclasses.replace(ledger.due_again(cell, basis, when=document.when), chosen=row.chosen))
    night.change(finished=None, verdict=None, tracking=None, budget_seconds=clock.budget, jobs=jobs or document.jobs)
    done = sum(row.is_done for row in document.rows)
    tell(f"going on with night {night.id}: {done} cells are done, {len(due)} are not, {clock.left():.0f} s are left")
    cells = cells_of(recipes, document.profile, frameworks=list(document.releases), files=files, tell=tell)
    cells += audit_cells(list(document.releases)) if any(row.kind == AUDIT for row in document.rows) else []
    _carry_on(night, due, ledger=ledger, cells=cells, clock=clock, releases=releases, make_work=make_work, tell=tell)
    return night


def cells_of(
    recipes: Mapping[str, Recipe], profile: str, *, frameworks: Sequence[str], tell: Tell, files: Sequence[Path] = ()
) -> list[NightCell]:
    """Return all cells that there are."""
    cells: list[NightCell] = []
    for recipe in recipes.values():
        is_verified = is_listed(path_of(recipe.name, profile, source=recipe.source))
        if not is_verified:
            tell(f"{recipe.name}, profile {profile}: there is no golden tape, so it is reproduced only")
        cells += night_cells(recipe, profile, frameworks=frameworks, is_verified=is_verified)
    for file in files:
        cells += step_cells(file.name, framework_of(file), profile)
    return cells


def jobs_for(cells: Sequence[NightCell], ledger: Ledger, *, available_bytes: int, cores: int) -> int:
    """Return how many cells may run side by side: no more than there are cores, and than fit into the free memory.

    What was never looked at, or only failed, is taken to need as much as the largest that is known.
    """
    results = [ledger.results.get(cell.key, ()) for cell in cells]
    is_all_known = all(any(one.peak_memory_bytes or not one.verdict.is_failed for one in of_cell) for of_cell in results)
    largest = max([*ledger.peaks(cells), *([] if is_all_known else [_PEAK_BYTES])], default=_PEAK_BYTES)
    return max(1, min(cores, int(_SHARE_OF_MEMORY * available_bytes / largest)))


def _recipes(recipes: Mapping[str, Recipe], profile: str) -> dict[str, NightRecipe]:
    """Return the recipes of a night by name, as its document has them."""
    found = {}
    for source, recipe in recipes.items():
        training = recipe.resolve(profile)
        found[recipe.name] = NightRecipe(
            source=source, version=recipe.version, hash=recipe_hash(training), metric=training["metric"]
        )
    return found


def _rows_of(due: Sequence[DueCell], files: Sequence[Path]) -> dict[str, Any]:
    """Return the rows of a night that begins, and the users' files of which some are."""
    rows = [row_of(item.cell, basis=item.basis, chosen=item.chosen) for item in due]
    facts: dict[str, Any] = {"cells": tuple(row for row in rows if not isinstance(row, StepRow))}
    if steps := tuple(row for row in rows if isinstance(row, StepRow)):
        facts |= {"steps": steps}
    return facts | ({"files": tuple(map(str, files))} if files else {})


def _bases(
    releases: Mapping[str, NightRelease],
    recipes: Mapping[str, NightRecipe],
    *,
    own: Mapping[str, Recipe],
    files: Sequence[Path],
) -> Bases:
    keys = {name: release.key for name, release in releases.items()}
    folders = {recipe.name: reference_directory(recipe.source) for recipe in own.values()}
    hashes = {name: recipe.hash for name, recipe in recipes.items()}
    return Bases(keys, hashes, own=folders, steps={file.name: file for file in files})


def _carry_on(
    night: NightFile,
    due: Sequence[DueCell],
    *,
    ledger: Ledger,
    cells: Sequence[NightCell],
    clock: NightClock,
    releases: ReleaseSource,
    make_work: MakeWork,
    tell: Tell,
) -> None:
    try:
        with environments_of(night, [item.cell.framework for item in due], releases, tell=tell) as pythons:
            due = [item for item in due if not night.cells[item.cell.key].is_done]
            # A night that was broken off while it narrowed has no cell left, and something to narrow.
            if due or newly_wrong(night.document, ledger, _runs(night)):
                with contextlib.closing(make_work(night.document, pythons)) as work:
                    if due:
                        _run(night, due, ledger=ledger, cells=cells, clock=clock, work=work, tell=tell)
                    _narrow(night, ledger=ledger, clock=clock, work=work, tell=tell)
    finally:  # also what went into environments, where building one was broken off
        night.change(spent_seconds=round(clock.spent(), 1))
    for row in night.document.cells:
        if row.bits is None and (bits := bits_of(row, ledger, _runs(night))):
            night.mark(row.key, bits=bits)
    finished = datetime.now(timezone.utc).isoformat(timespec="seconds")
    night.put(judge_night(night.document, ledger).replace(finished=finished))


def _run(
    night: NightFile,
    due: Sequence[DueCell],
    *,
    ledger: Ledger,
    cells: Sequence[NightCell],
    clock: NightClock,
    work: CellWork,
    tell: Tell,
) -> None:
    estimator = Estimator(ledger, n_seeds=len(night.document.seeds))
    for row in night.cells.values():
        if row.ended_as is not None:
            estimator.see(cell_of(row), row.seconds or 0.0, row.ended_as)
    cores = available_cores()
    jobs = night.document.jobs
    if jobs is None:
        jobs = jobs_for(cells, ledger, available_bytes=psutil.virtual_memory().available, cores=len(cores))
        night.change(jobs=jobs)
    started = [item for item in due if night.cells[item.cell.key].status == RUNNING]
    fresh = [item for item in due if night.cells[item.cell.key].status != RUNNING]
    total = sum(estimator.seconds(cell) for cell in cells)
    promised = sum(estimator.seconds(item.cell) for item in started) / jobs
    plan = make_plan(
        fresh,
        seconds=estimator.seconds,
        budget=max(clock.left() - promised, 0.0),
        jobs=jobs,
        total=total,
        is_begun=night.is_begun,
    )
    for status, items in ((PENDING, plan.chosen), (LEFT, plan.left)):
        for item in items:
            night.mark(item.cell.key, status=status, estimate_seconds=round(estimator.seconds(item.cell), 1))
    night.save()
    chosen = [item.cell for item in (*started, *plan.chosen)]
    tell(
        f"{len(chosen)} of them fit into the {clock.left() / 60:.0f} min that are left, {jobs} side by side"
        + (f"; {len(plan.left)} wait unless there is time" if plan.left else "")
    )
    ended = 0

    def on_end(cell: NightCell) -> None:
        nonlocal ended
        ended += 1
        row = night.cells[cell.key]
        shown = f"{cell.kind} {cell.recipe} {cell.context}"
        tries = f", try {len(row.tries) + 1}" if row.tries else ""
        why = f": {row.triage.name}" if row.triage else ""
        tell(f"[{ended}/{max(ended, len(chosen))}] {shown}: {row.verdict}{why} ({row.seconds or 0.0:.0f} s{tries})")

    order = [*chosen, *(item.cell for item in plan.left)]
    shares = share_cores(cores, jobs)
    # Asked before each cell, while what is wrong changes only when one has ended.
    kept: dict[int, float] = {}

    def kept_back() -> float:
        if ended not in kept:
            kept[ended] = reserve(night.document, ledger, _runs(night))
        return kept[ended]

    again = Again(night, ledger, estimator=estimator, left=lambda: clock.left() - kept_back())
    run_cells(
        night,
        order,
        work=work,
        shares=shares,
        clock=clock,
        estimator=estimator,
        on_end=on_end,
        again=again,
        reserve=kept_back,
    )


def _narrow(night: NightFile, *, ledger: Ledger, clock: NightClock, work: CellWork, tell: Tell) -> None:
    """Narrow what is newly wrong, one cause after the other, and write down what came of each at once."""
    found = newly_wrong(night.document, ledger, _runs(night))

    def narrow(wrong: Wrong, seconds: float) -> NightNarrowing:
        tell(f"narrowing {wrong.cause} ({len(found)} causes, {seconds / 60:.0f} min for this one)")
        return work.narrow(wrong, seconds)

    def done(each: NightNarrowing) -> None:
        tell(f"{each.cause}: {each.state}: {each.reason}")
        before = (one for one in night.document.narrowed if one.cause != each.cause)
        night.change(narrowed=(*before, each), spent_seconds=round(clock.spent(), 1))

    narrow_all(found, narrow, left=clock.left, done=done)


def _runs(night: NightFile) -> Path:
    return night.directory.parent.parent


def _standing(cells: Sequence[NightCell], bases: Bases, ledger: Ledger, due: Sequence[DueCell]) -> tuple[StandingFinding, ...]:
    """Return what is covered on the basis of tonight, and is not fine: no number that is wrong or unknown falls silent."""
    due_keys = {item.cell.key for item in due}
    found = [ledger.not_fine(cell, bases.of(cell)) for cell in cells if cell.key not in due_keys]
    return tuple(finding for finding in found if finding is not None)
