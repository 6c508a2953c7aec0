"""Reference rows made by hand, whole enough to be read back, and the recipe that they are of."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from vigil.digests import replace_listed
from vigil.documents.judgement import RunBand
from vigil.documents.line import Line
from vigil.documents.reference_row import ReferenceRow
from vigil.recipes.loading import identity_of, load_recipe
from vigil.references.overview import bands_of

RECIPE = load_recipe("resnet_cifar")
QUICK = identity_of(RECIPE, "quick")
CHECKSUM = "c0de" * 8
RELEASES = {"jax": "0.10.2", "torch": "2.13.0+cpu"}
REASON = "Measured with the wrong padding at stride 2"


def make_row(*, framework: str = "jax", seed: int = 1000, value: float = 88.5, **changes: Any) -> ReferenceRow:
    """Return the row of one run; `changes` replace keys."""
    release = changes.get("framework_version", RELEASES.get(framework, "1.0"))
    content = {
        "schema": 1, "kind": "measured", "recipe": QUICK, "metric": "test_accuracy", "unit": "percent", "value": value,
        "seed": seed, "context": {"framework": framework, "text": f"{framework}-jit-fp32-x1"}, "framework_version": release,
        "packages": {"numpy": "2.4.0"}, "python": "3.12.3", "hardware": "2 cores", "environment": {"threads": 1},
        "data": {"name": "generated", "checksum": CHECKSUM}, "commit": "c0ffee" * 6 + "c0ff", "dirty": False,
        "date": "2026-11-21", "run_id": f"{framework}-{release}-{seed}", "state_sha256": "ff00", **changes,
    }  # fmt: skip
    return ReferenceRow.checked(content, where="made by hand")


def make_rows(
    n_seeds: int = 6, *, frameworks: Iterable[str] = RELEASES, mean: float = 88.5, first: int = 1000, **changes: Any
) -> list[ReferenceRow]:
    """Return rows of so many seeds in each framework, around a mean; always the same ones."""
    draws = np.random.default_rng(5).standard_normal((n_seeds, 3)).round(2)
    return [
        make_row(framework=framework, seed=first + seed, value=float(mean + draws[seed, place]), **changes)
        for place, framework in enumerate(frameworks)
        for seed in range(n_seeds)
    ]


def make_entry(rows: Iterable[ReferenceRow], **changes: Any) -> dict[str, Any]:
    """Return the content of an entry that supersedes rows of one group; `changes` replace keys."""
    rows = list(rows)
    return {
        "schema": 1, "kind": "superseded", "recipe": rows[0].recipe.as_json(), "metric": rows[0].metric, "unit": "percent",
        "data": rows[0].data.as_json(), "run_ids": [row.run_id for row in rows], "reason": REASON, "by": None,
        "date": "2026-11-22", "commit": None, "old_bands": {}, "new_bands": {"jax": None}, **changes,
    }  # fmt: skip


def band(rows: Iterable[ReferenceRow], *, framework: str = "jax") -> RunBand | None:
    """Return the band that judges one run of the recipe in a framework by these rows."""
    return bands_of(list(rows), recipe=RECIPE, profile="quick", checksum=CHECKSUM)[framework].band


def write_lines(path: Path, objects: Iterable[dict[str, Any] | Line]) -> Path:
    """Write objects one a line, whatever they hold, and list the file."""
    contents = [each.as_json() if isinstance(each, Line) else each for each in objects]
    replace_listed(path, "".join(json.dumps(each) + "\n" for each in contents).encode())
    return path
