"""Two releases of one framework, the same seeds under both: what is held side by side, and the verdict on it.

Each side is an ordinary invocation, its first rung included. A side that did not run is neither equal nor different.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable
from pathlib import Path

from vigil.documents.comparison import ComparedSide, ComparisonVerdict, ReleaseDifference, ReleaseVerdict
from vigil.documents.invocation import FirstRung, Invocation, NamedRelease
from vigil.documents.judgement import Metric
from vigil.documents.record import Environment
from vigil.frameworks import LIBRARIES
from vigil.process.recording import read_record
from vigil.references.judge import why_blind
from vigil.releases.resolve import Resolved, Unavailable
from vigil.statistics.metric import spread_floor
from vigil.statistics.paired import HIGHER, LOWER, TOO_FEW, compare_releases

COVERAGE = 0.99


@dataclasses.dataclass(frozen=True)
class PairJudgement:
    """What two sides come to. difference: None where a side has no number."""

    verdict: ComparisonVerdict
    difference: ReleaseDifference | None
    remarks: tuple[str, ...]


def unavailable_side(name: str, release: Unavailable | Resolved) -> ComparedSide:
    """Return a side that was not run, because its release or the other's cannot be had."""
    side = ComparedSide(name=name, release=release.named, versions=versions_of(release.named, {}))
    if isinstance(release, Unavailable):
        return side.replace(problem=release.failure.reason.rstrip("."), log_tail=tuple(release.failure.log_tail))
    return side


def versions_of(release: NamedRelease, environment: Environment) -> dict[str, str]:
    """Return the versions of what computes, by package."""
    pins = dict(pin.split(" ")[0].split("==", 1) for pin in release.pins or ())
    versions = {name: pins[name] for name in LIBRARIES if name in pins}
    return versions | ({"python": str(environment["python"])} if "python" in environment else {})


def read_side(name: str, directory: Path, invocation: Invocation) -> ComparedSide:
    """Return a side from its invocation, however that ended."""
    if invocation.release is None:
        raise ValueError(f"{directory}: no release was named")
    records = [record for run in invocation.runs if (record := read_record(directory / run))]
    finished = [record for record in records if record.status == "finished"]
    verdict, rung = invocation.verdict, invocation.verify
    environment = records[0].environment if records else {}
    problem: str | None = None
    tail: tuple[str, ...] = ()
    if verdict is None:
        problem = f"interrupted after {len(finished)} of {len(invocation.seeds)} runs; `vigil resume {directory}` goes on"
    elif len(finished) < len(invocation.seeds):
        problem, tail = f"{verdict.name}: {verdict.reason}", verdict.failure.log_tail if verdict.failure else ()
    return ComparedSide(
        name=name,
        release=invocation.release,
        invocation=directory.name,
        verdict=verdict.name if verdict else None,
        environment=environment,
        values={record.seed: record.metric.value for record in finished if record.metric.value is not None},
        states={record.seed: record.state_sha256 for record in finished},
        verify=rung if rung and rung.verdict else None,
        first_step_seconds=_median(record.timing.first_step_seconds for record in finished),
        images_per_second=_median(record.timing.images_per_second for record in finished),
        problem=problem,
        log_tail=tail,
        versions=versions_of(invocation.release, environment),
    )


def judge(old: ComparedSide, new: ComparedSide, *, metric: Metric, n_test: int) -> PairJudgement:
    """Return the verdict on two sides, whose metric was measured on n_test examples.

    A difference of the metric decides before a wrong step, which decides before what could not be verified. Equal final states
    need no statistics: nothing moved. That no difference is seen says nothing where a model that learned nothing would not be.
    """
    difference = None
    if not (old.problem or new.problem) and new.values and old.values:
        floor = spread_floor([*old.values.values(), *new.values.values()], unit=metric.unit, n_test=n_test)
        compared = compare_releases(new.values, old.values, coverage=COVERAGE, spread_floor=floor)
        difference = ReleaseDifference(**dataclasses.asdict(compared), coverage=COVERAGE, spread_floor=floor)
    name, reason = _verdict(old, new, difference)
    if name is ReleaseVerdict.NO_DIFFERENCE and difference is not None:
        mean = statistics.fmean(old.values.values())
        if says_nothing := why_blind(difference.detectable, mean=mean, metric=metric, of="OLD's mean"):
            name, reason = ReleaseVerdict.CANNOT_TELL, says_nothing
    verdict = ComparisonVerdict(name=name, reason=reason, exit_code=name.exit_code)
    return PairJudgement(verdict, difference, _remarks(old, new))


