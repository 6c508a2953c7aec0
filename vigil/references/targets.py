"""Published values beside ours: which are judged, and in which words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vigil.documents.invocation import PublishedTarget
from vigil.documents.judgement import JudgedTarget
from vigil.statistics.bands import Band
from vigil.statistics.metric import amount
from vigil.statistics.tolerance import tolerance


def beside(target: PublishedTarget, *, reason: str) -> JudgedTarget:
    """Return a published value that is shown and not judged."""
    return JudgedTarget(
        value=target.value,
        published_as=target.published_as,
        source=target.source,
        link=target.link,
        judged=False,
        meets=None,
        tolerance=None,
        reason=reason,
    )


def judge_target(
    target: PublishedTarget,
    numbers: Sequence[float],
    *,
    metric: str,
    selection: str | None,
    unit: str,
    profile: str,
    n_test: int,
    coverage: float,
    band: Band | None,
) -> JudgedTarget:
    """Return a published value beside ours, and whether the two are compatible where that can be told.

    The published value is taken for one run (`statistics.tolerance`).

    Args:
        metric, selection, unit, profile: of our runs.
        band: what the reference says of one run; None without a reference.
    """
    shown = beside(target, reason=why_not_judged(target, metric=metric, selection=selection, profile=profile))
    if shown.reason:
        return shown
    error = target.standard_error or 0.0
    allowed = tolerance(numbers, band=band, unit=unit, n_test=n_test, coverage=coverage, standard_error=error)
    if allowed is None:
        return shown.replace(reason="one run and no reference, so no spread is known")
    difference = math.fsum(numbers) / len(numbers) - target.value
    away = f"{amount(abs(difference), unit)} {'above' if difference > 0.0 else 'below'}"
    spreads = f"spread of {allowed.spread_of}" + (f", and {amount(error, unit)} of the published test" if error else "")
    within = f"within {amount(allowed.size, unit)} counts as met ({spreads})"
    return shown.replace(
        judged=True,
        meets=abs(difference) <= allowed.size,
        tolerance=allowed.size,
        reason=f"ours is {away} the published value, {within}",
    )


def why_not_judged(target: PublishedTarget, *, metric: str, selection: str | None, profile: str) -> str:
    """Return why a value is only shown; nothing where it is judged."""
    if target.profile != profile:
        return f"shown beside: its protocol is profile {target.profile}, this is {profile}"
    for key, published, own in (("metric", target.metric, metric), ("selection", target.selection, selection)):
        if published is not None and own is not None and published != own:
            return f"shown beside: published for {key} {published}, this is {own}"
    return ""
