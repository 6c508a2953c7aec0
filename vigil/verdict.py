"""Samples + reference -> verdict, with what it could have caught: the `verdict` object of invocation.json.

The statistics are in bands.py. Here stands what may be compared with what, and which words the outcome gets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scipy import stats

from vigil.bands import (
    POWER,
    WELCH_DECIDES_FROM,
    Band,
    Comparison,
    binomial_floor,
    compare,
    detectable_drop,
)
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN
from vigil.reference import MIN_SAMPLES, MIN_SEEDS, Row, how_to_make, select

REPRODUCED, REGRESSED, BETTER, UNKNOWN = "reproduced", "regressed", "better-than-reference", "unknown"
UNSUPPORTED, FAILED = "unsupported", "failed:"

_EXIT_CODES = {
    REPRODUCED: EXIT_REPRODUCED,
    REGRESSED: EXIT_OUTSIDE,
    BETTER: EXIT_OUTSIDE,
    UNSUPPORTED: EXIT_COULD_NOT_RUN,
    UNKNOWN: EXIT_UNKNOWN,
}


def exit_code(verdict_name: str) -> int:
    """Return the exit code of a verdict: 0 reproduced, 1 outside the band, 3 could not run, 4 unknown."""
    if verdict_name.startswith(FAILED):
        return EXIT_COULD_NOT_RUN
    if verdict_name not in _EXIT_CODES:
        allowed = ", ".join(_EXIT_CODES)
        raise ValueError(f"verdict: found {verdict_name!r}, allowed are {allowed} and {FAILED}<category>.")
    return _EXIT_CODES[verdict_name]


def failed(
    failure: Mapping[str, Any], *, metric: Mapping[str, Any], seed: int, values: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the `verdict` object of an invocation that a failed or refused run decides.

    Args:
        failure: of the run of this seed, as it is recorded. values: of the seeds that finished, not judged.
    """
    return {
        "name": UNSUPPORTED if failure["category"] == UNSUPPORTED else f"{FAILED}{failure['category']}",
        "reason": failure["message"],
        "metric": metric["name"],
        "unit": metric["unit"],
        "direction": metric["direction"],
        "values": list(values),
        "mean": None,
        "band": None,
        "mean_band": None,
        "welch": None,
        "detectable_drop": None,
        "power": POWER,
        "targets": [],
        "failure": {"seed": seed, **{key: failure[key] for key in ("category", "phase", "step", "log_tail")}},
    }


