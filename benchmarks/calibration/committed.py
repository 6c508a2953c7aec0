"""The bands that the committed references make, around all rows and around those of each framework."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.draws import Table
from vigil.paths import reference_directory
from vigil.recipes.loading import load_recipe, recipe_hash, recipe_names
from vigil.references.samples import load_rows
from vigil.statistics.bands import Band, prediction_band
from vigil.statistics.metric import spread_floor
from vigil.statistics.pooling import frameworks_differ

_PROFILE = "quick"


def bands(generator: np.random.Generator) -> Table:
    """Return the quick profiles' bands for one run and for the mean of three. Nothing is drawn."""
    table = Table(
        "The committed references, profile quick: bands around all rows (the rule before) and around each framework's",
        ["recipe", "centre", "one run", "mean of 3 runs", "s", "degrees of freedom", "wider by, one and 3 runs"],
    )
    notes = []
    for name in recipe_names():
        training = load_recipe(name).resolve(_PROFILE)
        rows = [row for row in load_rows(reference_directory(), name) if row.recipe.hash == recipe_hash(training)]
        if not rows:
            continue
        samples, seeds = [row.value for row in rows], [row.seed for row in rows]
        frameworks = [row.framework for row in rows]
        floor = spread_floor(samples, unit=training["metric"]["unit"], n_test=training["data"]["n_test"])

        def pair(framework: str | None, *, known: tuple = (samples, seeds, frameworks, floor)) -> list[Band]:
            values, groups, names, least = known
            labels = {"groups": groups, "frameworks": names, "framework": framework}
            return [prediction_band(values, spread_floor=least, n_new=n, **labels) for n in (1, 3)]

        before = pair(None)
        table.rows.append([name, "all rows", *_cells(before), "-"])
        for framework in sorted(set(frameworks)):
            found = pair(framework)
            wider = [(now.high - now.low) / (was.high - was.low) - 1.0 for now, was in zip(found, before, strict=True)]
            table.rows.append([name, framework, *_cells(found), ", ".join(f"{100.0 * each:+.1f} %" for each in wider)])
        p_value = frameworks_differ(samples, seeds=seeds, frameworks=frameworks)
        notes.append(f"{name} p {p_value:.2f}" if p_value is not None else f"{name} not known")
    table.note = f"Do the frameworks of the reference differ? {', '.join(notes)}."
    return table


def _cells(found: list[Band]) -> list[str]:
    one = found[0]
    return [*(f"{each.low:.2f} to {each.high:.2f}" for each in found), f"{one.spread:.2f}", f"{one.degrees_of_freedom:.1f}"]
