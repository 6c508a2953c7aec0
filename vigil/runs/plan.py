"""What is asked for: checked before anything is trained, and planned whole, with every run's spec, before the first starts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from runners.contract.protocol.spec import write_spec
from vigil.data.official import ensure_data
from vigil.documents.context import Context
from vigil.documents.invocation import FirstRung, Invocation, PublishedTarget, SequentialRule
from vigil.paths import expanded
from vigil.process.build_spec import build_spec, rows_of_part
from vigil.process.directories import new_directory, require_writable
from vigil.process.environment import require_framework
from vigil.recipes.loading import Recipe, identity_of
from vigil.releases.resolve import Resolved, Unavailable
from vigil.runs.watch import ignore


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked for: a recipe's profile, in one context, with these seeds; `verify`: one training step first.

    sequential: the rule by which seeds are added one at a time (`vigil.runs.until_decided`); None trains them all.
    release: the framework's release, in an environment of its own; None for the one that is installed beside Vigil.
    night: the id of the night that it is part of, if of any.
    """

    recipe: Recipe
    recipe_source: str
    profile: str
    context: Context
    seeds: tuple[int, ...]
    fault: dict[str, str] | None
    command: str
    cores: list[int] | None = None
    verify: bool = False
    sequential: SequentialRule | None = None
    release: Resolved | Unavailable | None = None
    night: str | None = None


def preflight(request: Request, runs: Path, *, on_data: Callable[[int, int | None], None] = ignore) -> Path | None:
    """Check, before anything is trained, all that would otherwise fail late; return the data directory, if one is needed.

    Raises:
        FrameworkMissing, DataError, DirectoryError: exit code 3, each with what to do.
        UsageError: The shards do not fit the batch.
    """
    training = request.recipe.resolve(request.profile)
    request.context.shard_sizes(training["batch_size"], rows=rows_of_part(training))
    request.context.evaluation_shards(training["evaluation_batch_size"])
    if request.release is None:
        require_framework(request.context.framework)
    require_writable(runs)
    return ensure_data(training, progress=on_data)


def plan(request: Request, runs: Path, *, data_directory: Path | None) -> Path:
    """Create the invocation directory with every run's spec; return it."""
    training = request.recipe.resolve(request.profile)
    recipe = identity_of(request.recipe, request.profile)
    now = datetime.now(timezone.utc)
    directory = new_directory(runs, f"{now:%Y%m%d-%H%M%S}-{recipe.name}-{recipe.profile}-{request.context.text}")
    names = run_names(request.seeds)
    for seed, name in zip(request.seeds, names, strict=True):
        (directory / name).mkdir()
        write_spec(
            directory / name,
            build_spec(
                run_id=f"{directory.name}-{name}",
                recipe=recipe,
                training=training,
                context=request.context,
                seed=seed,
                data_directory=data_directory,
                fault=request.fault,
                cores=request.cores,
            ),
        )
    # Native randomness has weights and batches of its own, which no golden tape can know.
    is_verified = request.verify and request.context.randomness == "shared"
    Invocation(
        invocation_id=directory.name,
        created=now.isoformat(timespec="seconds"),
        command=request.command,
        night=request.night,
        recipe=recipe,
        source=str(expanded(request.recipe.source).resolve()) if request.recipe.source else None,
        context=request.context,
        seeds=request.seeds,
        fault=request.fault["name"] if request.fault else None,
        release=request.release.named if request.release else None,
        targets=targets_of(request.recipe),
        runs=names,
        verify=FirstRung.pending() if is_verified else None,
        sequential=request.sequential,
        verdict=None,
        wall_seconds=None,
        tracking=None,
    ).write(directory)
    return directory


def targets_of(recipe: Recipe) -> tuple[PublishedTarget, ...]:
    """Return a recipe's published values as documents have them."""
    return tuple(PublishedTarget.model_validate(target.model_dump(mode="json")) for target in recipe.targets)


def run_names(seeds: Sequence[int]) -> tuple[str, ...]:
    """Return the names of the run directories of these seeds."""
    return tuple(f"seed{seed}" for seed in seeds)