def _verdict(old: ComparedSide, new: ComparedSide, difference: ReleaseDifference | None) -> tuple[ReleaseVerdict, str]:
    problems = [f"{side.name} ({side.release.request}): {side.problem}" for side in (old, new) if side.problem]
    if problems or difference is None:
        return ReleaseVerdict.COULD_NOT_RUN, "; ".join(problems) or "no run finished on both sides"
    step = f"one training step under NEW is wrong: {_what_is_wrong(new.verify)}" if new.is_wrong and new.verify else ""
    is_identical = _has_same_states(old, new) and old.values == new.values
    if difference.decision in (LOWER, HIGHER):
        name = ReleaseVerdict.NEW_LOWER if difference.decision == LOWER else ReleaseVerdict.NEW_HIGHER
        return name, "; ".join(filter(None, [f"p = {difference.p_value:.2g}, false alarms {1 - COVERAGE:.2g}", step]))
    if new.is_wrong:
        known = "is right" if old.is_verified else "is not known to be"
        also = "; so is the one under OLD" if old.is_wrong else f"; the one under OLD {known}"
        also += ", and the final states are equal bit for bit" if is_identical else ""
        return ReleaseVerdict.NEW_WRONG, step + also
    if new.verify and new.verify.verdict and new.verify.verdict.name.is_failed:
        reason = new.verify.verdict.reason
        return ReleaseVerdict.COULD_NOT_RUN, f"the verification of one training step under NEW crashed: {reason}"
    if is_identical:
        return ReleaseVerdict.IDENTICAL, f"the final states of all {len(new.values)} seeds are equal bit for bit"
    if difference.decision == TOO_FEW:
        return ReleaseVerdict.TOO_FEW_RUNS, "nothing tells how much runs scatter: give two seeds or more"
    moved = "final states differ, the metric does not"
    if _has_same_states(old, new):
        moved = "final states are equal bit for bit, and evaluation gives other numbers of them, by no more than runs differ"
    if old.is_verified and new.is_verified:
        return ReleaseVerdict.MOVED, f"{moved}, and one training step is within its limits under both"
    lacking = " and ".join(side.name for side in (old, new) if not side.is_verified)
    return ReleaseVerdict.NO_DIFFERENCE, f"{moved}; not verified against float64: {lacking}"


def _has_same_states(old: ComparedSide, new: ComparedSide) -> bool:
    return old.states == new.states and None not in old.states.values()


def _what_is_wrong(verify: FirstRung) -> str:
    if verify.origin:
        return verify.origin.text
    return verify.verdict.reason if verify.verdict else ""


def _remarks(old: ComparedSide, new: ComparedSide) -> tuple[str, ...]:
    remarks = []
    if old.release.key and old.release.key == new.release.key:
        remarks.append("OLD and NEW are the same packages: this compares a release with itself")
    not_right: dict[str, list[str]] = {}
    for side in (old, new):
        if side.verify and side.verify.verdict and not side.is_verified:
            verdict = side.verify.verdict
            not_right.setdefault(f"{verdict.name}: {verdict.reason}".rstrip("."), []).append(side.name)
    remarks += [f"one training step under {' and '.join(names)}: {what}" for what, names in not_right.items()]
    if old.values and new.values and not _has_same_states(old, new):
        remarks.append("without --determinism on, final states may differ from run to run under one release, too")
    if old.first_step_seconds and new.first_step_seconds:
        remarks.append("first step and images/second are medians of a few runs on a machine that may be busy: not judged")
    return tuple(remarks)


def _median(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return statistics.median(known) if known else None
