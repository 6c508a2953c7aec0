"""Recipe, profile, context and seed become one fully resolved spec.json."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from runners.contract.kinds.table import kind_of
from runners.contract.protocol import spec as contract
from runners.contract.protocol.faults import file_sha256
from vigil.documents.context import Context
from vigil.documents.identity import Identity
from vigil.errors import UsageError
from vigil.paths import expanded
from vigil.process.consent import FAULTS, remember
from vigil.process.side_by_side import available_cores

HEARTBEAT_SECONDS = 5.0


def fault_entry(path: str | None) -> dict[str, str] | None:
    """Return name, path and hash of a fault file, and remember that it was named. Raises UsageError when there is none."""
    if path is None:
        return None
    file = expanded(path).resolve()
    if not file.is_file():
        raise UsageError(f"--fault: {path}: no such file. Allowed: a Python file that defines install().")
    entry = {"path": str(file), "name": file.stem, "sha256": file_sha256(file)}
    remember(FAULTS, entry["sha256"])
    return entry


def rows_of_part(training: dict[str, Any]) -> int:
    """Return how many rows of a batch no two devices may share."""
    return kind_of(training).part_rows(training["model"])


def build_spec(
    *,
    run_id: str,
    recipe: Identity,
    training: dict[str, Any],
    context: Context,
    seed: int,
    data_directory: Path | None,
    fault: dict[str, str] | None,
    cores: list[int] | None = None,
) -> contract.RunSpec:
    """Return the spec of one run: the fields of its context, flat, and the batch as the devices share it.

    Args:
        training: `Recipe.resolve` of the profile.
        cores: what the run is bound to, when several run side by side.

    Raises:
        UsageError: The context has shards, or a kernel of attention, that the recipe cannot have.
    """
    if context.attention != "default" and not kind_of(training).chooses_attention(training["model"]):
        raise UsageError(
            f"--attention: found {context.attention!r}. Allowed: default; {recipe.name}, profile {recipe.profile}, has no "
            "attention that its framework computes as a whole."
        )
    return contract.RunSpec(
        schema=contract.SCHEMA,
        run_id=run_id,
        recipe=recipe.as_json(),
        **{field.name: getattr(context, field.name) for field in dataclasses.fields(context) if field.name != "shards"},
        shards=context.shard_sizes(training["batch_size"], rows=rows_of_part(training)),
        evaluation_shards=context.evaluation_shards(training["evaluation_batch_size"]),
        seed=seed,
        threads=len(cores or available_cores()),
        cores=tuple(cores) if cores else None,
        training=training,
        data_directory=str(data_directory) if data_directory else None,
        fault=fault,
        heartbeat_seconds=HEARTBEAT_SECONDS,
    )
