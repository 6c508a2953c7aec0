"""What so many runs can see: the smallest drop that they would be flagged for nine times in ten, from the reference rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.site.sources import ProfileFacts, RecipeFacts
from vigil.references.samples import MIN_SAMPLES, MIN_SEEDS, Row, how_to_make
from vigil.statistics.bands import prediction_band
from vigil.statistics.finite import BandUndefined
from vigil.statistics.power import basis, power

RUNS = (1, 2, 3, 5, 8, 10)


@dataclass(frozen=True)
class Power:
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


def powers(recipes: Mapping[str, RecipeFacts], rows: Mapping[str, Sequence[Row]]) -> list[Power]:
    """Return what is known of every profile of every recipe."""
    return [
        _power(recipe, profile, rows[recipe.name])
        for recipe in recipes.values()
        for profile in sorted(recipe.profiles.values(), key=lambda each: each.name)
    ]


def _power(recipe: RecipeFacts, profile: ProfileFacts, rows: Sequence[Row]) -> Power:
    used = [
        row for row in rows
        if (row["recipe"]["version"], row["recipe"]["profile"], row["recipe"]["hash"], row["metric"])
        == (recipe.version, profile.name, profile.hash, recipe.metric["name"])
    ]  # fmt: skip
    if used:  # rows of other data judge nothing of today's: those of the newest are what a run will be held to
        newest = max(used, key=lambda row: row["date"])["data"]["checksum"]
        used = [row for row in used if row["data"]["checksum"] == newest]
    seeds = [row["seed"] for row in used]
    facts = {"recipe": recipe.name, "profile": profile.name, "metric": recipe.metric["name"], "unit": recipe.metric["unit"]}
    facts |= {"rows": len(used), "seeds": len(set(seeds))}
    none = {"drops": {}, "framework": None, "low": None, "high": None, "spread": None}
    if len(used) < MIN_SAMPLES or len(set(seeds)) < MIN_SEEDS:
        place = {"name": recipe.name, "profile": profile.name}
        why = f"needed are {MIN_SAMPLES} reference rows of {MIN_SEEDS} seeds; {how_to_make(place)}"
        return Power(**facts, **none, why_none=why)
    try:
        frameworks = [row["context"]["framework"] for row in used]
        values = [row["value"] for row in used]
        known = basis(values, seeds=seeds, frameworks=frameworks, unit=recipe.metric["unit"], n_test=profile.n_test)
        band = prediction_band(known.samples, spread_floor=known.floor, **known.labels)
        drops = {n: power(known, n).against_reference for n in RUNS}
    except BandUndefined as error:
        return Power(**facts, **none, why_none=str(error))
    told = {"framework": known.labels["framework"], "low": band.low, "high": band.high, "spread": known.spread}
    return Power(**facts, drops=drops, why_none=None, **told)
