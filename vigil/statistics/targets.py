"""Published values beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from scipy import stats

from vigil.statistics.bands import Band
from vigil.statistics.metric import amount, spread_floor


def judge_target(
    target: Mapping[str, Any],
    numbers: Sequence[float],
    *,
    metric: Mapping[str, Any],
    profile: str,
    n_test: int,
    coverage: float,
    band: Band | None,
) -> dict[str, Any]:
    """Return a published value beside ours, and whether the two are compatible where that can be told.

    The published value is taken for one run. It is compatible within t * s * sqrt(1 + 1 / m) of the mean of our m runs,
    on either side: s and its degrees of freedom from the reference where there is a band, else from our runs
    where there are two or more, never below the floor.
    """
    shown = {key: target.get(key) for key in ("value", "published_as", "source", "link")}
    shown |= {"judged": False, "meets": None, "tolerance": None}
    mismatch = _why_not_judged(target, metric=metric, profile=profile)
    if mismatch is not None:
        return {**shown, "reason": mismatch}
    n_runs, mean = len(numbers), math.fsum(numbers) / len(numbers)
    if band is not None:
        spread, freedom, source = max(band.spread, band.spread_floor), band.degrees_of_freedom, "the reference"
    elif n_runs >= 2:
        own = math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / (n_runs - 1))
        spread = max(own, spread_floor(numbers, metric=metric, n_test=n_test))
        freedom, source = n_runs - 1.0, f"these {n_runs} runs"
    else:
        return {**shown, "reason": "not judged: one run and no reference, so no spread is known"}
    tolerance = float(stats.t.ppf((1.0 + coverage) / 2.0, freedom)) * spread * math.sqrt(1.0 + 1.0 / n_runs)
    difference = mean - target["value"]
    away = f"{amount(abs(difference), metric['unit'])} {'above' if difference > 0.0 else 'below'}"
    within = f"within {amount(tolerance, metric['unit'])} counts as met (spread of {source})"
    reason = f"ours is {away} the published value, {within}"
    return {**shown, "judged": True, "meets": abs(difference) <= tolerance, "tolerance": tolerance, "reason": reason}


def _why_not_judged(target: Mapping[str, Any], *, metric: Mapping[str, Any], profile: str) -> str | None:
    if target["profile"] != profile:
        return f"shown beside: its protocol is profile {target['profile']}, this is {profile}"
    for key, own in (("metric", metric["name"]), ("selection", metric.get("selection"))):
        published = target.get(key)
        if published is not None and own is not None and published != own:
            return f"shown beside: published for {key} {published}, this is {own}"
    return None
