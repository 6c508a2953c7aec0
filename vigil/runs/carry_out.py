"""One command's runs, planned by `vigil.runs.request`: run one by one, judged, written down, tracked.

An invocation directory holds invocation.json and one run directory a seed. Everything needed to go on after an
interruption is in it, so `vigil resume` continues by the same path.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from runners.contract.protocol.spec import read_spec
from vigil import tracking
from vigil.runs import first_rung as rung
from vigil.references import judgement as verdict
from vigil.documents.context import Context
from vigil.errors import CannotRun, EnvironmentFailed, UsageError
from vigil.process.execute import execute
from vigil.paths import reference_directory
from vigil.process.recording import make_record, read_record, write_json
from vigil.references.samples import load_rows
from vigil.releases.recorded import interpreter
from vigil.runs.request import FILE_NAME, run_names
from vigil.process.directories import alone_in
from vigil.runs import until_decided
from vigil.runs.watch import Watch

_NO_ENVIRONMENT = "failed:environment"


def carry_out(directory: Path, *, watch: Watch) -> dict[str, Any]:
    """Run what is not finished yet, judge, track, and return the invocation with its verdict.

    After Ctrl-C the remaining seeds are not started; the invocation then has no verdict and can be resumed.

    Raises:
        CannotRun: Another process is at work in this directory.
    """
    return carry_out_in_turn([directory], watch=watch)[0]


def carry_out_in_turn(directories: Sequence[Path], *, watch: Watch) -> list[dict[str, Any]]:
    """Carry out several invocations, one seed of each in turn: broken off, what is there are runs of the same seeds.

    Returns each invocation in the order given. After Ctrl-C none of them goes on, and those without a verdict can be resumed.

    Raises:
        CannotRun: Another process is at work in one of the directories.
    """
    with contextlib.ExitStack() as stack:
        for directory in directories:
            stack.enter_context(alone_in(directory))
        work = {directory: stack.enter_context(contextlib.closing(_work(directory, watch=watch))) for directory in directories}
        ended: dict[Path, dict[str, Any]] = {}
        stopped = None
        for directory in itertools.cycle(directories):
            if len(ended) == len(directories) or stopped:
                break
            if directory in ended:
                continue
            try:
                next(work[directory])
            except StopIteration as end:
                ended[directory] = end.value
                stopped = end.value.get("interrupted")
        # Those that were stopped by what stopped another one are interrupted by the same.
        return [ended.get(directory) or {**read_invocation(directory), "interrupted": stopped} for directory in directories]


def _work(directory: Path, *, watch: Watch) -> Generator[None, None, dict[str, Any]]:
    """Carry out one invocation, pausing after the verification and after each run; return it."""
    invocation = read_invocation(directory)
    if (invocation["verdict"] or {}).get("name") == _NO_ENVIRONMENT:
        invocation["runs"] = run_names(invocation["seeds"])
        if (invocation["verify"] or {"verdict": {}})["verdict"].get("name") == _NO_ENVIRONMENT:
            invocation["verify"] = rung.PENDING
    if _is_run(directory, invocation):  # an environment that is gone must not take its verdict with it
        return (yield from _carry_out(directory, invocation, watch=watch, python=None))
    try:
        with interpreter(invocation.get("release"), tell=watch.on_build) as (python, release):
            return (yield from _carry_out(directory, invocation | {"release": release}, watch=watch, python=python))
    except EnvironmentFailed as error:
        return give_up(directory, error)


def _is_run(directory: Path, invocation: dict[str, Any]) -> bool:
    """Has every run finished, so that judging is all that is left?"""
    records = [read_record(directory / name) for name in invocation["runs"]]
    return invocation.get("verify") != rung.PENDING and all(record and record["status"] == "finished" for record in records)


def _carry_out(
    directory: Path, invocation: dict[str, Any], *, watch: Watch, python: Path | None
) -> Generator[None, None, dict[str, Any]]:
    context = Context.from_dict(invocation["context"])
    if invocation.get("verify") == rung.PENDING:
        found = rung.verify_first(directory, invocation, watch=watch, python=python)
        if found["verdict"]["name"] == rung.INTERRUPTED:
            return {**invocation, "interrupted": found["verdict"]["failure"]}
        invocation["verify"] = found
        write_json(directory / FILE_NAME, invocation)
        yield
    records = []
    for index, name in enumerate(invocation["runs"]):
        record, ending = read_record(directory / name), None
        if record is None or record["status"] != "finished":
            if invocation["verdict"]:  # a resumed one: what it said no longer holds
                invocation["verdict"] = None
                write_json(directory / FILE_NAME, invocation)
            watch.on_start(_spec_facts(directory / name), index, len(invocation["runs"]))
            ending = execute(
                directory / name,
                context.framework,
                on_event=watch.on_event,
                heartbeat_timeout=watch.heartbeat_timeout,
                progress_timeout=watch.progress_timeout,
                stop=watch.stop,
                python=python,
            )
            record = make_record(
                directory / name,
                invocation_id=invocation["invocation_id"],
                context=context,
                ending=ending,
                verify=invocation.get("verify"),
            )
            watch.on_end(record)
            watch.on_recorded(directory / name)
        records.append(record)
        if record["status"] == "interrupted":
            return {**invocation, "interrupted": record["failure"]}
        if ending and ending.is_interrupted and name != invocation["runs"][-1]:
            return {**invocation, "interrupted": {"phase": "finish", "step": len(record["losses"])}}
        if record["status"] == "unsupported":
            invocation["runs"] = invocation["runs"][: len(records)]  # another seed would be refused alike
            break
        if until_decided.is_over(directory, invocation, records, judge_records):
            break
        yield
    invocation["verdict"] = rung.with_first_rung(judge_records(invocation, records), invocation.get("verify"))
    invocation["wall_seconds"] = round(sum(record["timing"]["wall_seconds"] for record in records), 1)
    invocation["tracking"] = None  # of an earlier verdict: `vigil sync` would pass over this one
    write_json(directory / FILE_NAME, invocation)
    return track(directory)


def give_up(directory: Path, error: EnvironmentFailed) -> dict[str, Any]:
    """Write down, and track, that there is no environment for an invocation's release; return the invocation."""
    invocation = read_invocation(directory)
    names = run_names(invocation["seeds"])
    metric = read_spec(directory / names[0]).training["metric"]
    failure = {"category": "environment", "phase": "start", "step": 0, "message": error.reason, "log_tail": error.log_tail}
    invocation["verdict"] = verdict.failed(failure, metric=metric, seed=invocation["seeds"][0], values=[])
    if invocation.get("verify") == rung.PENDING:
        invocation["verify"] = rung.unverified({"name": _NO_ENVIRONMENT, "reason": error.reason})
    invocation["wall_seconds"], invocation["tracking"] = 0.0, None
    invocation["runs"] = [name for name in names if read_record(directory / name)]  # the others never began
    write_json(directory / FILE_NAME, invocation)
    return track(directory)


