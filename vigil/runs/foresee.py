"""What runs can end in, asked before any is made: training for hours towards `unknown` should be somebody's choice."""

from __future__ import annotations

import statistics

from vigil.documents.comparison import ReleaseVerdict
from vigil.documents.judgement import Judgement, Metric
from vigil.documents.reference_row import ReferenceRow
from vigil.documents.verdict import Verdict
from vigil.paths import reference_directory
from vigil.recipes.loading import identity_of
from vigil.references.judge import judge, why_blind
from vigil.references.samples import load_rows, newest_checksum
from vigil.references.usable import are_enough
from vigil.runs.plan import Request, targets_of
from vigil.statistics.finite import BandUndefined
from vigil.statistics.paired import prefers_pairs
from vigil.statistics.power import basis, power


def foreseen(request: Request) -> str | None:
    """Return why runs can end in no better word than `unknown` or `ran`; None where they can be `reproduced`."""
    judged = _at_the_mean(request)
    if judged.name is Verdict.REPRODUCED or _has_exact(request):
        return None
    reason = judged.reason
    if judged.name is Verdict.RAN and judged.band is not None:
        seen = judged.sequential.effect if judged.sequential else judged.detectable_drop
        reason = why_blind(seen, mean=judged.band.mean, metric=Metric.of(request.recipe.resolve(request.profile))) or reason
    return f"This can end in no better word than `{judged.name}`: {reason}."


def foreseen_pair(request: Request) -> str | None:
    """Return why the same runs under two releases can tell little, whatever they turn out to be; None where they can tell."""
    metric, rows = Metric.of(request.recipe.resolve(request.profile)), _own_rows(request)
    n = len(request.seeds)
    bound = "Unless the final states are equal bit for bit, or a training step is wrong, this can only end in"
    if n == 1:
        return f"{bound} `{ReleaseVerdict.TOO_FEW_RUNS}`: one seed tells nothing of how much runs scatter. Give two or more."
    if not are_enough(rows):
        return None
    try:
        known = basis(
            [row.value for row in rows],
            seeds=[row.seed for row in rows],
            frameworks=[row.framework for row in rows],
            unit=metric.unit,
            n_test=request.recipe.resolve(request.profile)["data"]["n_test"],
        )
    except BandUndefined:  # rows without any spread
        return None
    expected, mean = power(known, n), statistics.fmean(row.value for row in rows)
    seen = expected.paired if prefers_pairs(n_new=n, n_old=n, n_pairs=n) else expected.between_releases
    reason = why_blind(seen, mean=mean, metric=metric)
    return f"{bound} `{ReleaseVerdict.CANNOT_TELL}`: {reason}." if reason else None


def _own_rows(request: Request) -> list[ReferenceRow]:
    """Return the reference rows of the recipe as it is now."""
    identity, source = identity_of(request.recipe, request.profile), request.recipe.source
    rows = load_rows(reference_directory(source), identity.name)
    return [row for row in rows if row.recipe == identity and row.metric == request.recipe.metric.name]


def _at_the_mean(request: Request) -> Judgement:
    """Return the verdict that the runs would get if each reached the mean of the reference."""
    identity, training = identity_of(request.recipe, request.profile), request.recipe.resolve(request.profile)
    metric = Metric.of(training)
    own = _own_rows(request)
    mean = statistics.fmean(row.value for row in own) if own else 0.0
    return judge(
        [(seed, mean) for seed in request.seeds],
        rows=load_rows(reference_directory(request.recipe.source), identity.name),
        recipe=identity,
        metric=metric,
        checksum=newest_checksum(own),
        n_test=training["data"]["n_test"],
        context=request.context,
        sequential=request.sequential,
        source=request.recipe.source,
    )


def _has_exact(request: Request) -> bool:
    """Is a published value among the seeds that is to come out digit for digit? That needs no reference."""
    return any(
        target.exact is not None
        and target.profile == request.profile
        and target.exact.seed in request.seeds
        and request.context.precision in target.exact.precisions
        and request.context.randomness == "shared"
        for target in targets_of(request.recipe)
    )
