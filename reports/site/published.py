"""The reproduction table: what was published beside what was measured here, framework by framework."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.site.cell_results import CellResult, Key
from reports.site.sources import ProfileFacts, RecipeFacts, Sources
from vigil.documents.context import DEVICES, FRAMEWORKS, make_context
from vigil.documents.night import REPRODUCE
from vigil.documents.reference_row import ReferenceRow


@dataclass(frozen=True)
class Measured:
    """Our own runs of one recipe's profile in one framework. difference: from the published value, where there is one."""

    framework: str
    source: str
    releases: str
    values: tuple[float, ...]
    seeds: int
    dates: str
    difference: float | None

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float | None:
        """The standard deviation; none of one run."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None


@dataclass(frozen=True)
class PublishedComparison:
    """One recipe's profile. why_none: why nothing is published for it. missing: framework -> why there is no number."""

    recipe: str
    profile: str
    description: str
    metric: str
    unit: str
    target: Mapping[str, Any] | None
    why_none: str | None
    measured: tuple[Measured, ...]
    missing: Mapping[str, str]


def comparisons(sources: Sources, results: Mapping[Key, Sequence[CellResult]]) -> list[PublishedComparison]:
    """Return the table: for every recipe, those profiles first that follow a published protocol."""
    found = []
    for recipe in sources.recipes.values():
        profiles = sorted(recipe.profiles.values(), key=lambda each: (not _targets(recipe, each), each.name))
        for profile in profiles:
            of_context = [(key[2], results[key]) for key in results if key[:2] == (recipe.name, profile.name)]
            targets: list[Mapping[str, Any] | None] = [*_targets(recipe, profile)]
            for target in targets or [None]:
                found.append(_comparison(recipe, profile, target, rows=sources.rows[recipe.name], of_context=of_context))
    return found


def _comparison(
    recipe: RecipeFacts,
    profile: ProfileFacts,
    target: Mapping[str, Any] | None,
    *,
    rows: Sequence[ReferenceRow],
    of_context: Sequence[tuple[str, Sequence[CellResult]]],
) -> PublishedComparison:
    value = None if target is None else target["value"]
    measured, missing = [], {}
    for framework in FRAMEWORKS:
        ours = [*_of_rows(rows, recipe, profile, framework, value), *_of_history(of_context, recipe, profile, framework, value)]
        measured += ours
        if not ours:
            missing[framework] = (
                "not run: no reference row and no finished run of the recipe as it is now. "
                f"To run it: make reproduce RECIPE={recipe.name} PROFILE={profile.name} FRAMEWORK={framework}"
            )
    return PublishedComparison(
        recipe=recipe.name,
        profile=profile.name,
        description=profile.description,
        metric=recipe.metric["name"],
        unit=recipe.metric["unit"],
        target=target,
        why_none=None if target else _why_none(recipe, profile),
        measured=tuple(measured),
        missing=missing,
    )


def _targets(recipe: RecipeFacts, profile: ProfileFacts) -> list[Mapping[str, Any]]:
    return [target for target in recipe.targets if target["profile"] == profile.name]


def _why_none(recipe: RecipeFacts, profile: ProfileFacts) -> str:
    if not recipe.targets:
        return "no number is published for a model and data like these; the head of the recipe says more"
    protocols = ", ".join(sorted({target["profile"] for target in recipe.targets}))
    own = f"{profile.name} is a smaller task of our own, for which nobody published a number"
    return f"the published protocol is profile {protocols}. {own}"


def _of_rows(
    rows: Sequence[ReferenceRow], recipe: RecipeFacts, profile: ProfileFacts, framework: str, value: float | None
) -> Iterator[Measured]:
    """Yield the reference rows of a framework, release by release: the newest last."""
    used = [
        row for row in rows
        if (row.recipe.version, row.recipe.profile, row.recipe.hash, row.metric)
        == (recipe.version, profile.name, profile.hash, recipe.metric["name"]) and row.framework == framework
    ]  # fmt: skip
    for release in dict.fromkeys(row.framework_version for row in sorted(used, key=lambda row: row.date)):
        of_release = [row for row in used if row.framework_version == release]
        days = sorted({row.date for row in of_release})
        yield _measured(
            framework, "reference rows", release, value,
            runs=[(row.seed, row.value) for row in of_release], days=days,
        )  # fmt: skip


def _of_history(
    of_context: Sequence[tuple[str, Sequence[CellResult]]],
    recipe: RecipeFacts,
    profile: ProfileFacts,
    framework: str,
    value: float | None,
) -> Iterator[Measured]:
    """Yield the clean runs of the release that ran last in the usual context, the last of each seed."""
    # What references are made in, and so what may be set beside a published number.
    usual = {make_context(framework=framework, device=device).text for device in DEVICES}
    runs = [
        run for _, results in of_context for result in results
        if result.kind == REPRODUCE and result.is_clean and result.recipe_hash == profile.hash and result.framework == framework
        for run in result.runs
        if run.value is not None and run.metric == recipe.metric["name"]
        and run.context in usual
    ]  # fmt: skip
    if not runs:
        return
    runs.sort(key=lambda run: run.created)
    release = runs[-1].release
    last = {run.seed: run for run in runs if run.release == release}
    days = sorted({f"{run.created:%Y-%m-%d}" for run in last.values()})
    yield _measured(
        framework, "history, last release run", release or "release unknown", value,
        runs=[(seed, run.value) for seed, run in last.items() if run.value is not None], days=days,
    )  # fmt: skip


def _measured(
    framework: str, source: str, release: str, value: float | None, *, runs: Sequence[tuple[int, float]], days: Sequence[str]
) -> Measured:
    values = tuple(value for _, value in runs)
    return Measured(
        framework=framework,
        source=source,
        releases=release,
        values=values,
        seeds=len({seed for seed, _ in runs}),
        dates=days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
        difference=None if value is None else statistics.fmean(values) - value,
    )
