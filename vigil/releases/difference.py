"""Two releases of one framework, the same seeds under both: what is held side by side, and the verdict on it.

Each side is an ordinary invocation, its first rung included. A side that did not run is neither equal nor different.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vigil.documents.invocation import Invocation
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN
from vigil.process.recording import read_record
from vigil.releases.resolve import Resolved, Unavailable
from vigil.runs.first_rung import WRONG, origin_text
from vigil.statistics.metric import spread_floor
from vigil.statistics.paired import HIGHER, LOWER, TOO_FEW, compare_releases

SCHEMA = 1
FILE_NAME = "compare.json"
COVERAGE = 0.99
NO_DIFFERENCE, IDENTICAL, MOVED = "no difference seen", "identical", "numbers moved, not worse"
NEW_LOWER, NEW_HIGHER, NEW_WRONG = "NEW is lower", "NEW is higher", "a step of NEW is wrong"
TOO_FEW_RUNS, COULD_NOT_RUN = "too few runs", "could not run"
EXIT_CODES = {
    NO_DIFFERENCE: EXIT_REPRODUCED,
    IDENTICAL: EXIT_REPRODUCED,
    MOVED: EXIT_REPRODUCED,
    NEW_LOWER: EXIT_OUTSIDE,
    NEW_HIGHER: EXIT_OUTSIDE,
    NEW_WRONG: EXIT_OUTSIDE,
    COULD_NOT_RUN: EXIT_COULD_NOT_RUN,
    TOO_FEW_RUNS: EXIT_UNKNOWN,
}
_LIBRARIES = ("jax", "jaxlib", "flax", "optax", "tensorflow-cpu", "tensorflow", "keras", "torch", "numpy", "ml-dtypes", "scipy")


@dataclasses.dataclass(frozen=True)
class Side:
    """What one release did.

    name: OLD or NEW. problem: why its runs say nothing, if they do not. verify: the summary of the first rung.
    """

    name: str
    release: dict[str, Any]
    invocation: str | None = None
    verdict: str | None = None
    environment: dict[str, Any] = dataclasses.field(default_factory=dict)
    values: dict[int, float] = dataclasses.field(default_factory=dict)
    states: dict[int, str] = dataclasses.field(default_factory=dict)
    verify: dict[str, Any] | None = None
    first_step_seconds: float | None = None
    images_per_second: float | None = None
    problem: str | None = None
    log_tail: tuple[str, ...] = ()

    @property
    def versions(self) -> dict[str, str]:
        """Return the versions of what computes, by package."""
        pins = dict(pin.split(" ")[0].split("==", 1) for pin in self.release["pins"] or ())
        return {name: pins[name] for name in _LIBRARIES if name in pins} | {
            key: self.environment[key] for key in ("python",) if key in self.environment
        }

    @property
    def is_verified(self) -> bool:
        """Was one training step held against float64, and right?"""
        return self.verify is not None and self.verify["verdict"]["name"] == "reproduced"

    @property
    def is_wrong(self) -> bool:
        return self.verify is not None and self.verify["verdict"]["name"] in WRONG


def unavailable_side(name: str, release: Unavailable | Resolved) -> Side:
    """Return a side that was not run, because its release or the other's cannot be had."""
    if isinstance(release, Unavailable):
        return Side(name, release.as_dict(), problem=release.failure.reason, log_tail=tuple(release.failure.log_tail))
    return Side(name, release.as_dict())


def read_side(name: str, directory: Path, invocation: Invocation) -> Side:
    """Return a side from its invocation, however that ended."""
    records = [record for run in invocation.runs if (record := read_record(directory / run))]
    finished = [record for record in records if record.status == "finished"]
    verdict, rung = invocation.verdict, invocation.verify
    problem, tail = None, ()
    if verdict is None:
        problem = f"interrupted after {len(finished)} of {len(invocation.seeds)} runs; `vigil resume {directory}` goes on"
    elif len(finished) < len(invocation.seeds):
        problem, tail = f"{verdict.name}: {verdict.reason}", verdict.failure.log_tail if verdict.failure else ()
    return Side(
        name=name,
        release=invocation.release.as_json() if invocation.release else {},
        invocation=directory.name,
        verdict=verdict.name if verdict else None,
        environment=records[0].environment if records else {},
        values={record.seed: record.metric.value for record in finished},
        states={record.seed: record.state_sha256 for record in finished},
        verify=rung.as_json() if rung and rung.verdict else None,
        first_step_seconds=_median(record.timing.first_step_seconds for record in finished),
        images_per_second=_median(record.timing.images_per_second for record in finished),
        problem=problem,
        log_tail=tail,
    )


