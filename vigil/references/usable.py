"""Which reference rows may judge runs of these seeds in this context, and what a reader should know of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vigil.references.samples import MIN_SAMPLES, MIN_SEEDS, Row, how_to_make, select
from vigil.statistics.pooling import SampleLabels, frameworks_differ

_COVERAGE = 0.99


def usable_for(
    seeds: Sequence[int],
    *,
    rows: Sequence[Row],
    recipe: Mapping[str, Any],
    metric: Mapping[str, Any],
    data: str,
    context: str,
) -> tuple[list[Row], str | None, list[str]]:
    """Return the rows that may judge these seeds, what is wrong with them, and what a reader should know.

    A row of one of the seeds in the same context is left out: a run repeats it, and a sample must not judge itself.

    Args:
        seeds: of the runs that are judged, or planned. The rest as `verdict.judge` takes it; data: the checksum.
    """
    selection = select(rows, recipe=recipe, metric=metric["name"], data=data)
    if selection.reason is not None:
        return [], selection.reason, []
    units = sorted({row["unit"] for row in selection.rows} - {metric["unit"]})
    if units:
        return [], f"the reference samples are in {', '.join(units)}, the recipe's metric is in {metric['unit']}", []
    used = [row for row in selection.rows if not (row["seed"] in seeds and row["context"]["text"] == context)]
    n_own, shared = len(selection.rows) - len(used), sorted({row["seed"] for row in selection.rows} & set(seeds))
    notes = []
    if shared:
        left_out = f"{n_own} of the same context left out of the band" if n_own else "in other contexts only"
        notes.append(f"{_seeds(shared)} also in the reference, {left_out}")
    n_seeds = len({row["seed"] for row in used})
    if len(used) < MIN_SAMPLES or n_seeds < MIN_SEEDS:
        problem = (
            f"found {len(used)} usable reference samples of {n_seeds} seeds, needed are {MIN_SAMPLES} samples of "
            f"{MIN_SEEDS} seeds; {how_to_make(recipe)}"
        )
        return [], problem, notes
    return used, None, notes


def labels_of(rows: Sequence[Row], *, framework: str | None) -> SampleLabels:
    """Return what the statistics must know of the rows: seed and framework of each, and the framework that is judged."""
    return {
        "groups": [row["seed"] for row in rows],
        "frameworks": [row["context"]["framework"] for row in rows],
        "framework": framework,
    }


def remarks_on(rows: Sequence[Row], *, framework: str) -> list[str]:
    """Return what a reader should know of the frameworks in the reference, before it judges runs of one."""
    frameworks, own = [row["context"]["framework"] for row in rows], framework
    if own not in frameworks:
        names = ", ".join(sorted(set(frameworks)))
        return [f"the reference has no runs of {own}: what sets it apart from {names} for good is not allowed for"]
    p_value = frameworks_differ([row["value"] for row in rows], seeds=[row["seed"] for row in rows], frameworks=frameworks)
    if p_value is not None and p_value < 1.0 - _COVERAGE:
        return [f"the reference's frameworks differ (p {p_value:.1g}): the band is around {own}'s own rows"]
    return []


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]} is" if len(seeds) == 1 else f"seeds {', '.join(str(seed) for seed in seeds)} are"
