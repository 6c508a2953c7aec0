"""A user's operator on one thread and on several, in a mode: processes that try it, findings, a verdict."""

from __future__ import annotations

import ast
import collections
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from runners.contract.operators import frame
from runners.contract.operators.own import CANDIDATE, INPUTS, REFERENCE
from runners.contract.operators.request import OPTION, OperatorRequest
from vigil.documents.context import Context
from vigil.documents.operator import OperatorFinding, OperatorProcess, OperatorVerification, OwnTest
from vigil.documents.provenance import NamedRelease, PlantedFault
from vigil.documents.step import OwnFileFacts
from vigil.documents.verification import LimitFacts, StepVerdict
from vigil.errors import UsageError
from vigil.operators.judge import findings_of, own_tests_of, verdict_of
from vigil.operators.limits import DRAWS, plain_limits, reach
from vigil.process.build_spec import HEARTBEAT_SECONDS
from vigil.process.side_by_side import available_cores
from vigil.steps.processes import REPEATS, Asked, Ended, carried_out
from vigil.verify.limits import Limits

SEEDS = 64
NOT_SEEN = (
    "what the reference gets wrong in float64 as well",
    "sizes, values and layouts other than these",
    "a race that did not show in so many calls",
)
_MOST_MESSAGES = 3


def is_operator(file: Path) -> bool:
    """Does a Python file define an operator, and not a step? One that cannot be read is none.

    Of the three functions of an operator two are enough, so that the third can be told as missing.
    """
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return False
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assigned = (target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets)
    defined |= {target.id for target in assigned if isinstance(target, ast.Name)}
    imported = (name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names)
    defined |= {name.asname or name.name for name in imported}
    return len({INPUTS, CANDIDATE, REFERENCE} & defined) > 1


def refuse_operator(file: Path, *, verb: str) -> None:
    """Raise UsageError for an operator where a verb takes steps alone."""
    if is_operator(file):
        raise UsageError(f"{file}: an operator. Allowed: a step, which {verb} takes; `vigil verify {file}` takes an operator.")


def verify_operator(
    asked: Asked,
    context: Context,
    directory: Path,
    limits: Limits,
    *,
    precisions: Sequence[str],
    threads: Sequence[int],
    seeds: int,
    command: str,
    release: NamedRelease | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> OperatorVerification:
    """Verify a user's operator, write operator.json into the directory, and return it.

    An error, or Ctrl-C, ends what runs, and is raised again.
    """
    started = time.monotonic()
    allowed = plain_limits(limits, precisions)
    processes: list[OperatorProcess] = []
    findings: list[OperatorFinding] = []
    tests: list[OwnTest] = []
    results: list[Any] = []
    usual: dict[str, int] = {}
    tried: tuple[str, ...] = ()
    ended_all: list[Ended] = []
    for count in threads:
        request = OperatorRequest(
            framework=asked.framework,
            file=str(asked.file),
            file_sha256=asked.sha256,
            mode=context.mode,
            threads=count,
            cores=tuple(available_cores()),
            precisions=tuple(precisions),
            seeds=seeds if count == threads[0] else min(seeds, 8),
            draws=DRAWS,
            repeats=REPEATS,
            limits=allowed,
            reach=reach(),
            fault=asked.fault,
            heartbeat_seconds=HEARTBEAT_SECONDS,
            device=context.device,
        )
        ended = carried_out(asked, directory / f"{context.text}-t{count}", request, option=OPTION)
        ended_all.append(ended)
        tell(f"on {count} thread{'s' if count > 1 else ''}: {ended.failure.category if ended.failure else 'done'} "
             f"after {ended.seconds:.0f} s")  # fmt: skip
        answers = {} if ended.failure else ended.read(frame.ANSWERS)
        processes.append(_process(count, ended, answers))
        if ended.failure:
            break  # what fails on one thread would fail on several
        usual, tried = answers["usual"], tuple(answers["precisions"])
        results += answers["results"]
        known = {(each.kind, each.precision, each.tensor) for each in findings}
        findings += [
            each for each in findings_of(answers, threads=count) if (each.kind, each.precision, each.tensor) not in known
        ]
        tests = tests or own_tests_of(answers)
    document = OperatorVerification(
        operator_id=directory.name,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        file=OwnFileFacts(path=str(asked.file), sha256=asked.sha256),
        context=context,
        framework_version=next((str(each.environment["framework_version"]) for each in ended_all
                                if "framework_version" in each.environment), None),
        release=release,
        fault=PlantedFault(name=asked.fault["name"], sha256=asked.fault["sha256"]) if asked.fault else None,
        verdict=_verdict(processes, findings, results),
        usual=usual,
        precisions=tried,
        findings=tuple(findings),
        tests=tuple(tests),
        processes=tuple(processes),
        limits=LimitFacts(clean_rows=limits.rows, sha256=dict(limits.digests) or None),
        not_seen=NOT_SEEN,
        seconds=round(time.monotonic() - started, 1),
    )  # fmt: skip
    document.write(directory)
    return document


def _verdict(processes: Sequence[OperatorProcess], findings: Sequence[OperatorFinding], results: Sequence[Any]) -> StepVerdict:
    """Return the verdict on the operator. What is wrong on one thread stays so where a process on several fails."""
    found = verdict_of(findings, results) if results else None
    failure = next((each.failure for each in processes if each.failure), None)
    if failure and (found is None or not found.name.is_wrong_step):
        return StepVerdict(name=failure.verdict, reason=failure.message, failure=failure)
    assert found is not None  # a process that has not failed has results
    return found


def _process(threads: int, ended: Ended, answers: dict[str, Any]) -> OperatorProcess:
    results = answers.get("results", [])
    first = results[0].get("calls") if results else None

    def messages(kind: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each["message"] for each in results if each["kind"] == kind))[:_MOST_MESSAGES]

    worst: dict[str, float] = {}
    for result in results:
        if result["kind"] == frame.FINE:
            for name, (ratio, limit) in result["measured"].items():
                worst[name] = max(worst.get(name, 0.0), float(ratio) / float(limit))
    return OperatorProcess(
        threads=threads,
        trials=dict(collections.Counter(each["kind"] for each in results)),
        repeated=first,
        refused=messages(frame.REFUSED),
        unstable=messages(frame.UNSTABLE),
        worst=worst,
        failure=ended.failure,
        environment=ended.environment,
        directory=ended.directory.name,
        seconds=ended.seconds,
    )
