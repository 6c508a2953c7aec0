"""Taking samples out of the bands, for a stated reason, without touching a row.

Samples are chosen by profile, framework and release, never run by run: whoever could leave out one seed could choose the mean.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from vigil.documents.identity import Identity
from vigil.documents.line import append_lines
from vigil.documents.reference_row import ReferenceRow
from vigil.documents.superseding import FILE_NAME, KeptBand, SupersedingEntry, sound_reason
from vigil.errors import UsageError, nearest
from vigil.process.environment import describe_code
from vigil.recipes.loading import Recipe, identity_of
from vigil.references.overview import Bands, GroupKey, bands_of, group_of, why_not_used
from vigil.references.samples import load_samples, lock_references


@dataclasses.dataclass(frozen=True)
class Superseded:
    """One group of samples that was superseded: the entry written, its rows, and the bands before and after."""

    entry: SupersedingEntry
    rows: tuple[ReferenceRow, ...]
    remaining: tuple[ReferenceRow, ...]
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
    wanted = identity_of(recipe, profile)
    place = f"{wanted.name}, profile {wanted.profile}"
    with lock_references(directory):
        samples = load_samples(directory, recipe.name)
        standing = list({row.run_id: row for row in samples.standing}.values())
        of_profile = [row for row in standing if row.recipe.profile == profile]
        current = [row for row in of_profile if why_not_used(row, recipe) is None]
        if not current:
            raise UsageError(f"{place}: {_nothing_stands(of_profile, wanted, named=recipe.as_asked)}")
        groups: dict[GroupKey, list[ReferenceRow]] = {}
        for row in _choose(current, framework=framework, release=release, place=place):
            groups.setdefault(group_of(row), []).append(row)
        superseded = [_supersede_group(rows, current, recipe=recipe, reason=reason, by=by) for rows in groups.values()]
        path = directory / recipe.name / FILE_NAME
        append_lines(path, [group.entry for group in superseded])
    return path, superseded


def _supersede_group(
    rows: Sequence[ReferenceRow], current: Sequence[ReferenceRow], *, recipe: Recipe, reason: str, by: str | None
) -> Superseded:
    """Return the entry that supersedes the rows of one group, and the bands with and without them."""
    first, run_ids = rows[0], tuple(row.run_id for row in rows)
    before = [row for row in current if group_of(row) == group_of(first)]
    after = [row for row in before if row.run_id not in run_ids]
    old, new = (
        bands_of(own, recipe=recipe, profile=first.recipe.profile, checksum=first.data.checksum) for own in (before, after)
    )
    entry = SupersedingEntry(
        schema_=SupersedingEntry.SCHEMA,
        kind="superseded",
        recipe=first.recipe,
        metric=first.metric,
        unit=first.unit,
        data=first.data,
        run_ids=run_ids,
        reason=reason,
        by=by,
        date=f"{datetime.now(timezone.utc):%Y-%m-%d}",
        commit=describe_code().commit,
        old_bands=_kept(old),
        new_bands=_kept(new),
    )
    return Superseded(entry, tuple(rows), tuple(after), old, new)


def _kept(bands: Bands) -> dict[str, KeptBand | None]:
    return {
        name: None if judging.band is None else KeptBand(**{key: getattr(judging.band, key) for key in KeptBand.model_fields})
        for name, judging in bands.items()
    }


def _choose(rows: Sequence[ReferenceRow], *, framework: str | None, release: str | None, place: str) -> list[ReferenceRow]:
    of_framework = [row for row in rows if framework in (None, row.framework)]
    if not of_framework:
        names = sorted({row.framework for row in rows})
        raise UsageError(f"--framework: {place} has no standing samples of {framework}. There are samples of {', '.join(names)}.")
    chosen = [row for row in of_framework if release in (None, *_names_of(row.framework_version))]
    if not chosen:
        releases = sorted({row.framework_version for row in of_framework})
        raise UsageError(
            f"--release: {place} has no standing samples of {release!r}. There are samples of {', '.join(releases)}."
            f"{nearest(release, releases)}"
        )
    return chosen


def _names_of(release: str) -> tuple[str, str]:
    return release, release.split("+")[0]


def _nothing_stands(rows: Sequence[ReferenceRow], wanted: Identity, *, named: str) -> str:
    if not rows:
        return f"there are no standing samples. What there is: vigil reference show {named}"
    versions = sorted({f"version {row.recipe.version} ({row.recipe.hash})" for row in rows})
    return (
        f"the {len(rows)} standing samples are of {', '.join(versions)}, the recipe is version {wanted.version} "
        f"({wanted.hash}): they judge nothing as it is, and need no entry"
    )
