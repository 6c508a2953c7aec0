"""What runs can end in, asked before any is made: training for hours towards `unknown` should be somebody's choice."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from vigil.data.official import metric_of
from vigil.documents.comparison import ReleaseVerdict
from vigil.documents.judgement import Judgement
from vigil.documents.reference_row import ReferenceRow
from vigil.documents.verdict import Verdict
from vigil.paths import reference_directory
from vigil.recipes.loading import identity_of
from vigil.references.exact import exact_for
from vigil.references.judge import judge, why_blind
from vigil.references.samples import load_rows, newest_checksum
from vigil.references.usable import basis_of, judging_today
from vigil.runs.plan import Request, targets_of
from vigil.statistics.finite import BandUndefined
from vigil.statistics.paired import prefers_pairs
from vigil.statistics.power import power


def foreseen(request: Request) -> str | None:
    """Return why runs can end in no better word than `unknown` or `ran`; None where they can be `reproduced`."""
    judged = _at_the_mean(request)
    if judged.name is Verdict.REPRODUCED or _has_exact(request):
        return None
    reason = judged.reason
    if judged.name is Verdict.RAN and judged.band is not None:
        seen = judged.sequential.effect if judged.sequential else judged.detectable_drop
        reason = why_blind(seen, mean=judged.band.mean, metric=metric_of(request.recipe.resolve(request.profile))) or reason
    return f"This can end in no better word than `{judged.name}`: {reason}."


def foreseen_pair(request: Request) -> str | None:
    """Return why the same runs under two releases can tell little, whatever they turn out to be; None where they can tell."""
    n = len(request.seeds)
    bound = "Unless the final states are equal bit for bit, or a training step is wrong, this can only end in"
    if n == 1:
        return f"{bound} `{ReleaseVerdict.TOO_FEW_RUNS}`: one seed tells nothing of how much runs scatter. Give two or more."
    training = request.recipe.resolve(request.profile)
    rows, problem = _own(_rows(request), request)
    if problem is not None:
        return None
    try:
        known = basis_of(rows, training)
    except BandUndefined:  # rows without any spread
        return None
    expected, mean = power(known, n), statistics.fmean(row.value for row in rows)
    seen = expected.paired if prefers_pairs(n_new=n, n_old=n, n_pairs=n) else expected.between_releases
    reason = why_blind(seen, mean=mean, metric=metric_of(training))
    return f"{bound} `{ReleaseVerdict.CANNOT_TELL}`: {reason}." if reason else None


def _rows(request: Request) -> list[ReferenceRow]:
    """Return every standing reference row of the recipe."""
    return load_rows(reference_directory(request.recipe.source), request.recipe.name)


def _own(rows: Sequence[ReferenceRow], request: Request) -> tuple[Sequence[ReferenceRow], str | None]:
    """Return those of the rows that would judge the runs today; and why they are too few, if they are."""
    identity, metric = identity_of(request.recipe, request.profile), request.recipe.metric.name
    return judging_today(rows, recipe=identity, metric=metric, source=request.recipe.source)


def _at_the_mean(request: Request) -> Judgement:
    """Return the verdict that the runs would get if each reached the mean of the reference."""
    training, rows = request.recipe.resolve(request.profile), _rows(request)
    own, _ = _own(rows, request)
    mean = statistics.fmean(row.value for row in own) if own else 0.0
    return judge(
        [(seed, mean) for seed in request.seeds],
        rows=rows,
        recipe=identity_of(request.recipe, request.profile),
        metric=metric_of(training),
        checksum=newest_checksum(own),
        n_test=training["data"]["n_test"],
        context=request.context,
        sequential=request.sequential,
        source=request.recipe.source,
    )


def _has_exact(request: Request) -> bool:
    """Is a published value among the seeds that is to come out digit for digit? That needs no reference."""
    if request.sequential:  # seeds that are added until the evidence decides are judged by that alone
        return False
    exact = (exact_for(target, profile=request.profile, context=request.context) for target in targets_of(request.recipe))
    return any(each.seed in request.seeds for each in exact if each)
