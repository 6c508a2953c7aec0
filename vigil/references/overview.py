"""What references there are: the samples of each recipe, profile, version and data set as one group, with what judges there.

Groups are documents, so that one serves the table and `--json`. Bands come from `judgement.band_of`, which asks what a run of a
framework would be held against; a group that judges nothing has none.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from vigil.digests import FILE_NAME as LIST
from vigil.documents.context import FRAMEWORKS, make_context
from vigil.documents.document import Part
from vigil.documents.identity import Identity
from vigil.documents.judgement import JudgingBand, Metric
from vigil.documents.reference_row import ReferenceRow, SampleData
from vigil.documents.superseding import SupersedingEntry
from vigil.recipes.loading import Recipe, identity_of
from vigil.references.judge import band_of
from vigil.references.samples import RecipeSamples

IN_USE = "in use"

GroupKey = tuple[str, str, int, str, str, str, str]


Bands = Mapping[str, JudgingBand]  # by framework


class SampleLot(Part):
    """The samples of one context and release; spread: None for a single one."""

    context: str
    release: str
    rows: int
    seeds: tuple[int, ...]
    mean: float | None
    spread: float | None


class SupersededLots(Part):
    """The samples of a group that one entry supersedes."""

    date: str
    reason: str
    by: str | None
    commit: str | None
    rows: int
    contexts: tuple[SampleLot, ...]


class SampleGroup(Part):
    """Samples that could stand in one band. state: "in use", or why not; all but `superseded` counts the standing ones.

    frameworks: the releases of each. dirty: runs of code with uncommitted changes. verified: rows of a context that was verified.
    """

    recipe: Identity
    metric: str
    unit: str
    data: SampleData
    state: str
    in_use: bool
    rows: int
    seeds: tuple[int, ...]
    contexts: tuple[SampleLot, ...]
    frameworks: dict[str, tuple[str, ...]]
    dates: tuple[str, ...]
    hardware: tuple[str, ...]
    commits: tuple[str, ...]
    mean: float | None
    spread: float | None
    bands: dict[str, JudgingBand]
    dirty: tuple[str, ...]
    verified: int
    superseded: tuple[SupersededLots, ...]


def recipes_with_rows(directory: Path) -> list[str]:
    """Return the names of the recipes that have a file of samples in `directory`, or a list of those that it should have."""
    return sorted({path.parent.name for pattern in ("*/*.jsonl", f"*/{LIST}") for path in directory.glob(pattern)})


def overview(samples: RecipeSamples, *, recipe: Recipe | None, profile: str | None = None) -> list[SampleGroup]:
    """Return each group of a recipe's samples: profile, version and hash, metric, data.

    Args:
        recipe: as it stands now; None where its file is not known, and then nothing can be said to be in use.
        profile: only its groups.
    """
    groups: dict[GroupKey, list[ReferenceRow]] = {}
    for row in {row.run_id: row for row in samples.rows}.values():  # a run that is listed twice counts once
        if profile in (None, row.recipe.profile):
            groups.setdefault(group_of(row), []).append(row)
    return [_describe(rows, samples, recipe=recipe) for _, rows in sorted(groups.items(), key=lambda item: str(item[0]))]


def group_of(row: ReferenceRow) -> GroupKey:
    """Return what rows must share to stand in one band."""
    recipe = row.recipe
    return recipe.name, recipe.profile, recipe.version, recipe.hash, row.metric, row.unit, row.data.checksum


def by_context(rows: Iterable[ReferenceRow]) -> tuple[SampleLot, ...]:
    """Return for each context and release how many samples there are, of which seeds, and their mean and spread."""
    lots: dict[tuple[str, str], list[ReferenceRow]] = {}
    for row in rows:
        lots.setdefault((row.context.text, row.framework_version), []).append(row)
    return tuple(
        SampleLot(
            context=context,
            release=release,
            rows=len(own),
            seeds=tuple(sorted({row.seed for row in own})),
            mean=mean_of(own),
            spread=spread_of(own),
        )
        for (context, release), own in sorted(lots.items())
    )


def mean_of(rows: Sequence[ReferenceRow]) -> float | None:
    """Return the mean of rows; None where there are none."""
    return statistics.fmean(row.value for row in rows) if rows else None


def spread_of(rows: Sequence[ReferenceRow]) -> float | None:
    """Return the standard deviation (n - 1) of rows; None where there are fewer than two."""
    return statistics.stdev([row.value for row in rows]) if len(rows) > 1 else None


def bands_of(rows: Sequence[ReferenceRow], *, recipe: Recipe, profile: str, checksum: str) -> dict[str, JudgingBand]:
    """Return what judges runs of each framework, of a recipe's profile and data of this checksum, by these rows."""
    training, identity = recipe.resolve(profile), identity_of(recipe, profile)
    metric, n_test = Metric.of(training), training["data"]["n_test"]
    contexts = {name: make_context(framework=name) for name in FRAMEWORKS}
    return {
        name: band_of(rows, recipe=identity, metric=metric, checksum=checksum, n_test=n_test, context=context)
        for name, context in contexts.items()
    }


