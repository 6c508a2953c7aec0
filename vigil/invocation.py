"""One command's worth of runs: planned whole before the first starts, run one by one, judged, written down, tracked.

An invocation directory holds invocation.json and one run directory a seed. Everything needed to go on after an
interruption is in it, so `vigil resume` continues by the same path.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from runners.contract.spec import read_spec, write_spec
from vigil import rung, tracking, until_decided, verdict
from vigil.context import Context
from vigil.data import ensure_data
from vigil.environment import require_framework
from vigil.errors import CannotRun, DirectoryError, UsageError
from vigil.execute import HEARTBEAT_TIMEOUT_SECONDS, PROGRESS_TIMEOUT_SECONDS, execute
from vigil.paths import reference_directory
from vigil.recipe import Recipe, recipe_hash
from vigil.record import make_record, read_record, write_json
from vigil.reference import load_rows
from vigil.spec import build_spec, rows_of_part

SCHEMA = 1
FILE_NAME = "invocation.json"
_FREE_BYTES = 300 * 2**20


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked for: a recipe's profile, in one context, with these seeds; `verify`: one training step first.

    sequential: the rule by which seeds are added one at a time (`vigil.until_decided`); None trains them all.
    """

    recipe: Recipe
    recipe_source: str
    profile: str
    context: Context
    seeds: tuple[int, ...]
    fault: dict[str, str] | None
    command: str
    cores: list[int] | None = None
    verify: bool = False
    sequential: dict[str, Any] | None = None


def _ignore(*facts: Any) -> None:
    """Nobody is told."""


@dataclasses.dataclass(frozen=True)
class Watch:
    """Who is told what happens, and how long silence may last.

    on_verify: told the directory of the first rung, returns what is told its events. on_verified: told its document.
    on_recorded: told the directory of a run whose record is written, before it is tracked.
    """

    on_start: Callable[[dict, int, int], None]
    on_event: Callable[[dict], None]
    on_end: Callable[[dict], None]
    on_data: Callable[[int, int | None], None]
    heartbeat_timeout: float = HEARTBEAT_TIMEOUT_SECONDS
    progress_timeout: float = PROGRESS_TIMEOUT_SECONDS
    stop: threading.Event | None = None
    on_verify: Callable[[Path], Callable[[dict], None]] = lambda directory: _ignore
    on_verified: Callable[[dict[str, Any], Path], None] = _ignore
    on_recorded: Callable[[Path], None] = _ignore


def preflight(request: Request, runs: Path, *, on_data: Callable[[int, int | None], None]) -> Path | None:
    """Check, before anything is trained, all that would otherwise fail late; return the data directory, if one is needed.

    Raises:
        FrameworkMissing, DataError, DirectoryError: exit code 3, each with what to do.
        UsageError: The shards do not fit the batch.
    """
    training = request.recipe.resolve(request.profile)
    request.context.shard_sizes(training["batch_size"], rows=rows_of_part(training))
    request.context.evaluation_shards(training["evaluation_batch_size"])
    require_framework(request.context.framework)
    require_writable(runs)
    return ensure_data(training["data"], progress=on_data)


def plan(request: Request, runs: Path, *, data_directory: Path | None) -> Path:
    """Create the invocation directory with every run's spec; return it."""
    training = request.recipe.resolve(request.profile)
    recipe = {
        "name": request.recipe.name,
        "version": request.recipe.version,
        "hash": recipe_hash(training),
        "profile": request.profile,
    }
    now = datetime.now(timezone.utc)
    directory = new_directory(runs, f"{now:%Y%m%d-%H%M%S}-{recipe['name']}-{request.profile}-{request.context.text}")
    names = [f"seed{seed}" for seed in request.seeds]
    for seed, name in zip(request.seeds, names, strict=True):
        (directory / name).mkdir()
        write_spec(
            directory / name,
            build_spec(
                run_id=f"{directory.name}-{name}",
                recipe=recipe,
                training=training,
                context=request.context,
                seed=seed,
                data_directory=data_directory,
                fault=request.fault,
                cores=request.cores,
            ),
        )
    write_json(
        directory / FILE_NAME,
        {
            "schema": SCHEMA,
            "invocation_id": directory.name,
            "created": now.isoformat(timespec="seconds"),
            "command": request.command,
            "recipe": recipe,
            "context": request.context.as_dict(),
            "seeds": list(request.seeds),
            "fault": request.fault["name"] if request.fault else None,
            "targets": [target.model_dump(mode="json") for target in request.recipe.targets],
            "runs": names,
            # Native randomness has weights and batches of its own, which no golden tape can know.
            "verify": rung.PENDING if request.verify and request.context.randomness == "shared" else None,
            "sequential": request.sequential,
            "verdict": None,
            "wall_seconds": None,
            "tracking": None,
        },
    )
    return directory


