"""What so many runs can see: the smallest drop that they would be flagged for nine times in ten, from the reference rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from reports.site.sources import ProfileFacts, RecipeFacts
from vigil.documents.identity import Identity
from vigil.documents.reference_row import ReferenceRow
from vigil.references.samples import MIN_SAMPLES, MIN_SEEDS, how_to_make
from vigil.references.usable import are_enough, judging_today
from vigil.statistics.bands import prediction_band
from vigil.statistics.finite import BandUndefined
from vigil.statistics.power import basis, power

RUNS = (1, 2, 3, 5, 8, 10)


@dataclass(frozen=True)
class ProfilePower:
    """One recipe's profile. drops: of each number of runs. framework: whose band it is. why_none: why none are known."""

    recipe: str
    profile: str
    metric: str
    unit: str
    drops: Mapping[int, float]
    framework: str | None
    low: float | None
    high: float | None
    spread: float | None
    rows: int
    seeds: int
    why_none: str | None


def powers(recipes: Mapping[str, RecipeFacts], rows: Mapping[str, Sequence[ReferenceRow]]) -> list[ProfilePower]:
    """Return what is known of every profile of every recipe."""
    return [
        _power(recipe, profile, rows[recipe.name])
        for recipe in recipes.values()
        for profile in sorted(recipe.profiles.values(), key=lambda each: each.name)
    ]


def mean_bands(
    recipes: Mapping[str, RecipeFacts], rows: Mapping[str, Sequence[ReferenceRow]]
) -> Callable[[str, str, str], Callable[[int], float | None]]:
    """Return, for a recipe, a profile and a framework, how wide the band for the mean of n runs is beside that for one run.

    Both are t * s * sqrt(1 / n + 1 / size) with the same t and s (`bands.half_width`), so that the share needs the effective
    size of the reference alone. None where there is no reference of the recipe as it is now.
    """

    @functools.cache
    def size(name: str, profile_name: str, framework: str) -> float | None:
        recipe = recipes.get(name)
        profile = recipe.profiles.get(profile_name) if recipe else None
        used = _used(recipe, profile, rows.get(name, ())) if recipe and profile else []
        if not are_enough(used):
            return None
        own = [row.framework for row in used]
        named = framework if framework in own else None
        try:
            values = [row.value for row in used]
            return prediction_band(values, groups=[row.seed for row in used], frameworks=own, framework=named).n_effective
        except BandUndefined:
            return None

    def of_cell(name: str, profile: str, framework: str) -> Callable[[int], float | None]:
        def share(n: int) -> float | None:
            samples = size(name, profile, framework)
            return None if samples is None else math.sqrt((1 / n + 1 / samples) / (1 + 1 / samples))

        return share

    return of_cell


def _used(recipe: RecipeFacts, profile: ProfileFacts, rows: Sequence[ReferenceRow]) -> Sequence[ReferenceRow]:
    """Return the rows that would judge a recipe's profile today, be they too few."""
    identity = Identity(name=recipe.name, version=recipe.version, hash=profile.hash, profile=profile.name)
    return judging_today(rows, recipe=identity, metric=recipe.metric["name"])[0]


def _power(recipe: RecipeFacts, profile: ProfileFacts, rows: Sequence[ReferenceRow]) -> ProfilePower:
    used = _used(recipe, profile, rows)
    seeds = [row.seed for row in used]
    shown = ProfilePower(
        recipe=recipe.name,
        profile=profile.name,
        metric=recipe.metric["name"],
        unit=recipe.metric["unit"],
        drops={},
        framework=None,
        low=None,
        high=None,
        spread=None,
        rows=len(used),
        seeds=len(set(seeds)),
        why_none=None,
    )
    if not are_enough(used):
        needed = f"needed are {MIN_SAMPLES} reference rows of {MIN_SEEDS} seeds"
        return replace(shown, why_none=f"{needed}; {how_to_make(recipe.name, profile.name)}")
    try:
        known = basis(
            [row.value for row in used],
            seeds=seeds,
            frameworks=[row.framework for row in used],
            unit=recipe.metric["unit"],
            n_test=profile.n_test,
        )
        band = prediction_band(known.samples, spread_floor=known.floor, **known.labels)
        drops = {n: power(known, n).against_reference for n in RUNS}
    except BandUndefined as error:
        return replace(shown, why_none=str(error))
    framework = known.labels["framework"]
    return replace(shown, drops=drops, framework=framework, low=band.low, high=band.high, spread=known.spread)
