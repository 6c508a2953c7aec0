"""Which reference rows may judge runs of these seeds in this context, and what a reader should know of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vigil.documents.identity import Identity
from vigil.documents.judgement import Metric
from vigil.documents.provenance import Environment, processor_of
from vigil.documents.reference_row import ReferenceRow
from vigil.references.samples import MIN_SAMPLES, MIN_SEEDS, how_to_make, newest_checksum, select
from vigil.statistics.pooling import SampleLabels, frameworks_differ
from vigil.statistics.power import Basis, basis

_COVERAGE = 0.99


def usable_for(
    seeds: Sequence[int],
    *,
    rows: Sequence[ReferenceRow],
    recipe: Identity,
    metric: Metric,
    data: str | None,
    context: str,
    source: str | None = None,
) -> tuple[list[ReferenceRow], str | None, list[str]]:
    """Return the rows that may judge these seeds, what is wrong with them, and what a reader should know.

    A row of one of the seeds in the same context is left out: a run repeats it, and a sample must not judge itself.

    Args:
        seeds: of the runs that are judged, or planned.
        metric: of the recipe. data: the checksum of the runs' data. context: its text.
        source: the file of a recipe of a user's own.
    """
    selection = select(rows, recipe=recipe, metric=metric.name, data=data, source=source)
    if selection.reason is not None:
        return [], selection.reason, []
    units = sorted({row.unit for row in selection.rows} - {metric.unit})
    if units:
        return [], f"the reference samples are in {', '.join(units)}, the recipe's metric is in {metric.unit}", []
    used = [row for row in selection.rows if not (row.seed in seeds and row.context.text == context)]
    n_own, shared = len(selection.rows) - len(used), sorted({row.seed for row in selection.rows} & set(seeds))
    notes = []
    if shared:
        left_out = f"{n_own} of the same context left out of the band" if n_own else "in other contexts only"
        notes.append(f"{_seeds(shared)} also in the reference, {left_out}")
    problem = why_too_few(used, recipe=recipe, what="usable reference samples", source=source)
    return ([], problem, notes) if problem else (used, None, notes)


def judging_today(
    rows: Sequence[ReferenceRow], *, recipe: Identity, metric: str, source: str | None = None
) -> tuple[Sequence[ReferenceRow], str | None]:
    """Return the rows that would judge a run today, those of the newest data; and why they are too few, if they are."""
    newest = newest_checksum(row for row in rows if row.recipe == recipe and row.metric == metric)
    selection = select(rows, recipe=recipe, metric=metric, data=newest, source=source)
    if selection.reason is not None:
        return (), selection.reason
    return selection.rows, why_too_few(selection.rows, recipe=recipe, what="reference samples", source=source)


def basis_of(rows: Sequence[ReferenceRow], training: Mapping[str, Any]) -> Basis:
    """Return the noise that rows show of what is trained. Raises BandUndefined where they have no spread."""
    return basis(
        [row.value for row in rows],
        seeds=[row.seed for row in rows],
        frameworks=[row.framework for row in rows],
        unit=training["metric"]["unit"],
        n_test=training["data"]["n_test"],
    )


def are_enough(rows: Sequence[ReferenceRow]) -> bool:
    """Are there enough samples, of enough seeds, for a band?"""
    return len(rows) >= MIN_SAMPLES and len({row.seed for row in rows}) >= MIN_SEEDS


def why_too_few(rows: Sequence[ReferenceRow], *, recipe: Identity, what: str, source: str | None = None) -> str | None:
    """Return how many of what were found, needed and how to make them; None where there are enough for a band."""
    if are_enough(rows):
        return None
    n_seeds = len({row.seed for row in rows})
    return (
        f"found {len(rows)} {what} of {n_seeds} seeds, needed are {MIN_SAMPLES} samples of {MIN_SEEDS} seeds; "
        f"{how_to_make(recipe.name, recipe.profile, source=source)}"
    )


def labels_of(rows: Sequence[ReferenceRow], *, framework: str | None) -> SampleLabels:
    """Return what the statistics must know of the rows: seed and framework of each, and the framework that is judged."""
    return {"groups": [row.seed for row in rows], "frameworks": [row.framework for row in rows], "framework": framework}


def remarks_on_processor(rows: Sequence[ReferenceRow], environment: Environment) -> list[str]:
    """Return what a reader should know where no row was measured on the processor of the runs that are judged.

    Args:
        environment: of the runs; none of runs that nobody made.
    """
    own, others = _processor(environment), {each for row in rows if (each := _processor(row.environment))}
    if own is None or not others or own in others:
        return []
    here, there = set(own[1].split()), set.intersection(*(set(each[1].split()) for each in others))
    apart = {"lacks": _families(there, beside=here), "has besides": _families(here, beside=there)}
    what = "; ".join(f"{verb} {', '.join(some)}" for verb, some in apart.items() if some)
    names = ", ".join(sorted({each[0] for each in others}))
    text = f"the reference was measured on another processor ({names}), so other digits are expected; this is {own[0]}"
    return [f"{text}, which {what}" if what else text]


def _families(flags: set[str], *, beside: set[str]) -> list[str]:
    """Return instruction sets that `beside` has not; of a family that it has nothing of, the family's name alone."""
    whole = [name for name in ("avx512", "amx") if not any(flag.startswith(name) for flag in beside)]
    return sorted({next((name for name in whole if flag.startswith(name)), flag) for flag in flags - beside})


def _processor(environment: Environment) -> tuple[str, str] | None:
    """Return model and instruction sets; None where they were not recorded."""
    hardware, flags = environment.get("hardware"), environment.get("cpu_flags")
    return (processor_of(hardware), flags) if isinstance(hardware, str) and isinstance(flags, str) else None


def remarks_on(rows: Sequence[ReferenceRow], *, framework: str) -> list[str]:
    """Return what a reader should know of the frameworks in the reference, before it judges runs of one."""
    frameworks = [row.framework for row in rows]
    if framework not in frameworks:
        names = ", ".join(sorted(set(frameworks)))
        return [f"the reference has no runs of {framework}: what sets it apart from {names} for good is not allowed for"]
    p_value = frameworks_differ([row.value for row in rows], seeds=[row.seed for row in rows], frameworks=frameworks)
    if p_value is not None and p_value < 1.0 - _COVERAGE:
        return [f"the reference's frameworks differ (p {p_value:.1g}): the band is around {framework}'s own rows"]
    return []


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]} is" if len(seeds) == 1 else f"seeds {', '.join(str(seed) for seed in seeds)} are"
