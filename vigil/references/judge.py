"""Samples + reference -> `Judgement`, the verdict on an invocation with what it could have caught.

The statistics are in statistics/bands.py, which rows may judge in references/usable.py. Here stands which verdict
the outcome gets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from vigil.documents.context import Context
from vigil.documents.failure import Failure
from vigil.documents.identity import Identity
from vigil.documents.invocation import PublishedTarget, SequentialRule
from vigil.documents.judgement import (
    Judgement,
    JudgingBand,
    MeanBand,
    Metric,
    RunBand,
    RunFailure,
    SeedValue,
    SequentialEvidence,
    WelchTest,
    shown,
)
from vigil.documents.provenance import Environment
from vigil.documents.reference_row import ReferenceRow
from vigil.documents.verdict import Verdict
from vigil.references.targets import judge_target
from vigil.references.usable import labels_of, remarks_on, remarks_on_processor, usable_for
from vigil.statistics.bands import (
    POWER,
    WELCH_DECIDES_FROM,
    Band,
    BandComparison,
    compare,
    detectable_drop,
    prediction_band,
)
from vigil.statistics.metric import amount, spread_floor
from vigil.statistics.sequential import evidence_of, explain_evidence


def band_of(
    rows: Sequence[ReferenceRow], *, recipe: Identity, metric: Metric, checksum: str, n_test: int, context: Context
) -> JudgingBand:
    """Return the band of further runs. The arguments are those of `judge`.

    It asks `judge` about runs that nobody made, of seeds that are in no row, so that what is shown is what judges.
    """
    first = max((row.seed for row in rows), default=-1) + 1
    usual = math.fsum(row.value for row in rows) / max(len(rows), 1)
    one, three = (
        judge(
            [(first + seed, usual) for seed in range(count)],
            rows=rows,
            recipe=recipe,
            metric=metric,
            checksum=checksum,
            n_test=n_test,
            context=context,
        )
        for count in (1, 3)
    )
    return JudgingBand(
        band=one.band,
        reason=None if one.band else one.reason,
        catches={1: one.detectable_drop, 3: three.detectable_drop},
    )


def failed(failure: Failure, *, metric: Metric, seed: int, values: Sequence[SeedValue]) -> Judgement:
    """Return the verdict on an invocation that a failed or refused run decides.

    Args:
        failure: of the run of this seed. values: of the seeds that finished, not judged.
    """
    verdict = without_band(failure.verdict, failure.message, metric=metric, values=values)
    return verdict.replace(
        failure=RunFailure(
            seed=seed,
            category=failure.category,
            phase=failure.phase,
            step=failure.step,
            log_tail=failure.log_tail,
            triage=failure.triage,
        ),
    )


def without_band(name: Verdict, reason: str, *, metric: Metric, values: Sequence[SeedValue]) -> Judgement:
    """Return a verdict that no reference has a part in."""
    return Judgement(
        name=name,
        reason=reason,
        metric=metric.name,
        unit=metric.unit,
        direction=metric.direction,
        values=tuple(values),
        mean=None,
        p_value=None,
        band=None,
        mean_band=None,
        welch=None,
        sequential=None,
        detectable_drop=None,
        power=POWER,
        targets=(),
    )


def judge(
    values: Sequence[tuple[int, float | None]],
    *,
    rows: Sequence[ReferenceRow],
    recipe: Identity,
    metric: Metric,
    checksum: str | None,
    n_test: int,
    context: Context,
    coverage: float = 0.99,
    targets: Sequence[PublishedTarget] = (),
    sequential: SequentialRule | None = None,
    environment: Environment | None = None,
    source: str | None = None,
) -> Judgement:
    """Judge the metric of one or more runs of one context.

    One run is judged by the prediction interval for one run, several by the one for their mean and, from 8 runs on, by
    Welch's test too (see `bands.is_outside`); each run also gets a verdict of its own from the interval for one run.
    The reference is centred on its rows of the runs' framework where it has any (see `pooling.pool`).

    Args:
        values: (seed, value) of each run, every seed once.
        rows: from `samples.load_rows`; those that do not fit the recipe are left out here.
        checksum: of the runs' data; rows of other data are left out.
        n_test: the number of test examples, which sets the floor under the spread of a metric in percent.
        context: of the runs. Reference rows of the same seed and context are left out: a run repeats them, and a sample must not
            judge itself.
        targets: the recipe's published targets; judged only under their own profile.
        sequential: where runs are added until the evidence decides: the rule. The reference leaves out all of its planned seeds
            then, so that it is the same at every look.
        environment: in which the runs were made.
        source: the file of a recipe of a user's own.
    Raises:
        ValueError: no value, one that is not finite, or a seed given twice.
    """
    seeds, numbers = [seed for seed, _ in values], _numbers(values)
    used, problem, notes = usable_for(
        seeds if sequential is None else sequential.planned,
        rows=rows,
        recipe=recipe,
        metric=metric,
        data=checksum,
        context=context.text,
        source=source,
    )
    comparison, drop, evidence = None, None, None
    if problem is None:
        floor = spread_floor([row.value for row in used], unit=metric.unit, n_test=n_test)
        samples, labels = [float(row.value) for row in used], labels_of(used, framework=context.framework)
        if floor == 0.0 and prediction_band(samples, **labels).spread == 0.0:
            problem = f"the {len(samples)} reference samples have no spread, and no floor is known for {metric.unit}"
        else:
            comparison = compare(numbers, samples, coverage=coverage, spread_floor=floor, **labels)
            drop = detectable_drop(samples, n_new=len(numbers), coverage=coverage, power=POWER, spread_floor=floor, **labels)
            notes += [*remarks_on(used, framework=context.framework), *remarks_on_processor(used, environment or {})]
            if sequential is not None:
                evidence = evidence_of(
                    list(zip(seeds, numbers, strict=True)),
                    band=comparison.run_band,
                    alpha=sequential.alpha,
                    beta=sequential.beta,
                    delta=sequential.delta,
                    effect=sequential.effect,
                    planned=len(sequential.planned),
                )
    names = _verdicts(comparison, numbers, direction=metric.direction)
    reason = problem if comparison is None else _explain(comparison, names, coverage=coverage, unit=metric.unit)
    if evidence is not None:
        side, reason = explain_evidence(evidence, unit=metric.unit)
        names[0] = Verdict.UNKNOWN if side is None else _verdict(side, direction=metric.direction)
    if comparison is not None:
        seen = drop if evidence is None else evidence.effect
        if says_nothing := why_blind(seen, mean=comparison.run_band.mean, metric=metric):
            names = [Verdict.RAN if name is Verdict.REPRODUCED else name for name in names]
            reason = f"{says_nothing}; {reason}" if names[0] is Verdict.RAN else reason
    test = None if comparison is None or len(numbers) == 1 or evidence is not None else comparison
    run_band = None if comparison is None else comparison.run_band
    return Judgement(
        name=names[0],
        reason="; ".join([reason or "", *notes]),
        metric=metric.name,
        unit=metric.unit,
        direction=metric.direction,
        values=tuple(
            SeedValue(seed=seed, value=value, verdict=name) for seed, value, name in zip(seeds, numbers, names[1:], strict=True)
        ),
        mean=math.fsum(numbers) / len(numbers),
        p_value=None if comparison is None else comparison.p_value if evidence is None else evidence.p_value,
        band=None if run_band is None else _with_origin(run_band, used),
        mean_band=None if test is None else MeanBand(**asdict(test.mean_band)),
        welch=None if test is None or test.welch is None else WelchTest(**asdict(test.welch)),
        sequential=None if evidence is None else SequentialEvidence(**asdict(evidence)),
        detectable_drop=drop if evidence is None else None,
        power=POWER,
        targets=tuple(
            judge_target(
                target,
                numbers,
                metric=metric.name,
                selection=metric.selection,
                unit=metric.unit,
                profile=recipe.profile,
                n_test=n_test,
                coverage=coverage,
                band=run_band,
            )
            for target in targets
        ),
    )


def why_blind(seen: float | None, *, mean: float, metric: Metric, of: str = "the reference's mean") -> str | None:
    """Return why a number inside its band tells nothing: a model that has learned nothing would not be seen. Else None.

    Args:
        seen: the smallest drop that would be seen, in the metric's unit. mean: what is told apart from it, and `of` its name.
    """
    learned = metric.learned(mean)
    if seen is None or learned is None or seen <= learned:
        return None
    gives = shown(metric.chance, metric.unit)
    return (
        f"every phase ran, and that is all it says: a model that has learned nothing gives {gives}, "
        f"{amount(abs(learned), metric.unit)} from {of}; the least that is seen is {amount(seen, metric.unit)}"
    )


def _numbers(values: Sequence[tuple[int, float | None]]) -> list[float]:
    if not values:
        raise ValueError("values: found none, needed is one or more.")
    numbers = []
    for seed, value in values:
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"values: seed {seed}: found {value!r}, allowed are finite numbers.")
        numbers.append(float(value))
    seeds = [seed for seed, _ in values]
    twice = sorted({seed for seed in seeds if seeds.count(seed) > 1})
    if twice:
        raise ValueError(f"values: seed {twice[0]} is given twice; a repeat of a seed is no second sample.")
    return numbers


def _verdicts(comparison: BandComparison | None, numbers: Sequence[float], *, direction: str) -> list[Verdict]:
    """Return the verdict on all runs, then one for each run."""
    if comparison is None:
        return [Verdict.UNKNOWN] * (len(numbers) + 1)
    band = comparison.run_band
    if len(numbers) == 1:
        sides = [comparison.side, comparison.side]
    else:
        of_runs = ["inside" if band.contains(value) else "above" if value > band.mean else "below" for value in numbers]
        sides = [comparison.side, *of_runs]
    return [_verdict(side, direction=direction) for side in sides]


def _verdict(side: str, *, direction: str) -> Verdict:
    if side == "inside":
        return Verdict.REPRODUCED
    return Verdict.REGRESSED if (side == "below") == (direction == "higher") else Verdict.BETTER


def _explain(comparison: BandComparison, names: Sequence[Verdict], *, coverage: float, unit: str) -> str:
    n_runs, band = len(names) - 1, comparison.mean_band
    what = "the value is" if n_runs == 1 else f"the mean of {n_runs} runs is"
    away = f"{amount(abs(comparison.difference), unit)} {'above' if comparison.difference > 0.0 else 'below'}"
    allowed = f"allowed is {amount((band.high - band.low) / 2.0, unit)} either way"
    test = ""
    if n_runs >= WELCH_DECIDES_FROM and comparison.welch is not None:
        test = f" and p {1.0 - band.coverage:.3g} or more, Welch's p is {comparison.welch.p_value:.2g}"
    text = f"{what} {away} the reference's mean, {allowed}{test} (false alarms {1.0 - coverage:.2g})"
    n_outside = sum(name is not Verdict.REPRODUCED for name in names[1:])
    if n_runs > 1 and n_outside:
        text += f"; {n_outside} of {n_runs} runs outside the band for one run"
    return text


def _with_origin(band: Band, rows: Sequence[ReferenceRow]) -> RunBand:
    return RunBand(
        **asdict(band),
        n_seeds=len({row.seed for row in rows}),
        frameworks=tuple(sorted({row.framework for row in rows})),
        dates=tuple(sorted({row.date for row in rows})),
    )
