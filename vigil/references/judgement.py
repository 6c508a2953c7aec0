"""Samples + reference -> verdict, with what it could have caught: the `verdict` object of invocation.json.

The statistics are in statistics/bands.py, which rows may judge in references/usable.py. Here stands which words the outcome gets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from vigil.documents.context import parse_context
from vigil.documents.invocation import PublishedTarget
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN
from vigil.references.samples import Row
from vigil.references.targets import judge_target
from vigil.references.usable import labels_of, remarks_on, usable_for
from vigil.statistics.bands import (
    POWER,
    WELCH_DECIDES_FROM,
    Band,
    Comparison,
    compare,
    detectable_drop,
    prediction_band,
)
from vigil.statistics.metric import amount, spread_floor
from vigil.statistics.sequential import Evidence, evidence_of, explain_evidence

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


def band_of(
    rows: Sequence[Row], *, recipe: Mapping[str, Any], metric: Mapping[str, Any], data: Mapping[str, Any], context: str
) -> dict[str, Any]:
    """Return what `judge` holds further runs of a context against, whatever they turn out to be.

    It asks `judge` about runs that nobody made, of seeds that are in no row, so that what is shown is what judges.

    Args:
        rows, recipe, metric, data, context: as `judge` takes them.
    Returns:
        band: the `band` of a verdict on one run; None where there is none.
        reason: why there is none, else None.
        catches: by number of runs, 1 and 3, the `detectable_drop` of a verdict on so many.
    """
    first = max((row["seed"] for row in rows), default=-1) + 1
    usual = math.fsum(row["value"] for row in rows) / max(len(rows), 1)
    judged = {
        count: judge(
            [(first + seed, usual) for seed in range(count)],
            rows=rows,
            recipe=recipe,
            metric=metric,
            data=data,
            context=context,
            profile=recipe["profile"],
        )
        for count in (1, 3)
    }
    band = judged[1]["band"]
    return {
        "band": band,
        "reason": None if band else judged[1]["reason"],
        "catches": {count: verdict["detectable_drop"] for count, verdict in judged.items()},
    }


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
        "p_value": None,
        "band": None,
        "mean_band": None,
        "welch": None,
        "sequential": None,
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
    sequential: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Judge the metric of one or more runs of one context and return the `verdict` object of invocation.json.

    One run is judged by the prediction interval for one run, several by the one for their mean and, from 8 runs on, by
    Welch's test too (see `bands.is_outside`); each run also gets a verdict of its own from the interval for one run.
    The reference is centred on its rows of the runs' framework where it has any (see `pooling.pool`).

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
        sequential: where runs are added until the evidence decides: the rule (`until_decided.rule`). The reference leaves out
            all of its planned seeds then, so that it is the same at every look.
    Raises:
        ValueError: no value, one that is not finite, a seed given twice, or an unknown direction.
    """
    _check_values(values)
    if metric["direction"] not in ("higher", "lower"):
        raise ValueError(f"metric.direction: found {metric['direction']!r}, allowed are higher and lower.")
    seeds, numbers = [seed for seed, _ in values], [float(value) for _, value in values]
    used, problem, notes = usable_for(
        seeds if sequential is None else sequential["planned"],
        rows=rows,
        recipe=recipe,
        metric=metric,
        data=data["checksum"],
        context=context,
    )
    comparison, drop, in_turn = None, None, None
    if problem is None:
        floor = spread_floor([row["value"] for row in used], unit=metric["unit"], n_test=data["n_test"])
        samples, labels = [float(row["value"]) for row in used], labels_of(used, framework=parse_context(context).framework)
        if floor == 0.0 and prediction_band(samples, **labels).spread == 0.0:
            problem = f"the {len(samples)} reference samples have no spread, and no floor is known for {metric['unit']}"
        else:
            comparison = compare(numbers, samples, coverage=coverage, spread_floor=floor, **labels)
            drop = detectable_drop(samples, n_new=len(numbers), coverage=coverage, power=POWER, spread_floor=floor, **labels)
            notes += remarks_on(used, framework=parse_context(context).framework)
            if sequential is not None:
                rule = {key: sequential[key] for key in ("alpha", "beta", "delta", "effect")}
                in_turn = evidence_of(values, band=comparison.run_band, planned=len(sequential["planned"]), **rule)
    names = _words(comparison, numbers, direction=metric["direction"])
    reason = problem if comparison is None else _explain(comparison, names, coverage=coverage, unit=metric["unit"])
    if in_turn is not None:
        side, reason = explain_evidence(in_turn, unit=metric["unit"])
        names[0] = UNKNOWN if side is None else _word(side, direction=metric["direction"])
    several = comparison is not None and len(numbers) > 1 and in_turn is None
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
        "p_value": None if comparison is None else comparison.p_value if in_turn is None else in_turn.p_value,
        "band": None if comparison is None else _describe(comparison.run_band, used),
        "mean_band": asdict(comparison.mean_band) if several else None,
        "welch": asdict(comparison.welch) if several else None,
        "sequential": None if in_turn is None else _plain(in_turn),
        "detectable_drop": drop if in_turn is None else None,
        "power": POWER,
        "targets": [
            judge_target(
                PublishedTarget.model_validate(target),
                numbers,
                metric=metric["name"],
                selection=metric.get("selection"),
                unit=metric["unit"],
                profile=profile,
                n_test=data["n_test"],
                coverage=coverage,
                band=None if comparison is None else comparison.run_band,
            ).as_json()
            for target in targets
        ],
    }


def _plain(evidence: Evidence) -> dict[str, Any]:
    content = asdict(evidence)
    return {**content, "looks": list(content["looks"])}


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


def _words(comparison: Comparison | None, numbers: Sequence[float], *, direction: str) -> list[str]:
    """Return the verdict on all runs, then one for each run."""
    if comparison is None:
        return [UNKNOWN] * (len(numbers) + 1)
    band = comparison.run_band
    if len(numbers) == 1:
        sides = [comparison.side, comparison.side]
    else:
        each = ["inside" if band.contains(value) else "above" if value > band.mean else "below" for value in numbers]
        sides = [comparison.side, *each]
    return [_word(side, direction=direction) for side in sides]


def _word(side: str, *, direction: str) -> str:
    if side == "inside":
        return REPRODUCED
    return REGRESSED if (side == "below") == (direction == "higher") else BETTER


def _explain(comparison: Comparison, names: Sequence[str], *, coverage: float, unit: str) -> str:
    n_runs, band = len(names) - 1, comparison.mean_band
    what = "the value is" if n_runs == 1 else f"the mean of {n_runs} runs is"
    away = f"{amount(abs(comparison.difference), unit)} {'above' if comparison.difference > 0.0 else 'below'}"
    allowed = f"allowed is {amount((band.high - band.low) / 2.0, unit)} either way"
    test = ""
    if n_runs >= WELCH_DECIDES_FROM:
        test = f" and p {1.0 - band.coverage:.3g} or more, Welch's p is {comparison.welch.p_value:.2g}"
    text = f"{what} {away} the reference's mean, {allowed}{test} (false alarms {1.0 - coverage:.2g})"
    n_outside = sum(name != REPRODUCED for name in names[1:])
    if n_runs > 1 and n_outside:
        text += f"; {n_outside} of {n_runs} runs outside the band for one run"
    return text


def _describe(band: Band, rows: Sequence[Row]) -> dict[str, Any]:
    return {
        **asdict(band),
        "n_seeds": len({row["seed"] for row in rows}),
        "frameworks": sorted({row["context"]["framework"] for row in rows}),
        "dates": sorted({row["date"] for row in rows}),
    }
