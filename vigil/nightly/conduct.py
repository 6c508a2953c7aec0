"""A night from its first line to its last: begun, or gone on with after it was broken off."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import psutil

from vigil.errors import UsageError
from vigil.nightly.basis import Bases
from vigil.nightly.cells import VERIFY, Cell, night_cells
from vigil.nightly.document import DONE, LEFT, PENDING, RUNNING, Night, cell_of, create_night, created, next_number, row_of
from vigil.nightly.environments import Releases, Tell, held, resolve_all
from vigil.nightly.estimate import Estimator
from vigil.nightly.ledger import Due, Ledger
from vigil.nightly.outcome import judge_night
from vigil.nightly.plan import make_plan
from vigil.nightly.pool import Clock, Work, run_cells
from vigil.process.build_spec import available_cores
from vigil.recipes.loading import Recipe, recipe_hash
from vigil.references.judgement import UNKNOWN
from vigil.runs.contexts import share_cores
from vigil.verify.golden import path_of

SEEDS = 16
# The largest peak in the records of clean runs of the quick profiles: PyTorch's tiny_mask_rcnn.
_PEAK_BYTES = int(4.3 * 2**30)
_SHARE_OF_MEMORY = 0.8


@dataclasses.dataclass(frozen=True)
class Order:
    """What is asked of a night. recipes: by where each was found; budget: in seconds; jobs: None for what the machine bears."""

    recipes: Mapping[str, Recipe]
    profile: str
    frameworks: Sequence[str]
    budget: float
    command: str
    n_seeds: int = 1
    jobs: int | None = None
    is_again: bool = False


@dataclasses.dataclass(frozen=True)
class Nothing:
    """Why there is nothing to do tonight. left: how many cells wait for coming nights. standing: what is still wrong."""

    since: str
    releases: dict[str, Any]
    left: int
    standing: list[dict[str, Any]]


MakeWork = Callable[[dict[str, Any], Mapping[str, Path]], Work]


def begin(
    order: Order,
    nights: Path,
    *,
    earlier: Sequence[Night],
    releases: Releases,
    make_work: MakeWork,
    tell: Tell,
    when: datetime | None = None,
) -> Night | Nothing:
    """Find out what is new, and run a night of it; or return that nothing is. The lock on the nights is the caller's to hold."""
    when, clock = when or datetime.now(timezone.utc), Clock(budget=order.budget)
    documents = [night.document for night in earlier]
    ledger = Ledger(documents)
    resolved = resolve_all(order.frameworks, releases, documents, tell=tell)
    cells = cells_of(order.recipes, order.profile, frameworks=order.frameworks, tell=tell)
    hashes = {recipe.name: recipe_hash(recipe.resolve(order.profile)) for recipe in order.recipes.values()}
    bases = Bases({name: release["key"] for name, release in resolved.items()}, hashes)
    all_due = [due for cell in cells if (due := ledger.due(cell, bases.of(cell), when=when, is_again=order.is_again)) is not None]
    due = [each for each in all_due if order.is_again or not ledger.left_today(each, when=when)]
    standing = _standing(cells, bases, ledger, due)
    if not due:
        return Nothing(documents[-1]["id"], resolved, len(all_due), standing)
    number = next_number(nights, documents, when=when)
    facts = {
        "command": order.command,
        "profile": order.profile,
        "budget_seconds": order.budget,
        "jobs": order.jobs,
        "seeds": [(number + offset) % SEEDS for offset in range(order.n_seeds)],
        "recipes": {
            recipe.name: {
                "source": source,
                "version": recipe.version,
                "hash": hashes[recipe.name],
                "metric": recipe.resolve(order.profile)["metric"],
            }
            for source, recipe in order.recipes.items()
        },
        "releases": resolved,
        "covered": len(cells) - len(all_due),
        "standing": standing,
        "cells": [row_of(each.cell, basis=each.basis, chosen=each.chosen) for each in due],
    }
    night = create_night(nights, number=number, when=when, facts=facts)
    tell(f"night {night.id}: {len(due)} cells are due, {facts['covered']} are covered")
    _carry_on(night, due, ledger=ledger, cells=cells, clock=clock, releases=releases, make_work=make_work, tell=tell)
    return night