def judge(
    values: Sequence[tuple[int, float]],
    *,
    rows: Sequence[Row],
    recipe: Mapping[str, Any],
    metric: Mapping[str, Any],
    data: Mapping[str, Any],
    context: str,
    profile: str,
    coverage: float = 0.99,
    targets: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Judge the metric of one or more runs of one context and return the `verdict` object of invocation.json.

    One run is judged by the prediction interval for one run, several by the one for their mean and, from 8 runs on, by
    Welch's test too (see `bands.is_outside`); each run also gets a verdict of its own from the interval for one run.

    Args:
        values: (seed, value) of each run, every seed once.
        rows: from `reference.load_rows`; those that do not fit the recipe are left out here.
        recipe: name, version, hash, profile.
        metric: name, unit, direction ("higher" or "lower"), and selection where targets carry one.
        data: `checksum`, by which rows of other data are left out, and `n_test`, the number of test examples, which sets the
            floor under the spread of a metric in percent.
        context: the text of the runs' context. Reference rows of the same seed and context are left out: a run repeats
            them, and a sample must not judge itself.
        targets: the recipe's published targets; judged only under their own profile.
    Raises:
        ValueError: no value, one that is not finite, a seed given twice, or an unknown direction.
    """
    _check_values(values)
    if metric["direction"] not in ("higher", "lower"):
        raise ValueError(f"metric.direction: found {metric['direction']!r}, allowed are higher and lower.")
    seeds, numbers = [seed for seed, _ in values], [float(value) for _, value in values]
    used, problem, notes = _reference_for(
        seeds, rows=rows, recipe=recipe, metric=metric, data=data["checksum"], context=context
    )
    comparison, drop = None, None
    if problem is None:
        floor = _floor([row["value"] for row in used], metric=metric, n_test=data["n_test"])
        samples, groups = [float(row["value"]) for row in used], [row["seed"] for row in used]
        if floor == 0.0 and len(set(samples)) == 1:
            problem = f"the {len(samples)} reference samples are all equal, and no floor is known for {metric['unit']}"
        else:
            comparison = compare(numbers, samples, coverage=coverage, spread_floor=floor, groups=groups)
            drop = detectable_drop(samples, n_new=len(numbers), coverage=coverage, power=POWER, spread_floor=floor, groups=groups)
    names = _words(comparison, numbers, direction=metric["direction"])
    reason = problem if comparison is None else _explain(comparison, names, coverage=coverage, unit=metric["unit"])
    return {
        "name": names[0],
        "reason": "; ".join([reason, *notes]),
        "metric": metric["name"],
        "unit": metric["unit"],
        "direction": metric["direction"],
        "values": [
            {"seed": seed, "value": value, "verdict": name} for seed, value, name in zip(seeds, numbers, names[1:], strict=True)
        ],
        "mean": math.fsum(numbers) / len(numbers),
        "band": None if comparison is None else _describe(comparison.run_band, used),
        "mean_band": asdict(comparison.mean_band) if comparison is not None and len(numbers) > 1 else None,
        "welch": asdict(comparison.welch) if comparison is not None and comparison.welch is not None else None,
        "detectable_drop": drop,
        "power": POWER,
        "targets": [
            _judge_target(
                target,
                numbers,
                metric=metric,
                profile=profile,
                n_test=data["n_test"],
                coverage=coverage,
                band=None if comparison is None else comparison.run_band,
            )
            for target in targets
        ],
    }


def _check_values(values: Sequence[tuple[int, float]]) -> None:
    if not values:
        raise ValueError("values: found none, needed is one or more.")
    for seed, value in values:
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"values: seed {seed}: found {value!r}, allowed are finite numbers.")
    seeds = [seed for seed, _ in values]
    twice = sorted({seed for seed in seeds if seeds.count(seed) > 1})
    if twice:
        raise ValueError(f"values: seed {twice[0]} is given twice; a repeat of a seed is no second sample.")


def _reference_for(
    seeds: Sequence[int],
    *,
    rows: Sequence[Row],
    recipe: Mapping[str, Any],
    metric: Mapping[str, Any],
    data: str,
    context: str,
) -> tuple[list[Row], str | None, list[str]]:
    """Return the rows that may judge these seeds, what is wrong with them, and what a reader should know."""
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


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]} is" if len(seeds) == 1 else f"seeds {', '.join(str(seed) for seed in seeds)} are"


def _floor(values: Sequence[float], *, metric: Mapping[str, Any], n_test: int) -> float:
    # Only of a share of right answers is the measurement noise known from the number of examples.
    return binomial_floor(math.fsum(values) / len(values), n_test=n_test) if metric["unit"] == "percent" else 0.0


def _words(comparison: Comparison | None, numbers: Sequence[float], *, direction: str) -> list[str]:
    """Return the verdict on all runs, then one for each run."""
    if comparison is None:
        return [UNKNOWN] * (len(numbers) + 1)
    worse = "below" if direction == "higher" else "above"
    band = comparison.run_band
    if len(numbers) == 1:
        sides = [comparison.side, comparison.side]
    else:
        each = ["inside" if band.contains(value) else "above" if value > band.mean else "below" for value in numbers]
        sides = [comparison.side, *each]
    return [REPRODUCED if side == "inside" else REGRESSED if side == worse else BETTER for side in sides]


def _explain(comparison: Comparison, names: Sequence[str], *, coverage: float, unit: str) -> str:
    n_runs, band = len(names) - 1, comparison.mean_band
    what = "the value is" if n_runs == 1 else f"the mean of {n_runs} runs is"
    away = f"{_amount(abs(comparison.difference), unit)} {'above' if comparison.difference > 0.0 else 'below'}"
    allowed = f"allowed is {_amount((band.high - band.low) / 2.0, unit)} either way"
    test = ""
    if n_runs >= WELCH_DECIDES_FROM:
        test = f" and p {1.0 - band.coverage:.3g} or more, Welch's p is {comparison.welch.p_value:.2g}"
    text = f"{what} {away} the reference's mean, {allowed}{test} (false alarms {1.0 - coverage:.2g})"
    n_outside = sum(name != REPRODUCED for name in names[1:])
    if n_runs > 1 and n_outside:
        text += f"; {n_outside} of {n_runs} runs outside the band for one run"
    return text


def _amount(size: float, unit: str) -> str:
    return f"{size:.2f} points" if unit == "percent" else f"{size:.4g} {unit}"


def _describe(band: Band, rows: Sequence[Row]) -> dict[str, Any]:
    return {
        **asdict(band),
        "n_seeds": len({row["seed"] for row in rows}),
        "frameworks": sorted({row["context"]["framework"] for row in rows}),
        "dates": sorted({row["date"] for row in rows}),
    }


def _judge_target(
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
        spread, freedom, source = max(band.spread, band.spread_floor), band.n_effective - 1.0, "the reference"
    elif n_runs >= 2:
        own = math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / (n_runs - 1))
        spread = max(own, _floor(numbers, metric=metric, n_test=n_test))
        freedom, source = n_runs - 1.0, f"these {n_runs} runs"
    else:
        return {**shown, "reason": "not judged: one run and no reference, so no spread is known"}
    tolerance = float(stats.t.ppf((1.0 + coverage) / 2.0, freedom)) * spread * math.sqrt(1.0 + 1.0 / n_runs)
    difference = mean - target["value"]
    away = f"{_amount(abs(difference), metric['unit'])} {'above' if difference > 0.0 else 'below'}"
    within = f"within {_amount(tolerance, metric['unit'])} counts as met (spread of {source})"
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
