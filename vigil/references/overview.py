"""What references there are: the samples of each recipe, profile, version and data set as one group, with what judges there.

Everything is made of plain values, so that one document serves the table and `--json`. Bands come from `verdict.band_of`, which
asks what a run of a framework would be held against; a group that judges nothing has none.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vigil.documents.context import FRAMEWORKS, make_context
from vigil.documents.judgement import Metric
from vigil.recipes.loading import Recipe, identity_of
from vigil.references.judge import band_of
from vigil.references.row import Row
from vigil.references.samples import Reference

IN_USE = "in use"

Bands = dict[str, dict[str, Any]]  # framework -> `verdict.band_of` its runs


def recipes_with_rows(directory: Path) -> list[str]:
    """Return the names of the recipes that have a file of samples in `directory`."""
    return sorted({path.parent.name for path in directory.glob("*/*.jsonl")})


def overview(reference: Reference, *, recipe: Recipe | None, profile: str | None = None) -> list[dict[str, Any]]:
    """Return one document for each group of a recipe's samples: profile, version and hash, metric, data.

    Args:
        recipe: as it stands now; None where its file is not known, and then nothing can be said to be in use.
        profile: only its groups.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in {row["run_id"]: row for row in reference.rows}.values():  # a run that is listed twice counts once
        if profile in (None, row["recipe"]["profile"]):
            groups.setdefault(group_of(row), []).append(row)
    return [_describe(rows, reference, recipe=recipe) for _, rows in sorted(groups.items(), key=lambda item: str(item[0]))]


def group_of(row: Row) -> tuple[Any, ...]:
    """Return what rows must share to stand in one band."""
    recipe = row["recipe"]
    data = row["data"]["checksum"]
    return recipe["name"], recipe["profile"], recipe["version"], recipe["hash"], row["metric"], row["unit"], data


def by_context(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return for each context and release how many samples there are, of which seeds, and their mean and spread."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["context"]["text"], row["framework_version"]), []).append(row)
    return [
        {"context": context, "release": release, "rows": len(own), "seeds": sorted({row["seed"] for row in own}), **moments(own)}
        for (context, release), own in sorted(found.items())
    ]


def moments(rows: Sequence[Row]) -> dict[str, float | None]:
    """Return the mean and the spread (n - 1) of rows; None where there are too few."""
    values = [row["value"] for row in rows]
    return {
        "mean": statistics.fmean(values) if values else None,
        "spread": statistics.stdev(values) if len(values) > 1 else None,
    }


def identity(recipe: Recipe, profile: str) -> dict[str, Any]:
    """Return name, version, hash and profile, as they stand in rows."""
    return identity_of(recipe, profile).as_json()


def bands_of(rows: Sequence[Row], *, recipe: Recipe, profile: str, checksum: str) -> Bands:
    """Return `verdict.band_of` these rows for runs of each framework, of a recipe's profile and data of this checksum."""
    training = recipe.resolve(profile)
    bands: Bands = {}
    for name in FRAMEWORKS:
        judging = band_of(
            rows,
            recipe=identity_of(recipe, profile),
            metric=Metric.of(training),
            checksum=checksum,
            n_test=training["data"]["n_test"],
            context=make_context(framework=name),
        )
        band = judging.band.as_json() if judging.band else None
        bands[name] = {"band": band, "reason": judging.reason, "catches": judging.catches}
    return bands


def no_bands(reason: str) -> Bands:
    """Return what stands for bands where there are none, for a reason."""
    return {name: {"band": None, "reason": reason, "catches": {1: None, 3: None}} for name in FRAMEWORKS}


def have_band(bands: Bands) -> bool:
    """Can a run of every framework be judged?"""
    return all(judged["band"] for judged in bands.values())


def why_none(bands: Bands) -> str:
    """Return why there is no band, without what to run about it; nothing where there is one."""
    return next((judged["reason"].partition("; to make them")[0] for judged in bands.values() if judged["reason"]), "")


def distinct(bands: Bands) -> list[tuple[str, dict[str, Any]]]:
    """Return each band once, with the frameworks whose runs it judges; the one that judges all goes without names."""
    found: list[tuple[list[str], dict[str, Any]]] = []
    for name, judged in bands.items():
        same = next((names for names, each in found if each == judged), None)
        if same is None:
            found.append(([name], judged))
        else:
            same.append(name)
    return [("" if len(found) == 1 else ", ".join(names), judged) for names, judged in found]


def why_not_used(row: Row, recipe: Recipe | None) -> str | None:
    """Return why rows like this one judge nothing, whatever their number; None where they are of the recipe as it stands."""
    of = row["recipe"]
    if recipe is None:
        return "not used: there is no recipe of this name in recipes/; give the path of its file"
    if of["profile"] not in recipe.profiles:
        return f"not used: the recipe has no profile {of['profile']}"
    now = identity(recipe, of["profile"])
    if (of["version"], of["hash"]) != (now["version"], now["hash"]):
        return f"not used: the recipe has changed, it is version {now['version']} ({now['hash']}) now"
    if row["metric"] != recipe.resolve(of["profile"])["metric"]["name"]:
        return "not used: the recipe's metric is another"
    return None


def _describe(rows: Sequence[Row], reference: Reference, *, recipe: Recipe | None) -> dict[str, Any]:
    """Return the document of one group; its rows are all there are, superseded ones too."""
    standing, first = [row for row in rows if row["run_id"] not in reference.superseded], rows[0]
    state = why_not_used(first, recipe)
    bands = no_bands(state or "")
    if state is None:
        profile, checksum = first["recipe"]["profile"], first["data"]["checksum"]
        bands = bands_of(standing, recipe=recipe, profile=profile, checksum=checksum)
        why = why_none(bands) if standing else "all samples are superseded"
        state = IN_USE if have_band(bands) else f"not used: {why}"
    return {
        "recipe": dict(first["recipe"]),
        "metric": first["metric"],
        "unit": first["unit"],
        "data": dict(first["data"]),
        "state": state,
        "in_use": state == IN_USE,
        "rows": len(standing),
        "seeds": sorted({row["seed"] for row in standing}),
        "contexts": by_context(standing),
        "frameworks": _releases(standing),
        "dates": sorted({row["date"] for row in standing}),
        "hardware": sorted({str(row["hardware"]) for row in standing}),
        "commits": sorted({str(row["commit"]) for row in standing}),
        **moments(standing),
        "bands": bands,
        "dirty": [row["run_id"] for row in standing if row["dirty"] is not False],
        "verified": sum(row.get("verify", {}).get("verdict") == "reproduced" for row in standing),
        "superseded": _superseded(rows, reference),
    }


def _releases(rows: Iterable[Row]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["context"]["framework"], set()).add(row["framework_version"])
    return {name: sorted(releases) for name, releases in sorted(found.items())}


def _superseded(rows: Sequence[Row], reference: Reference) -> list[dict[str, Any]]:
    by_entry: dict[int, tuple[Mapping[str, Any], list[Row]]] = {}
    for row in rows:
        if entry := reference.superseded.get(row["run_id"]):
            by_entry.setdefault(id(entry), (entry, []))[1].append(row)
    return [
        {**{key: entry[key] for key in ("date", "reason", "by", "commit")}, "rows": len(own), "contexts": by_context(own)}
        for entry, own in by_entry.values()
    ]
