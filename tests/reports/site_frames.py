"""Rows of history, nights and recipes as tests need them: one sound row, and what a test changes in it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.site.sources import ProfileFacts, RecipeFacts, Sources
from vigil.documents.context import parse_context
from vigil.documents.night import CellKind, CellRow, Night, NightRecipe, NightRelease, RecipeMetric, ReleaseError
from vigil.documents.verification import SHORT, WHOLE
from vigil.tracking.history import History
from vigil.tracking.history_rows import SampleRow, VerificationRow, rows_of

NOW = datetime(2026, 11, 22, 6, 0, tzinfo=timezone.utc)
KEY = ("resnet_cifar", "quick", "jax-jit-fp32-x1")
HASH = "8fb4c2a0d06a"
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "\"><img src=x onerror='alert(3)'>",
    "javascript:alert(4)",
    "{{ 7 * 7 }}{% raw %}",
    "<!--",
    "\u202egnp.exe\u2066",
    "../../etc/passwd",
    "long " * 4000,
)
_CELL = {
    "night": "2026-11-22-1", "created": pd.Timestamp(NOW - timedelta(hours=3)), "recipe": KEY[0], "recipe_version": 1,
    "recipe_hash": HASH, "profile": KEY[1], "context": KEY[2], "framework": "jax", "mode": "jit", "precision": "fp32",
    "device": "cpu", "devices": 1, "determinism": "off", "randomness": "shared", "release": "0.10.2", "fault": "none",
    "reason": "inside its band", "verdict": "reproduced", "seconds": 50.0,
}  # fmt: skip
RECIPE = RecipeFacts(
    "resnet_cifar", 1, {"name": "test_accuracy", "unit": "percent", "direction": "higher", "selection": "last"},
    ({"metric": "test_accuracy", "value": 91.25, "published_as": "8.75 % test error", "source": "He et al. 2015",
      "link": "https://arxiv.org/abs/1512.03385", "selection": "last", "protocol": "64k steps", "profile": "paper"},),
    {"quick": ProfileFacts("quick", "minutes", HASH, 4000), "paper": ProfileFacts("paper", "the published one", "0" * 12, 10000)},
)  # fmt: skip


def ago(**length: float) -> pd.Timestamp:
    """Return a time before NOW."""
    return pd.Timestamp(NOW - timedelta(**length))


def sample(seed: int = 0, *, invocation: str = "one", **changes: Any) -> dict[str, Any]:
    """Return the row of a trained run."""
    row = {
        "invocation_id": invocation, "run_id": f"{invocation}-seed{seed}", "seed": seed, "metric": "test_accuracy",
        "unit": "percent", "direction": "higher", "value": 88.5, "band_low": 85.98, "band_high": 91.43, "state_sha256": None,
    }  # fmt: skip
    return _CELL | row | changes


def verification(name: str = "check", **changes: Any) -> dict[str, Any]:
    """Return the row of a verification."""
    row = {
        "verify_id": name, "invocation_id": None, "form": SHORT if changes.get("invocation_id") else WHOLE,
        "tensors": 400.0, "tensors_out": 0.0, "worst_ratio": 4.0, "worst_score": 0.5,
        "origin_layer": None, "origin_phase": None, "origin_quantity": None,
    }  # fmt: skip
    return _CELL | row | changes


def frames(samples: list[dict[str, Any]] = (), verifications: list[dict[str, Any]] = (), **facts: Any) -> History:
    """Return rows as a history; one without rows has its columns all the same."""
    tables = []
    for rows, pattern in ((samples, sample()), (verifications, verification())):
        table = pd.DataFrame(list(rows), columns=list(dict.fromkeys([*pattern, *(key for row in rows for key in row)])))
        table["created"] = pd.to_datetime(table["created"], utc=True)
        tables.append(table)
    return History(*tables, **{"as_of": NOW, **facts})


def sources(history: History, *, runs: Path = Path("no-runs"), **facts: Any) -> Sources:
    """Return sources with one recipe and no reference rows."""
    given = {"recipes": {"resnet_cifar": RECIPE}, "rows": {"resnet_cifar": ()}, "now": NOW} | facts
    return Sources(history=history, runs=runs, **given)


def sample_row(seed: int = 0, **changes: Any) -> SampleRow:
    """Return a trained run as the report reads it."""
    return rows_of(frames([sample(seed, **changes)]).samples, SampleRow)[0]


def verification_row(name: str = "check", **changes: Any) -> VerificationRow:
    """Return a verification as the report reads it."""
    return rows_of(frames([], [verification(name, **changes)]).verifications, VerificationRow)[0]


def night_row(kind: CellKind, *, context: str = KEY[2], **changes: Any) -> CellRow:
    """Return the row of a cell in a night's document."""
    facts = {"recipe": KEY[0], "profile": KEY[1], "status": "done", "verdict": "reproduced", "reason": "inside"} | changes
    row = {"key": f"{kind} {facts['recipe']} {context}", "kind": kind, "basis": "", "chosen": "", "seconds": 40.0} | facts
    return CellRow(context=parse_context(context), **row)


