"""The table of batch norms: a process of each framework that is asked, its answers read, a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from runners.contract.audit import batch_norm as asked
from runners.contract.audit.batch_norm import OPTION, TableRequest
from vigil.audit.batch_norm import QUESTIONS, findings, read, scenarios
from vigil.documents.batch_norm import BatchNormFinding, BatchNormsOf, BatchNormTable
from vigil.documents.provenance import NamedRelease
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict
from vigil.process.build_spec import HEARTBEAT_SECONDS
from vigil.process.side_by_side import available_cores
from vigil.steps.processes import Started, carried_out


def batch_norms(started: Started, directory: Path, *, release: NamedRelease | None = None) -> BatchNormsOf:
    """Ask every batch norm of a framework, in a process of its own, and read its answers. An error, or Ctrl-C, ends it.

    Args:
        directory: where the process works; it is made.
    """
    directory.mkdir(parents=True)
    given = scenarios()
    asked.write_scenarios(directory, given)
    request = TableRequest(
        framework=started.framework,
        threads=1,
        cores=tuple(available_cores()),
        fault=started.fault,
        heartbeat_seconds=HEARTBEAT_SECONDS,
    )
    ended = carried_out(started, directory, request, option=OPTION)
    answers, same = ({}, {}) if ended.failure else asked.read_answers(directory)
    absent = [layer for layer, told in answers.items() if all(each.status == asked.ABSENT for each in told.values())]
    table = {layer: read(given, told) for layer, told in answers.items() if layer not in absent}
    version = ended.environment.get("framework_version")
    return BatchNormsOf(
        framework=started.framework,
        framework_version=None if version is None else str(version),
        release=release,
        answers=table,
        absent=tuple(absent),
        same=same,
        findings=tuple(BatchNormFinding(**each._asdict()) for each in findings(table)),
        failure=ended.failure,
        environment=ended.environment,
        seconds=ended.seconds,
    )


def batch_norm_table(frameworks: Sequence[BatchNormsOf], directory: Path, *, command: str) -> BatchNormTable:
    """Return the table of some frameworks, with its verdict, and write batch_norm.json into the directory."""
    document = BatchNormTable(
        table_id=directory.name,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        verdict=_verdict(frameworks),
        questions={key: question.text for key, question in QUESTIONS.items()},
        frameworks=tuple(frameworks),
    )
    document.write(directory)
    return document


def _verdict(frameworks: Sequence[BatchNormsOf]) -> StepVerdict:
    found = [finding for each in frameworks for finding in each.findings]
    layers = sum(len(each.answers) for each in frameworks)
    failure = next((each.failure for each in frameworks if each.failure), None)
    if found:
        what = "differ from their documentation, between modes, or from their own gradient"
        reason = f"{len(found)} answers of {layers} batch norms {what}"
        return StepVerdict(name=Verdict.REGRESSED, reason=reason)
    if failure:
        return StepVerdict(name=failure.verdict, reason=failure.message, failure=failure)
    return StepVerdict(name=Verdict.REPRODUCED, reason=f"{layers} batch norms do what their documentation says, in every mode")
