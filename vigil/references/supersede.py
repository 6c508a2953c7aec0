"""Taking samples out of the bands, for a stated reason, without touching a row.

Samples are chosen by profile, framework and release, never run by run: whoever could leave out one seed could choose the mean.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from vigil.errors import UsageError, nearest
from vigil.process.environment import describe_code
from vigil.recipes.loading import Recipe
from vigil.references.entry import BAND_TYPES, ENTRY_SCHEMA, FILE_NAME, Entry, check_entry, sound_reason
from vigil.references.file import append_lines, locked
from vigil.references.overview import Bands, bands_of, group_of, identity, why_not_used
from vigil.references.row import Row
from vigil.references.samples import load_reference


@dataclasses.dataclass(frozen=True)
class Superseded:
    """One group of samples that was superseded: the entry written, its rows, and the bands before and after."""

    entry: Entry
    rows: tuple[Row, ...]
    remaining: tuple[Row, ...]
    old: Bands
    new: Bands


def supersede(
    directory: Path,
    recipe: Recipe,
    *,
    profile: str,
    reason: str,
    framework: str | None = None,
    release: str | None = None,
    by: str | None = None,
) -> tuple[Path, list[Superseded]]:
    """Append an entry for the standing samples of a recipe's profile as it stands; return the file and what was superseded.

    Args:
        framework, release: only samples of these; a release may be given without its local part (2.13.0 for 2.13.0+cpu).
        by: what supersedes: a change, an issue, a link.

    Raises:
        UsageError: The reason says nothing, or no sample fits; with what there is.
        ReferenceError_: A file of the recipe's cannot be read.
    """
    try:
        reason = sound_reason(reason)
    except ValueError as error:
        raise UsageError(f"--reason: {error}") from None
    wanted = identity(recipe, profile)
    with locked(directory):
        reference = load_reference(directory, recipe.name)
        standing = list({row["run_id"]: row for row in reference.standing}.values())
        of_profile = [row for row in standing if row["recipe"]["profile"] == profile]
        current = [row for row in of_profile if why_not_used(row, recipe) is None]
        if not current:
            raise UsageError(f"{_place(wanted)}: {_nothing_stands(of_profile, wanted)}")
        chosen = _chosen(current, framework=framework, release=release, place=_place(wanted))
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in chosen:
            groups.setdefault(group_of(row), []).append(row)
        found = [_entry(rows, current, recipe=recipe, profile=profile, reason=reason, by=by) for rows in groups.values()]
        path = directory / recipe.name / FILE_NAME
        append_lines(path, [each.entry for each in found])
    return path, found


def _entry(
    rows: Sequence[Row], current: Sequence[Row], *, recipe: Recipe, profile: str, reason: str, by: str | None
) -> Superseded:
    """Return the entry that supersedes the rows of one group, and the bands with and without them."""
    first, out = rows[0], {row["run_id"] for row in rows}
    before = [row for row in current if group_of(row) == group_of(first)]
    after = [row for row in before if row["run_id"] not in out]
    bands = [bands_of(each, recipe=recipe, profile=profile, checksum=first["data"]["checksum"]) for each in (before, after)]
    entry: Entry = {
        "schema": ENTRY_SCHEMA,
        "kind": "superseded",
        "recipe": dict(first["recipe"]),
        "metric": first["metric"],
        "unit": first["unit"],
        "data": dict(first["data"]),
        "run_ids": [row["run_id"] for row in rows],
        "reason": reason,
        "by": by,
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "commit": describe_code().commit,
        "old_bands": _kept(bands[0]),
        "new_bands": _kept(bands[1]),
    }
    check_entry(entry, where="new entry")
    return Superseded(entry, tuple(rows), tuple(after), *bands)


def _kept(bands: Bands) -> dict[str, Any]:
    return {name: judged["band"] and {key: judged["band"][key] for key in BAND_TYPES} for name, judged in bands.items()}


def _chosen(rows: Sequence[Row], *, framework: str | None, release: str | None, place: str) -> list[Row]:
    of_framework = [row for row in rows if framework in (None, row["context"]["framework"])]
    if not of_framework:
        names = sorted({row["context"]["framework"] for row in rows})
        raise UsageError(f"--framework: {place} has no standing samples of {framework}. There are samples of {', '.join(names)}.")
    chosen = [row for row in of_framework if release in (None, *_names_of(row["framework_version"]))]
    if not chosen:
        releases = sorted({row["framework_version"] for row in of_framework})
        raise UsageError(
            f"--release: {place} has no standing samples of {release!r}. There are samples of {', '.join(releases)}."
            f"{nearest(release, releases)}"
        )
    return chosen


def _names_of(release: str) -> tuple[str, str]:
    return release, release.split("+")[0]


def _nothing_stands(rows: Sequence[Row], wanted: dict[str, Any]) -> str:
    if not rows:
        return "there are no standing samples. What there is: vigil reference show"
    versions = sorted({f"version {row['recipe']['version']} ({row['recipe']['hash']})" for row in rows})
    return (
        f"the {len(rows)} standing samples are of {', '.join(versions)}, the recipe is version {wanted['version']} "
        f"({wanted['hash']}): they judge nothing as it is, and need no entry"
    )


def _place(wanted: dict[str, Any]) -> str:
    return f"{wanted['name']}, profile {wanted['profile']}"