def night_recipe(digest: str = HASH) -> NightRecipe:
    """Return what a night's document says of the recipe."""
    metric = RecipeMetric(name="test_accuracy", unit="percent", direction="higher")
    return NightRecipe(source=KEY[0], version=1, hash=digest, metric=metric)


def night_release(version: str | None = "0.10.2", *, error: str | None = None, request: str = "newest") -> NightRelease:
    """Return what a night's document says of a release. error: why it could not be had."""
    problem = ReleaseError(reason=error, log_tail=(), seconds=1.0) if error else None
    return NightRelease(request=request, version=version, key=None, pins=None, error=problem)


def night(*cells: CellRow, **changes: Any) -> Night:
    """Return a night's document."""
    facts = {
        "id": "2026-11-22-1", "number": 3, "created": (NOW - timedelta(hours=4)).isoformat(), "command": "vigil nightly",
        "profile": "quick", "budget_seconds": 1800.0, "jobs": None, "recipes": {KEY[0]: night_recipe()},
        "releases": {"jax": night_release()}, "covered": 0, "standing": (), "spent_seconds": 0.0, "finished": None,
        "verdict": None, "tracking": None,
    }  # fmt: skip
    return Night(cells=cells, **facts | changes)


def write_record(runs: Path, row: dict[str, Any], losses: list[Any]) -> None:
    """Leave a record where `vigil.runs.carry_out` leaves it."""
    place = runs / row["invocation_id"] / row["run_id"].removeprefix(f"{row['invocation_id']}-")
    place.mkdir(parents=True)
    (place / "record.json").write_text(json.dumps({"run_id": row["run_id"], "losses": losses}), encoding="utf-8")


def nights_of(count, *, since, bad, good=None, **changes):
    """Return the rows of a cell, night by night: `good`, and from night `since` on `bad`."""
    rows = []
    for place in range(count):
        when = {"night": f"n{place:02d}", "created": NOW - timedelta(days=count - place) + timedelta(hours=20)}
        row = bad(place) if place >= since else (good or (lambda _: {}))(place)
        rows.append(when | {"release": "0.10.1" if place < 6 else "0.10.2"} | changes | row)
    return rows


def check(rows, **changes):
    """Return verifications of rows."""
    return [verification(f"check{changes.get('context', '')}{place}", **changes | row) for place, row in enumerate(rows)]


def run(rows, **changes):
    """Return trained runs of rows, each with a value of its own within its band."""
    noise = np.random.default_rng(len(changes.get("context", ""))).normal(0.0, 0.8, len(rows))
    return [
        sample(place % 5, invocation=f"run{changes.get('context', '')}{place}", **{"value": 88.7 + noise[place]} | changes | row)
        for place, row in enumerate(rows)
    ]