def resume(
    night: Night,
    recipes: Mapping[str, Recipe],
    *,
    earlier: Sequence[Night],
    releases: Releases,
    make_work: MakeWork,
    tell: Tell,
    budget: float | None = None,
    jobs: int | None = None,
) -> Night:
    """Go on with a night: what is done stays done, what was running goes on, what was left is taken where the budget now reaches.

    What was running on another basis, as code that has changed since, begins anew.

    Args:
        recipes: by where each was found, as in the night's document.
        budget: a longer one; the time that was spent counts.

    Raises:
        UsageError: A recipe has changed since.
    """
    document = night.document
    hashes = {recipe.name: recipe_hash(recipe.resolve(document["profile"])) for recipe in recipes.values()}
    for name, facts in document["recipes"].items():
        if hashes.get(name) != facts["hash"]:
            raise UsageError(
                f"{facts['source']}: profile {document['profile']} has changed since night {night.id} began (hash "
                f"{facts['hash']}, now {hashes.get(name)}). Begin a new night: `vigil nightly`."
            )
    document |= {"finished": None, "verdict": None, "tracking": None}
    document |= {"budget_seconds": budget or document["budget_seconds"], "jobs": jobs or document["jobs"]}
    clock = Clock(budget=document["budget_seconds"], spent=document["spent_seconds"])
    ledger = Ledger([each.document for each in earlier])
    bases = Bases({name: release["key"] for name, release in document["releases"].items()}, hashes)
    due = []
    for row in document["cells"]:
        if row["status"] != DONE:
            cell = cell_of(row)
            # The code may have changed since: a verdict stands on what it is made with.
            if row["basis"] != (basis := bases.of(cell)):
                row |= {"basis": basis, "status": PENDING, "directory": None, "seconds": None}
            found = ledger.due(cell, row["basis"], when=created(document), is_again=True)
            due.append(dataclasses.replace(found, chosen=row["chosen"]))
    night.save()
    done = sum(row["status"] == DONE for row in document["cells"])
    tell(f"going on with night {night.id}: {done} cells are done, {len(due)} are not, {clock.left():.0f} s are left")
    cells = cells_of(recipes, document["profile"], frameworks=list(document["releases"]), tell=tell)
    _carry_on(night, due, ledger=ledger, cells=cells, clock=clock, releases=releases, make_work=make_work, tell=tell)
    return night


def cells_of(recipes: Mapping[str, Recipe], profile: str, *, frameworks: Sequence[str], tell: Tell) -> list[Cell]:
    """Return all cells that there are."""
    cells: list[Cell] = []
    for recipe in recipes.values():
        is_verified = path_of({"name": recipe.name, "profile": profile}).is_file()
        if not is_verified:
            tell(f"{recipe.name}, profile {profile}: there is no golden tape, so it is reproduced only")
        cells += night_cells(recipe, profile, frameworks=frameworks, is_verified=is_verified)
    return cells


def jobs_for(cells: Sequence[Cell], ledger: Ledger, *, available_bytes: int, cores: int) -> int:
    """Return how many cells may run side by side: no more than there are cores, and than fit into the free memory.

    What was never looked at, or only failed, is taken to need as much as the largest that is known.
    """
    looks = [ledger.looks.get(cell.key, ()) for cell in cells]
    is_all_known = all(any(look.peak_memory_bytes or not look.is_failed for look in of_cell) for of_cell in looks)
    largest = max([*ledger.peaks(cells), *([] if is_all_known else [_PEAK_BYTES])], default=_PEAK_BYTES)
    return max(1, min(cores, int(_SHARE_OF_MEMORY * available_bytes / largest)))