def no_bands(reason: str) -> dict[str, JudgingBand]:
    """Return what stands for bands where there are none, for a reason."""
    return {name: JudgingBand(band=None, reason=reason, catches={1: None, 3: None}) for name in FRAMEWORKS}


def have_band(bands: Bands) -> bool:
    """Can a run of every framework be judged?"""
    return all(judging.band for judging in bands.values())


def why_none(bands: Bands) -> str:
    """Return why there is no band, without what to run about it; nothing where there is one."""
    return next((judging.reason.partition("; to make them")[0] for judging in bands.values() if judging.reason), "")


def distinct(bands: Bands) -> list[tuple[str, JudgingBand]]:
    """Return each band once, with the frameworks whose runs it judges; the one that judges all goes without names."""
    names: list[tuple[list[str], JudgingBand]] = []
    for name, judging in bands.items():
        same = next((own for own, other in names if other == judging), None)
        if same is None:
            names.append(([name], judging))
        else:
            same.append(name)
    return [("" if len(names) == 1 else ", ".join(own), judging) for own, judging in names]


def why_not_used(row: ReferenceRow, recipe: Recipe | None) -> str | None:
    """Return why rows like this one judge nothing, whatever their number; None where they are of the recipe as it stands."""
    if recipe is None:
        return "not used: there is no recipe of this name in recipes/; give the path of its file"
    profile = row.recipe.profile
    if profile not in recipe.profiles:
        return f"not used: the recipe has no profile {profile}"
    now = identity_of(recipe, profile)
    if (row.recipe.version, row.recipe.hash) != (now.version, now.hash):
        return f"not used: the recipe has changed, it is version {now.version} ({now.hash}) now"
    if row.metric != recipe.resolve(profile)["metric"]["name"]:
        return "not used: the recipe's metric is another"
    return None


def _describe(rows: Sequence[ReferenceRow], samples: RecipeSamples, *, recipe: Recipe | None) -> SampleGroup:
    """Return one group; its rows are all there are, superseded ones too."""
    standing, first = [row for row in rows if row.run_id not in samples.superseded], rows[0]
    state = why_not_used(first, recipe)
    bands = no_bands(state or "")
    if recipe is not None and state is None:
        bands = bands_of(standing, recipe=recipe, profile=first.recipe.profile, checksum=first.data.checksum)
        why = why_none(bands) if standing else "all samples are superseded"
        state = IN_USE if have_band(bands) else f"not used: {why}"
    return SampleGroup(
        recipe=first.recipe,
        metric=first.metric,
        unit=first.unit,
        data=first.data,
        state=state or "",
        in_use=state == IN_USE,
        rows=len(standing),
        seeds=tuple(sorted({row.seed for row in standing})),
        contexts=by_context(standing),
        frameworks=_releases(standing),
        dates=tuple(sorted({row.date for row in standing})),
        hardware=tuple(sorted({str(row.hardware) for row in standing})),
        commits=tuple(sorted({str(row.commit) for row in standing})),
        mean=mean_of(standing),
        spread=spread_of(standing),
        bands=bands,
        dirty=tuple(row.run_id for row in standing if row.dirty is not False),
        verified=sum(row.is_verified for row in standing),
        superseded=_superseded(rows, samples),
    )


def _releases(rows: Iterable[ReferenceRow]) -> dict[str, tuple[str, ...]]:
    releases: dict[str, set[str]] = {}
    for row in rows:
        releases.setdefault(row.framework, set()).add(row.framework_version)
    return {name: tuple(sorted(own)) for name, own in sorted(releases.items())}


def _superseded(rows: Sequence[ReferenceRow], samples: RecipeSamples) -> tuple[SupersededLots, ...]:
    by_entry: dict[int, tuple[SupersedingEntry, list[ReferenceRow]]] = {}
    for row in rows:
        if entry := samples.superseded.get(row.run_id):
            by_entry.setdefault(id(entry), (entry, []))[1].append(row)
    return tuple(
        SupersededLots(
            date=entry.date, reason=entry.reason, by=entry.by, commit=entry.commit, rows=len(own), contexts=by_context(own)
        )
        for entry, own in by_entry.values()
    )
