"""`--until-decided`: seeds one at a time, until the evidence decides either way or the plan is used up.

Every seed up to the cap is planned beforehand, so that what is interrupted can be resumed; what the runs have shown
after each is written into invocation.json, and seeds that are not needed are struck off. The test is in sequential.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vigil.process.recording import read_record, write_json
from vigil.statistics.bands import Band
from vigil.statistics.metric import amount
from vigil.statistics.sequential import ALPHA, BETA, DELTA, INSIDE, looks, lower_bound

FILE_NAME = "invocation.json"
Judge = Callable[[dict[str, Any], list[dict[str, Any]]], dict[str, Any]]


def rule(seeds: Sequence[int], *, effect: float | None) -> dict[str, Any]:
    """Return the rule as it stands in invocation.json: error rates, the effect, the seeds at most, the looks so far.

    Args:
        effect: the smallest difference worth finding, in the metric's unit; None for DELTA standard deviations of the
            reference.
    """
    return {"alpha": ALPHA, "beta": BETA, "delta": DELTA, "effect": effect, "planned": list(seeds), "looks": []}


def is_over(directory: Path, invocation: dict[str, Any], records: list[dict[str, Any]], judge: Judge) -> bool:
    """Return whether no further seed is to be trained; note the looks, and strike off the seeds that are left.

    It is over when the evidence has decided, when a run has failed, which decides the verdict whatever follows, and when
    nothing can be judged, for want of a reference. A seed that has been trained already is never struck off.
    """
    if invocation.get("sequential") is None:
        return False
    found = judge(invocation, records)["sequential"]
    left = [name for name in invocation["runs"][len(records) :] if read_record(directory / name) is not None]
    is_decided = (found is None or found["decision"] is not None) and not left
    invocation["sequential"] = {**invocation["sequential"], "looks": found["looks"] if found else []}
    if is_decided:
        invocation["runs"] = invocation["runs"][: len(records)]
        invocation["seeds"] = invocation["seeds"][: len(records)]
    write_json(directory / FILE_NAME, invocation)
    return is_decided


def judge_in_turn(values: Sequence[tuple[int, float]], *, band: Band, rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `sequential` entry of a verdict: the evidence after each run, up to the one that decides.

    `p_value` is the inverse of the largest e-value so far, or that of the reference's spread alone: valid at any stop. `delta`
    is the effect in standard deviations of the reference; `difference`, of the mean of the runs of a look from the reference's.

    Args:
        band: what the reference says of one run.
    """
    spread = max(band.spread, band.spread_floor)
    delta = rule["delta"] if rule["effect"] is None else rule["effect"] / spread
    numbers = [float(value) for _, value in values]
    found = looks(
        numbers,
        mean=band.mean,
        spread=spread,
        n_reference=band.n_effective,
        freedom=band.degrees_of_freedom,
        delta=delta,
        alpha=rule["alpha"],
        beta=rule["beta"],
        planned=len(rule["planned"]),
        spread_floor=band.spread_floor,
    )
    return {
        "decision": found[-1].decision,
        "alpha": rule["alpha"],
        "beta": rule["beta"],
        "delta": delta,
        "effect": delta * spread,
        "planned": len(rule["planned"]),
        "p_value": min(1.0, *(min(math.exp(min(0.0, -each.log_e_value)), each.p_reference) for each in found)),
        "looks": [
            {"seed": seed, "n": each.n, "difference": math.fsum(numbers[: each.n]) / each.n - band.mean, "e_value": each.e_value}
            for (seed, _), each in zip(values, found, strict=False)
        ],
    }


def say_in_turn(found: Mapping[str, Any], *, unit: str) -> tuple[str | None, str]:
    """Return on which side the runs are ("inside", "below", "above"; None while undecided), and why."""
    last = found["looks"][-1]
    side = "above" if last["difference"] > 0.0 else "below"
    away = f"the mean is {amount(abs(last['difference']), unit)} {side} the reference's"
    counted = f"after {last['n']} run{'s' * (last['n'] > 1)}"
    effect = f"a difference of {amount(found['effect'], unit)}"
    rates = f"false alarms {found['alpha']:.2g}, misses {found['beta']:.2g}, looked at after each run"
    if found["decision"] is None:
        bounds = f"{1.0 / found['alpha']:.3g} to call it outside, {lower_bound(found['beta']):.3g} to call it reproduced"
        text = f"undecided {counted}: {away}, {last['e_value']:.3g} to 1 for {effect}; needed are {bounds} ({rates})"
        if last["e_value"] <= lower_bound(found["beta"]):
            text += "; not reproduced, since the mean is outside by the reference's spread alone: runs that scatter more hide it"
        return None, text
    if found["decision"] == INSIDE:
        odds = f"{1.0 / last['e_value']:.3g}" if last["e_value"] > 0.0 else "infinitely many"
        return "inside", f"decided {counted}: {away}, {odds} to 1 against {effect} ({rates})"
    if last["e_value"] < 1.0 / found["alpha"]:
        return side, f"decided {counted}: {away}, p {found['p_value']:.1g} by the reference's spread alone ({rates})"
    return side, f"decided {counted}: {away}, {last['e_value']:.3g} to 1 for {effect} ({rates})"