def _carry_on(
    night: Night,
    due: Sequence[Due],
    *,
    ledger: Ledger,
    cells: Sequence[Cell],
    clock: Clock,
    releases: Releases,
    make_work: MakeWork,
    tell: Tell,
) -> None:
    document = night.document
    try:
        with held(night, [each.cell.framework for each in due], releases, tell=tell) as pythons:
            due = [each for each in due if night.cells[each.cell.key]["status"] != DONE]
            if due:
                _run(night, due, ledger=ledger, cells=cells, clock=clock, work=make_work(document, pythons), tell=tell)
    finally:  # also what went into environments, where building one was broken off
        document["spent_seconds"] = round(clock.spent(), 1)
        night.save()
    document["verdict"] = judge_night(document, ledger)
    document["finished"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    night.save()


def _run(
    night: Night, due: Sequence[Due], *, ledger: Ledger, cells: Sequence[Cell], clock: Clock, work: Work, tell: Tell
) -> None:
    document, estimator = night.document, Estimator(ledger, n_seeds=len(night.document["seeds"]))
    for row in document["cells"]:
        if row["status"] == DONE:
            estimator.see(cell_of(row), row["seconds"] or 0.0, row["verdict"])
    cores = available_cores()
    if document["jobs"] is None:
        available = psutil.virtual_memory().available
        document["jobs"] = jobs_for(cells, ledger, available_bytes=available, cores=len(cores))
    jobs = document["jobs"]
    started = [each for each in due if night.cells[each.cell.key]["status"] == RUNNING]
    fresh = [each for each in due if night.cells[each.cell.key]["status"] != RUNNING]
    total = sum(estimator.seconds(cell) for cell in cells)
    promised = sum(estimator.seconds(each.cell) for each in started) / jobs
    plan = make_plan(
        fresh,
        seconds=estimator.seconds,
        budget=max(clock.left() - promised, 0.0),
        jobs=jobs,
        total=total,
        is_begun=night.is_begun,
    )
    for each in (*plan.chosen, *plan.left):
        status = PENDING if each in plan.chosen else LEFT
        night.cells[each.cell.key].update(status=status, estimate_seconds=round(estimator.seconds(each.cell), 1))
    night.save()
    chosen = [each.cell for each in (*started, *plan.chosen)]
    tell(
        f"{len(chosen)} of them fit into the {clock.left() / 60:.0f} min that are left, {jobs} side by side"
        + (f"; {len(plan.left)} wait unless there is time" if plan.left else "")
    )
    ended = 0

    def on_end(cell: Cell) -> None:
        nonlocal ended
        ended += 1
        row = night.cells[cell.key]
        shown = f"{cell.kind} {cell.recipe} {cell.context.text}"
        tell(f"[{ended}/{max(ended, len(chosen))}] {shown}: {row['verdict']} ({row['seconds']:.0f} s)")

    order = [*chosen, *(each.cell for each in plan.left)]
    shares = share_cores(cores, jobs)
    run_cells(night, order, work=work, shares=shares, clock=clock, estimator=estimator, on_end=on_end)


def _standing(cells: Sequence[Cell], bases: Bases, ledger: Ledger, due: Sequence[Due]) -> list[dict[str, Any]]:
    """Return what is covered on the basis of tonight, and is not fine: no number that is wrong or unknown falls silent."""
    looked_at = {each.cell.key for each in due}
    standing = []
    for cell in cells:
        look = ledger.last(cell, basis=bases.of(cell))
        if cell.key in looked_at or look is None:
            continue
        if look.verdict == UNKNOWN or (look.is_outside and (look.stands or cell.kind == VERIFY)):
            facts = {"key": cell.key, "night": look.night, "verdict": look.verdict, "reason": look.reason}
            standing.append(facts | {"directory": look.directory})
    return standing