def judge(old: Side, new: Side, *, metric: Mapping[str, Any], n_test: int) -> dict[str, Any]:
    """Return {verdict {name, reason, exit_code}, difference, remarks} of two sides.

    A difference of the metric decides before a wrong step, which decides before what could not be verified. Equal final states
    need no statistics: nothing moved.
    """
    difference = None
    if not (old.problem or new.problem) and new.values and old.values:
        floor = spread_floor([*old.values.values(), *new.values.values()], unit=metric["unit"], n_test=n_test)
        difference = dataclasses.asdict(compare_releases(new.values, old.values, coverage=COVERAGE, spread_floor=floor))
        difference |= {"coverage": COVERAGE, "spread_floor": floor}
    name, reason = _verdict(old, new, difference)
    return {
        "verdict": {"name": name, "reason": reason, "exit_code": EXIT_CODES[name]},
        "difference": difference,
        "remarks": _remarks(old, new, is_identical=name == IDENTICAL),
    }


def _verdict(old: Side, new: Side, difference: Mapping[str, Any] | None) -> tuple[str, str]:
    problems = [f"{side.name} ({side.release['request']}): {side.problem}" for side in (old, new) if side.problem]
    if problems or difference is None:
        return COULD_NOT_RUN, "; ".join(problems) or "no run finished on both sides"
    step = f"one training step under NEW is wrong: {_what_is_wrong(new)}" if new.is_wrong else ""
    is_identical = old.states == new.states and old.values == new.values and None not in old.states.values()
    if difference["decision"] in (LOWER, HIGHER):
        name = NEW_LOWER if difference["decision"] == LOWER else NEW_HIGHER
        return name, "; ".join(filter(None, [f"p = {difference['p_value']:.2g}, false alarms {1 - COVERAGE:.2g}", step]))
    if new.is_wrong:
        also = "; so is the one under OLD" if old.is_wrong else "; the one under OLD is not known to be"
        also += ", and the final states are equal bit for bit" if is_identical else ""
        return NEW_WRONG, step + also
    if new.verify and new.verify["verdict"]["name"].startswith("failed:"):
        return COULD_NOT_RUN, f"the verification of one training step under NEW crashed: {new.verify['verdict']['reason']}"
    if is_identical:
        return IDENTICAL, f"the final states of all {len(new.values)} seeds are equal bit for bit"
    if difference["decision"] == TOO_FEW:
        return TOO_FEW_RUNS, "nothing tells how much runs scatter: give two seeds or more"
    if old.is_verified and new.is_verified:
        return MOVED, "final states differ, the metric does not, and one training step is within its limits under both"
    lacking = " and ".join(side.name for side in (old, new) if not side.is_verified)
    return NO_DIFFERENCE, f"final states differ, the metric does not; not verified against float64: {lacking}"


def _what_is_wrong(side: Side) -> str:
    return origin_text(side.verify["origin"]) if side.verify["origin"] else side.verify["verdict"]["reason"]


def _remarks(old: Side, new: Side, *, is_identical: bool) -> list[str]:
    remarks = []
    if old.release["key"] and old.release["key"] == new.release["key"]:
        remarks.append("OLD and NEW are the same packages: this compares a release with itself")
    not_right: dict[str, list[str]] = {}
    for side in (old, new):
        if side.verify and not side.is_verified:
            verdict = side.verify["verdict"]
            not_right.setdefault(f"{verdict['name']}: {verdict['reason']}".rstrip("."), []).append(side.name)
    remarks += [f"one training step under {' and '.join(names)}: {what}" for what, names in not_right.items()]
    if old.values and new.values and not is_identical:
        remarks.append("without --determinism on, final states may differ from run to run under one release, too")
    if old.first_step_seconds and new.first_step_seconds:
        remarks.append("first step and images/second are medians of a few runs on a machine that may be busy: not judged")
    return remarks


def _median(numbers: Any) -> float | None:
    known = [number for number in numbers if number is not None]
    return statistics.median(known) if known else None