def carry_out(directory: Path, *, watch: Watch) -> dict[str, Any]:
    """Run what is not finished yet, judge, track, and return the invocation with its verdict.

    After Ctrl-C the remaining seeds are not started; the invocation then has no verdict and can be resumed.

    Raises:
        CannotRun: Another process is at work in this directory.
    """
    with _alone_in(directory):
        return _carry_out(directory, watch=watch)


def _carry_out(directory: Path, *, watch: Watch) -> dict[str, Any]:
    invocation = read_invocation(directory)
    context = Context.from_dict(invocation["context"])
    if invocation.get("verify") == rung.PENDING:
        found = rung.verify_first(directory, invocation, watch=watch)
        if found["verdict"]["name"] == rung.INTERRUPTED:
            return {**invocation, "interrupted": found["verdict"]["failure"]}
        invocation["verify"] = found
        write_json(directory / FILE_NAME, invocation)
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
    invocation["verdict"] = rung.with_first_rung(judge_records(invocation, records), invocation.get("verify"))
    invocation["wall_seconds"] = round(sum(record["timing"]["wall_seconds"] for record in records), 1)
    write_json(directory / FILE_NAME, invocation)
    return track(directory)


def judge_records(invocation: dict[str, Any], records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the verdict of an invocation: a failed or refused run decides it, whatever the others reached."""
    stopped = next((record for record in records if record["failure"]), None)
    if stopped is not None:
        failure = stopped["failure"]
        name = "unsupported" if failure["category"] == "unsupported" else f"failed:{failure['category']}"
        values = [
            {"seed": record["seed"], "value": record["metric"]["value"], "verdict": "not judged"}
            for record in records
            if record["status"] == "finished"
        ]
        metric = stopped["metric"]
        return {
            "name": name,
            "reason": failure["message"],
            "metric": metric["name"],
            "unit": metric["unit"],
            "direction": metric["direction"],
            "values": values,
            "mean": None,
            "p_value": None,
            "band": None,
            "mean_band": None,
            "welch": None,
            "sequential": None,
            "detectable_drop": None,
            "power": verdict.POWER,
            "targets": [],
            "failure": {
                "seed": stopped["seed"],
                **{key: failure[key] for key in ("category", "phase", "step", "log_tail")},
            },
        }
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
    except FileNotFoundError as error:
        raise UsageError(
            f"{directory}: holds no {FILE_NAME}. Give an invocation directory, or a run directory inside one."
        ) from error
    except ValueError as error:
        raise CannotRun(f"{path}: not JSON ({error}). It was altered; start a new invocation.") from error


@contextlib.contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    with open(directory / "conductor.lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CannotRun(f"{directory}: another vigil is at work here. Wait for it, or end it first.") from error
        yield


def _spec_facts(run_directory: Path) -> dict[str, Any]:
    spec = read_spec(run_directory)
    return {
        "seed": spec.seed,
        "steps": spec.training["steps"],
        "batch_size": spec.training["batch_size"],
        "metric": spec.training["metric"],
        "steps_per_epoch": spec.training["data"]["n_train"] // spec.training["batch_size"],
    }


def require_writable(runs: Path) -> None:
    """Raise DirectoryError unless the folder of runs can be written and has room."""
    try:
        runs.mkdir(parents=True, exist_ok=True)
        probe = runs / f".writable-{os.getpid()}-{threading.get_ident()}"
        probe.write_bytes(b"vigil")
        probe.unlink()
        free = shutil.disk_usage(runs).free
    except OSError as error:
        raise DirectoryError(
            f"{runs}: cannot be written ({error.strerror}). Set VIGIL_RUNS_DIR to a directory that can."
        ) from error
    if free < _FREE_BYTES:
        raise DirectoryError(
            f"{runs}: {free / 2**20:.0f} MiB free, {_FREE_BYTES / 2**20:.0f} MiB are needed. "
            "Free some space, or set VIGIL_RUNS_DIR to another disk."
        )


def new_directory(runs: Path, name: str) -> Path:
    """Create a directory of this name, with a number behind it if there is one already. Raises DirectoryError."""
    for attempt in range(1, 1000):
        directory = runs / (name if attempt == 1 else f"{name}-{attempt}")
        try:
            directory.mkdir(parents=True)
            return directory
        except FileExistsError:
            continue
    raise DirectoryError(f"{runs}: a thousand invocations named {name} exist already")
