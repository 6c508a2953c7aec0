"""Published values that are to come out digit for digit: one seed is held to them, and needs no reference.

The rest of an invocation is judged by its band, as ever; seeds that are added until the evidence decides by that, all of them.
Both must hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from vigil.documents.context import Context
from vigil.documents.identity import Identity
from vigil.documents.invocation import ExactTarget, PublishedTarget
from vigil.documents.judgement import ExactOutcome, JudgedTarget, Judgement, Metric, SeedValue, shown
from vigil.documents.verdict import Verdict
from vigil.references.judge import judge, without_band
from vigil.references.targets import beside, why_not_judged

# The worst first.
_ORDER = (Verdict.REGRESSED, Verdict.BETTER, Verdict.UNKNOWN, Verdict.RAN, Verdict.REPRODUCED)


def judge_runs(
    values: Sequence[tuple[int, float | None]],
    *,
    metrics: Mapping[int, Mapping[str, float]],
    recipe: Identity,
    metric: Metric,
    context: Context,
    targets: Sequence[PublishedTarget],
    **reference: Any,
) -> Judgement:
    """Judge the metric of one or more runs of one context: exactly where a published value says so, else by the band.

    Args:
        values: (seed, value) of each run, every seed once.
        metrics: by seed, all that the last evaluation of its run gave.
        reference: what `judge` takes besides.
    """
    outcomes = _outcomes(targets, metrics, profile=recipe.profile, context=context)
    is_sequential = reference.get("sequential") is not None
    decided = _decided(outcomes, metric)
    rest, others = None, [(seed, value) for seed, value in values if is_sequential or seed not in decided]
    if others:
        rest = judge(others, recipe=recipe, metric=metric, context=context, targets=targets, **reference)
    if rest and not outcomes:
        return rest
    return _with_exact(rest, outcomes, values, metric=metric, targets=targets, profile=recipe.profile)


def exact_for(target: PublishedTarget, *, profile: str, context: Context) -> ExactTarget | None:
    """Return how a published value is to come out digit for digit in such runs; None where it is not."""
    exact = target.exact
    if exact is None or (target.profile, context.randomness) != (profile, "shared"):
        return None
    return exact if context.precision in exact.precisions else None


def _outcomes(
    targets: Sequence[PublishedTarget], metrics: Mapping[int, Mapping[str, float]], *, profile: str, context: Context
) -> dict[int, JudgedTarget]:
    """Return place among the targets -> the published value beside ours, where it is to come out digit for digit.

    Another profile, precision or randomness than the value is exact for leaves it out.
    """
    found = {}
    for place, target in enumerate(targets):
        exact, metric = exact_for(target, profile=profile, context=context), target.metric
        value = metrics.get(exact.seed, {}).get(metric) if exact and metric else None
        if exact is None or metric is None or value is None:
            continue
        difference = value - target.value
        side = "above" if difference > 0.0 else "below"
        found[place] = beside(
            target,
            reason=f"ours is {value:.9f}, {abs(difference):.1e} {side}; allowed is {exact.within:.0e}, half of the last digit",
        ).replace(
            judged=True,
            meets=math.isfinite(value) and abs(difference) <= exact.within,
            tolerance=exact.within,
            exact=ExactOutcome(metric=metric, seed=exact.seed, value=value),
        )
    return found


def _decided(outcomes: Mapping[int, JudgedTarget], metric: Metric) -> set[int]:
    """Return the seeds whose value of the metric is to come out digit for digit."""
    return {each.exact.seed for each in outcomes.values() if each.exact and each.exact.metric == metric.name}


def _with_exact(
    rest: Judgement | None,
    outcomes: Mapping[int, JudgedTarget],
    values: Sequence[tuple[int, float | None]],
    *,
    metric: Metric,
    targets: Sequence[PublishedTarget],
    profile: str,
) -> Judgement:
    """Return the verdict on all runs, of which `rest` is the band's on those that no value is exact for, if there are any."""
    name = _name(list(outcomes.values()), metric=metric)
    decided = _decided(outcomes, metric)
    names = {entry.seed: entry.verdict for entry in rest.values if entry.seed not in decided} if rest else {}
    numbers = [value for _, value in values if value is not None]
    which = "all" if rest and rest.sequential else "other"
    reasons = [_text(outcomes), *([f"{which} seeds: {rest.name}, {rest.reason}"] if rest else [])]
    base = rest or without_band(name, "", metric=metric, values=())
    return base.replace(
        name=name if rest is None else min(name, rest.name, key=_ORDER.index),
        # Digits that are not as printed are no chance, however well the other seeds lie.
        p_value=base.p_value if name is Verdict.REPRODUCED else None,
        reason="; ".join(reasons),
        values=tuple(SeedValue(seed=seed, value=value, verdict=names.get(seed, name)) for seed, value in values),
        mean=math.fsum(numbers) / len(numbers),
        targets=tuple(
            outcomes.get(place) or (rest.targets[place] if rest else _beside(target, metric=metric, profile=profile))
            for place, target in enumerate(targets)
        ),
    )


def _name(outcomes: Sequence[JudgedTarget], *, metric: Metric) -> Verdict:
    missed = [each for each in outcomes if not each.meets]
    if not missed:
        return Verdict.REPRODUCED
    # A smaller loss beside fewer right answers is no improvement.
    is_better = all(
        each.exact and each.exact.metric == metric.name and (each.exact.value > each.value) == (metric.direction == "higher")
        for each in missed
    )
    return Verdict.BETTER if is_better else Verdict.REGRESSED


def _text(outcomes: Mapping[int, JudgedTarget]) -> str:
    parts = []
    for each in outcomes.values():
        assert each.exact is not None
        ours = f"{each.exact.metric} {shown(each.exact.value, 'exact')}"
        parts.append(f"{ours} is the published value" if each.meets else f"{ours} is not the published {each.value:g}")
    seed = next(iter(outcomes.values())).exact
    return f"digit for digit: {', '.join(parts)}" + (f" (seed {seed.seed})" if seed else "")


def _beside(target: PublishedTarget, *, metric: Metric, profile: str) -> JudgedTarget:
    reason = why_not_judged(target, metric=metric.name, selection=metric.selection, profile=profile)
    return beside(target, reason=reason or "shown beside: the verdict stands on printed digits")
