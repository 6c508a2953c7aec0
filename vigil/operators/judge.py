"""From what the trials of an operator measured to what is said of it: findings, the user's own test, a verdict."""

from __future__ import annotations

import collections
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from runners.contract.operators import frame
from runners.contract.operators.trials import USUAL
from vigil.documents.operator import Elements, Inputs, OperatorFinding, OwnTest, Rate
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict

CONFIDENCE = 0.95
# How often the tolerance that rounding supports may fail a correct operator.
_FLAKES = 1e-6
_LEAST_PAIRS = 20
_WORST_FIRST = (frame.BUG, frame.RACE, frame.WRITES, frame.RAISES, frame.KINK)
_EULER = 0.5772156649015329


def rate_of(count: int, of: int) -> Rate:
    """Return a rate with its interval.

    >>> rate = rate_of(0, 60)
    >>> (rate.low, round(rate.high, 3))
    (0.0, 0.06)
    """
    if not of:
        return Rate(count=0, of=0, low=0.0, high=1.0)
    interval = scipy.stats.binomtest(count, of).proportion_ci(CONFIDENCE, method="exact")
    return Rate(count=count, of=of, low=float(interval.low), high=float(interval.high))


def findings_of(answers: Mapping[str, Any], *, threads: int) -> list[OperatorFinding]:
    """Return what the trials of one process show, the worst first: each kind, precision and tensor once."""
    groups: dict[tuple[str, str, str | None], list[Mapping[str, Any]]] = {}
    for result in answers["results"]:
        if result["kind"] in _WORST_FIRST:
            groups.setdefault((result["kind"], result["trial"]["precision"], result.get("tensor")), []).append(result)
    smallest = {(each["kind"], each["trial"]["precision"], each.get("tensor")): each for each in answers["smallest"]}
    counts = collections.Counter((each["trial"]["group"], each["trial"]["precision"]) for each in answers["results"])
    found = []
    for key, results in groups.items():
        precision = key[1]
        shown = collections.Counter(each["trial"]["group"] for each in results)
        others = {group: (number, counts[group, precision]) for group, number in shown.items() if group != USUAL}
        found.append(
            _finding(
                smallest.get(key, results[0]),
                threads=threads,
                usual=rate_of(shown[USUAL], counts[USUAL, precision]),
                others=others,
            )
        )
    return sorted(found, key=lambda each: _WORST_FIRST.index(each.kind))


def _finding(result: Mapping[str, Any], *, threads: int, usual: Rate, others: dict[str, tuple[int, int]]) -> OperatorFinding:
    trial, tensor, elements = result["trial"], result.get("tensor"), result.get("elements")
    ratio, limit = (float(each) for each in result["measured"][tensor]) if "measured" in result else (None, None)
    shapes = None
    if elements and "shape" in elements:
        shapes, elements = (elements["shape"], elements["expected_shape"]), None
    calls = result.get("calls")
    return OperatorFinding(
        kind=result["kind"],
        threads=threads,
        precision=trial["precision"],
        tensor=tensor,
        usual=usual,
        others=others,
        smallest=Inputs(**{name: trial[name] for name in Inputs.model_fields}),
        elements=Elements(**elements) if elements else None,
        shapes=shapes,
        ratio=ratio,
        limit=limit,
        wrong_calls=rate_of(result["wrong_calls"], calls["calls"]) if result["kind"] == frame.RACE and calls else None,
        message=result.get("message"),
    )


def own_tests_of(answers: Mapping[str, Any]) -> list[OwnTest]:
    """Return what is to be said of the user's own test, in each precision in which it has a tolerance and seeds were tried."""
    found = []
    for precision, tolerance in answers["tolerances"].items():
        results = [
            each for each in answers["results"]
            if each["trial"]["group"] == USUAL and each["trial"]["precision"] == precision and "needs" in each
        ]  # fmt: skip
        needs = without_kinks([float(need) for each in results for need in each["needs"]])
        if tolerance is None or len(needs) < _LEAST_PAIRS:
            continue
        fails = [each for each in results if each["test_fails"]]
        found.append(
            OwnTest(
                precision=precision,
                atol=tolerance["atol"],
                rtol=tolerance["rtol"],
                fails=rate_of(len(fails), len(results)),
                at_kink=sum(bool(each.get("test_at_kink")) for each in fails),
                pairs=len(needs),
                largest_need=max(needs),
                supported=supported_tolerance(needs),
            )
        )
    return found


def without_kinks(needs: Sequence[float]) -> list[float]:
    """Return needs of rounding alone: what is farther than 8 quartile ranges above the upper quartile has crossed a kink."""
    if not needs:
        return []
    low, high = np.quantile(needs, (0.25, 0.75))
    return [need for need in needs if need <= high + 8.0 * max(high - low, 1e-3 * high)]


def supported_tolerance(needs: Sequence[float]) -> float:
    """Return the absolute tolerance that one more pair of correct operators exceeds but once in a million.

    Each need is the largest over thousands of elements: Gumbel's distribution of largest values, by the method of moments
    (Gumbel 1958, https://doi.org/10.7312/gumb92958, section 6.2.3). It is never less than twice the largest that was seen, and
    rounded up to two digits.
    """
    values = np.asarray(needs, np.float64)
    scale = float(values.std(ddof=1)) * math.sqrt(6.0) / math.pi
    quantile = float(values.mean()) - _EULER * scale - scale * math.log(-math.log1p(-_FLAKES))
    return _rounded_up(max(quantile, 2.0 * float(values.max())))


def _rounded_up(value: float) -> float:
    if not value > 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.1e}")


def verdict_of(findings: Sequence[OperatorFinding], results: Sequence[Mapping[str, Any]]) -> StepVerdict:
    """Return the verdict on an operator: that of its worst finding. A kink is none, nor is a test's tolerance."""
    wrong = [each for each in findings if each.kind in frame.WRONG]
    silent = [each for each in wrong if each.kind != frame.RAISES]
    if silent:
        kinds = collections.Counter(each.kind for each in silent)
        return StepVerdict(name=Verdict.REGRESSED, reason=", ".join(f"{_counted(count, kind)}" for kind, count in kinds.items()))
    if wrong:
        reason = f"the candidate fails where the reference does not: {wrong[0].message}"
        return StepVerdict(name=Verdict.FAILED_PROGRAM, reason=reason)
    judged = sum(each["kind"] in (frame.FINE, frame.KINK) for each in results)
    if not any(each["kind"] == frame.FINE for each in results):
        return StepVerdict(name=Verdict.UNKNOWN, reason="nothing could be held to the reference")
    return StepVerdict(name=Verdict.REPRODUCED, reason=f"all {judged:,} sets of inputs within what rounding does")


def _counted(count: int, kind: str) -> str:
    words = {frame.BUG: "wrong tensor", frame.RACE: "race", frame.WRITES: "changed input"}
    return f"{count} {words[kind]}{'s' if count > 1 else ''}"
