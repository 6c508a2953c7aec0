"""Hand-made nights: documents, a ledger's worth of them, and fakes of what a night needs from outside."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from vigil.documents.context import make_context
from vigil.errors import EnvironmentFailed
from vigil.nightly.cells import REPRODUCE, Cell, night_cells
from vigil.nightly.document import DONE, LEFT, row_of
from vigil.nightly.pool import Outcome
from vigil.recipes.loading import load_recipe

RECIPE = load_recipe("resnet_cifar")
FIRST = datetime(2026, 11, 1, 2, 0, tzinfo=timezone.utc)


def a_cell(kind: str = REPRODUCE, context: str = "jax-jit-fp32-x1", *, recipe: str = "resnet_cifar") -> Cell:
    """Return a cell of the quick profile."""
    framework, mode, precision, devices = context.split("-")
    return Cell(kind, recipe, "quick", make_context(framework=framework, mode=mode, precision=precision, devices=devices[1:]))


def a_row(cell: Cell, *, basis: str = "b", verdict: str | None = "reproduced", **facts: Any) -> dict[str, Any]:
    """Return the row of a cell that ended so, or, with None, was left."""
    row = row_of(cell, basis=basis, chosen="never looked at")
    row |= {"status": LEFT} if verdict is None else {"status": DONE, "verdict": verdict, "reason": "r", "seconds": 20.0}
    return row | facts


def a_document(rows: Sequence[dict[str, Any]], *, number: int = 1, when: datetime = FIRST, **facts: Any) -> dict[str, Any]:
    """Return the document of a finished night, but for its verdict."""
    frameworks = {row["context"]["framework"] for row in rows} or {"jax"}
    document = {
        "schema": 1, "id": f"{when:%Y-%m-%d}-{number}", "number": number, "created": when.isoformat(),
        "command": "vigil nightly", "profile": "quick", "budget_seconds": 600.0, "jobs": 2, "seeds": [number % 16],
        "recipes": {"resnet_cifar": {"source": "resnet_cifar", "version": 1, "hash": "ab", "metric": {
            "name": "test_accuracy", "unit": "percent", "direction": "higher"}}},
        "releases": {name: a_release(name) for name in sorted(frameworks)},
        "covered": 0, "standing": [], "cells": list(rows), "spent_seconds": 500.0, "finished": when.isoformat(), "verdict": None,
        "tracking": None,
    }  # fmt: skip
    return document | facts


def a_release(framework: str, *, version: str = "1.0", **facts: Any) -> dict[str, Any]:
    """Return a release as a night records it."""
    release = {"request": framework, "version": version, "key": f"{framework}-{version}", "pins": [f"{framework}=={version}"]}
    return release | {"error": None, "is_new": True, "previous": None} | facts


class FakeReleases:
    """Releases that need no network: `versions` by framework, None for one that is not to be resolved."""

    def __init__(self, versions: dict[str, str | None], *, unbuildable: Sequence[str] = ()) -> None:
        self.versions, self.unbuildable, self.built = versions, unbuildable, []

    def resolve(self, framework: str) -> dict[str, Any]:
        version = self.versions[framework]
        if version is None:
            raise EnvironmentFailed(f"{framework}: no set of packages fits", log_tail=["no matching distribution"])
        return {key: a_release(framework, version=version)[key] for key in ("request", "version", "key", "pins")}

    @contextlib.contextmanager
    def hold(self, release: dict[str, Any], *, tell: Callable[[str], None]):
        if release["request"] in self.unbuildable:
            raise EnvironmentFailed(f"{release['request']}: could not be installed", log_tail=["disk quota exceeded"])
        self.built.append(release["key"])
        yield Path("/nowhere/python")


class FakeWork:
    """Carries out cells at once: `outcomes` by cell key, reproduced otherwise. It remembers what it was asked."""

    def __init__(
        self, outcomes: dict[str, Outcome | Exception] | None = None, *, on_start: Callable[[str], object] = str
    ) -> None:
        self.outcomes, self.on_start = outcomes or {}, on_start
        self.prepared: list[str] = []
        self.started: list[str] = []
        self._lock = threading.Lock()

    def prepare(self, cell: Cell, cores: list[int] | None) -> str:
        self.prepared.append(cell.key)
        return f"run-{len(self.prepared)}"

    def carry_out(self, cell: Cell, directory: str, cores: list[int] | None, stop: threading.Event) -> Outcome:
        with self._lock:
            self.started.append(cell.key)
        self.on_start(cell.key)
        outcome = self.outcomes.get(cell.key, Outcome("reproduced", "as it should be"))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def all_cells(frameworks: Sequence[str] = ("jax",)) -> list[Cell]:
    """Return every cell of ResNet's quick profile."""
    return night_cells(RECIPE, "quick", frameworks=frameworks)


def day(number: int) -> datetime:
    """Return the time of a night."""
    return FIRST + timedelta(days=number)
