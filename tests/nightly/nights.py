"""Hand-made nights: documents, a ledger's worth of them, and fakes of what a night needs from outside."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from vigil.documents.context import make_context
from vigil.documents.night import DONE, LEFT, REPRODUCE, CellRow, Night, NightRelease
from vigil.documents.verdict import Verdict
from vigil.errors import EnvironmentFailed
from vigil.nightly.cell_pool import CellOutcome
from vigil.nightly.cells import NightCell, night_cells, row_of
from vigil.recipes.loading import load_recipe

RECIPE = load_recipe("resnet_cifar")
FIRST = datetime(2026, 11, 1, 2, 0, tzinfo=timezone.utc)


def a_cell(kind: str = REPRODUCE, context: str = "jax-jit-fp32-x1", *, recipe: str = "resnet_cifar") -> NightCell:
    """Return a cell of the quick profile."""
    framework, mode, precision, devices = context.split("-")
    return NightCell(
        kind, recipe, "quick", make_context(framework=framework, mode=mode, precision=precision, devices=devices[1:])
    )


def a_row(cell: NightCell, *, basis: str = "b", verdict: str | None = "reproduced", **facts: Any) -> CellRow:
    """Return the row of a cell that ended so, or, with None, was left."""
    row = row_of(cell, basis=basis, chosen="never looked at")
    ending = {"status": LEFT} if verdict is None else {"status": DONE, "verdict": verdict, "reason": "r", "seconds": 20.0}
    return row.replace(**{**ending, **facts})


def a_document(rows: Sequence[CellRow], *, number: int = 1, when: datetime = FIRST, **facts: Any) -> Night:
    """Return the document of a finished night, whose verdict says nothing yet."""
    frameworks = {row.context.framework for row in rows} or {"jax"}
    metric = {"name": "test_accuracy", "unit": "percent", "direction": "higher", "selection": "last"}
    recipe = {"source": "resnet_cifar", "version": 1, "hash": "ab", "metric": metric}
    document = {
        "schema": 1, "id": f"{when:%Y-%m-%d}-{number}", "number": number, "created": when.isoformat(),
        "command": "vigil nightly", "profile": "quick", "budget_seconds": 600.0, "jobs": 2, "seeds": [number % 16],
        "recipes": dict.fromkeys({"resnet_cifar", *(row.recipe for row in rows)}, recipe),
        "releases": {name: a_release(name) for name in sorted(frameworks)},
        "covered": 0, "standing": (), "cells": tuple(rows), "spent_seconds": 500.0, "finished": when.isoformat(),
        "tracking": None,
        "verdict": {"exit_code": 0, "counts": {}, "judged": 0, "false_alarms_expected": 0.0, "by_chance": ()},
    }  # fmt: skip
    return Night.model_validate({**document, **facts})


def a_release(framework: str, *, version: str | None = "1.0", **facts: Any) -> NightRelease:
    """Return a release as a night records it."""
    release = {"request": framework, "version": version, "key": f"{framework}-{version}", "pins": [f"{framework}=={version}"]}
    return NightRelease.model_validate({**release, **facts})


class FakeReleases:
    """Releases that need no network: `versions` by framework, None for one that is not to be resolved."""

    def __init__(self, versions: dict[str, str | None], *, unbuildable: Sequence[str] = ()) -> None:
        self.versions, self.unbuildable, self.built = versions, unbuildable, []

    def resolve(self, framework: str) -> NightRelease:
        version = self.versions[framework]
        if version is None:
            raise EnvironmentFailed(f"{framework}: no set of packages fits", log_tail=["no matching distribution"])
        return a_release(framework, version=version)

    @contextlib.contextmanager
    def hold(self, release: NightRelease, *, tell: Callable[[str], None]):
        if release.request in self.unbuildable:
            raise EnvironmentFailed(f"{release.request}: could not be installed", log_tail=["disk quota exceeded"])
        self.built.append(release.key)
        yield Path("/nowhere/python")


class FakeWork:
    """Carries out cells at once: `outcomes` by cell key, reproduced otherwise. It remembers what it was asked."""

    def __init__(
        self, outcomes: dict[str, CellOutcome | Exception] | None = None, *, on_start: Callable[[str], object] = str
    ) -> None:
        self.outcomes, self.on_start = outcomes or {}, on_start
        self.prepared: list[str] = []
        self.started: list[str] = []
        self.is_closed = False
        self._lock = threading.Lock()

    def prepare(self, cell: NightCell, cores: list[int] | None) -> str:
        self.prepared.append(cell.key)
        return f"run-{len(self.prepared)}"

    def carry_out(self, cell: NightCell, directory: str, cores: list[int] | None, stop: threading.Event) -> CellOutcome:
        with self._lock:
            self.started.append(cell.key)
        self.on_start(cell.key)
        outcome = self.outcomes.get(cell.key, CellOutcome(Verdict.REPRODUCED, "as it should be"))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def close(self) -> None:
        self.is_closed = True


def all_cells(frameworks: Sequence[str] = ("jax",)) -> list[NightCell]:
    """Return every cell of ResNet's quick profile."""
    return night_cells(RECIPE, "quick", frameworks=frameworks)


def day(number: int) -> datetime:
    """Return the time of a night."""
    return FIRST + timedelta(days=number)