def judge_records(invocation: dict[str, Any], records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the verdict of an invocation: a failed or refused run decides it, whatever the others reached."""
    stopped = next((record for record in records if record["failure"]), None)
    if stopped is not None:
        values = [
            {"seed": record["seed"], "value": record["metric"]["value"], "verdict": "not judged"}
            for record in records
            if record["status"] == "finished"
        ]
        return verdict.failed(stopped["failure"], metric=stopped["metric"], seed=stopped["seed"], values=values)
    rows = load_rows(reference_directory(), invocation["recipe"]["name"])
    return verdict.judge(
        [(record["seed"], record["metric"]["value"]) for record in records],
        rows=rows,
        recipe=invocation["recipe"],
        metric=records[0]["metric"],
        data=records[0]["data"],
        context=invocation["context"]["text"],
        profile=invocation["recipe"]["profile"],
        targets=invocation["targets"],
        sequential=invocation.get("sequential"),
    )


def track(directory: Path) -> dict[str, Any]:
    """Upload to MLflow, or note that it could not be reached; return the invocation with what became of it."""
    tracking.upload_or_note(directory)
    return read_invocation(directory)


def read_invocation(directory: Path) -> dict[str, Any]:
    """Return invocation.json. Raises UsageError when this is no invocation directory."""
    path = directory / FILE_NAME
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(
            f"{directory}: holds no {FILE_NAME}. Give an invocation directory, or a run directory inside one."
        ) from error
    except ValueError as error:
        raise CannotRun(f"{path}: not JSON ({error}). It was altered; start a new invocation.") from error


def _spec_facts(run_directory: Path) -> dict[str, Any]:
    spec = read_spec(run_directory)
    return {
        "seed": spec.seed,
        "steps": spec.training["steps"],
        "batch_size": spec.training["batch_size"],
        "metric": spec.training["metric"],
        "steps_per_epoch": spec.training["data"]["n_train"] // spec.training["batch_size"],
    }
