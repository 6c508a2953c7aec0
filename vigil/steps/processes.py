"""The processes that a user's file takes: of a step its oracle, each context, and the updates that contexts made."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from runners.contract.audit.batch_norm import TableRequest
from runners.contract.audit.request import AuditRequest
from runners.contract.operators.request import OperatorRequest
from runners.contract.protocol.events import read_events
from runners.contract.steps import frame
from runners.contract.steps.request import StepRequest
from vigil.documents.failure import Failure
from vigil.documents.provenance import Environment
from vigil.process.build_spec import HEARTBEAT_SECONDS
from vigil.process.environment import describe_machine
from vigil.process.execute import PROGRESS_TIMEOUT_SECONDS, execute
from vigil.process.hosts import Hosts, hosts
from vigil.process.recording import failure_of
from vigil.process.side_by_side import take_cores
from vigil.steps.limits import DRAWS

REPEATS = 60


@dataclasses.dataclass(frozen=True, kw_only=True)
class Started:
    """What is the same for every process that a verb starts.

    progress: is told how many parts of a process's work are done, of all. hosts: where processes are forked, if there are many.
    """

    framework: str
    python: Path | None = None
    fault: dict[str, str] | None = None
    hosts: Hosts | None = None
    progress_timeout: float = PROGRESS_TIMEOUT_SECONDS
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    progress: Callable[[str, int, int], None] = lambda what, done, total: None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked(Started):
    """What is the same for every process of a verification of a user's file.

    keeps: what is answered is kept. given: the verification that kept what this one begins with.
    repeats: how often a context takes the step again.
    """

    file: Path
    sha256: str
    keeps: bool = False
    given: Path | None = None
    repeats: int = REPEATS


AnyStarted = TypeVar("AnyStarted", bound=Started)


@contextlib.contextmanager
def forked(started: AnyStarted) -> Iterator[AnyStarted]:
    """Yield the same with hosts that fork processes, unless it has some: a framework is imported once for all of them.

    What another interpreter runs is started anew: a script in its place may set variables, which a fork would not have.
    """
    if started.hosts or started.python is not None:
        yield started
        return
    with hosts() as opened:
        yield dataclasses.replace(started, hosts=opened)


@dataclasses.dataclass(frozen=True)
class Ended:
    """A process that has ended: where, why it failed if it did, what it told of its environment, and what it took."""

    directory: Path
    failure: Failure | None
    environment: Environment
    seconds: float
    peak_memory_bytes: int | None = None

    def read(self, name: str) -> Any:
        """Return what it wrote in a JSON file of this name."""
        return json.loads((self.directory / name).read_text(encoding="utf-8"))


def oracle_name(precision: str) -> str:
    """Return what the directory of a precision's oracle is called in that of a verification."""
    return f"oracle-{precision}"


def draws_name(precision: str) -> str:
    """Return what the directory of a process that makes some of an oracle's draws is called."""
    return f"draws-{precision}"


def given_of(asked: Asked, precision: str) -> Path | None:
    """Return the directory of the other verification's oracle; None where there is none, or it came to nothing."""
    directory = asked.given / oracle_name(precision) if asked.given else None
    return directory if directory and (directory / frame.FLOORS).exists() else None


def seed_of(oracle: Path) -> int:
    """Return the seed of the batch that an oracle has answered of."""
    return int(json.loads((oracle / frame.FLOORS).read_text(encoding="utf-8"))["facts"]["seed"])


def run(
    asked: Asked,
    directory: Path,
    *,
    task: str,
    mode: str = "eager",
    precision: str,
    determinism: str = "off",
    device: str = "cpu",
    devices: int = 1,
    threads: int = 1,
    cores: list[int] | None = None,
    looks: bool = False,
    seeds: Sequence[int] = (),
    expected: Sequence[Path] = (),
    rows: int | None = None,
    shares_draws: bool = False,
    variables: Mapping[str, str] | None = None,
) -> Ended:
    """Run one process to its end in a directory of its own, with such variables in its environment."""
    given = given_of(asked, precision)
    request = StepRequest(
        framework=asked.framework,
        task=task,
        looks=looks,
        file=str(asked.file),
        file_sha256=asked.sha256,
        mode=mode,
        precision=precision,
        threads=threads,
        cores=tuple(cores) if cores else None,
        draws=DRAWS,
        repeats=asked.repeats,
        seeds=tuple(seeds),
        expected=tuple(map(str, expected)),
        keeps=asked.keeps and not looks,
        given=str(given) if given else None,
        fault=asked.fault if task not in ("oracle", "draws", "updates") else None,  # what is expected has none
        heartbeat_seconds=HEARTBEAT_SECONDS,
        determinism=determinism,
        device=device,
        devices=devices,
        rows=rows,
        shares_draws=shares_draws,
    )
    return carried_out(asked, directory, request, option=frame.OPTION, variables=variables)


def carried_out(
    asked: Started,
    directory: Path,
    request: StepRequest | OperatorRequest | AuditRequest | TableRequest,
    *,
    option: str,
    variables: Mapping[str, str] | None = None,
) -> Ended:
    """Have a runner do what a request asks, in a directory of its own; return how it ended.

    Of the cores of the request it is bound to as many as it has threads.
    """
    directory.mkdir(parents=True, exist_ok=True)

    def on_event(event: dict) -> None:
        if event["kind"] == "probed":
            asked.progress(directory.name, event["index"] + 1, event["total"])

    with take_cores(request.threads, request.cores) if request.cores else contextlib.nullcontext() as cores:
        dataclasses.replace(request, cores=cores).write(directory)
        ending = execute(
            directory,
            asked.framework,
            options=[option],
            # NumPy's, which the oracle of JAX computes with: it has one core
            variables={"OPENBLAS_NUM_THREADS": "1", **(variables or {})},
            on_event=on_event,
            progress_timeout=asked.progress_timeout,
            stop=asked.stop,
            python=asked.python,
            hosts=asked.hosts,
            cores=cores,
            # What is not told by a seed must differ between what is held to each other, or nobody would see that it can.
            apart="expected" if getattr(request, "task", "") in ("oracle", "draws", "updates") else "",
        )
    events = read_events(directory)
    finished = next((event for event in events if event["kind"] == "finished"), None)
    inside: Environment = next((event["environment"] for event in events if event["kind"] == "environment"), {})
    return Ended(
        directory,
        None if finished else failure_of(directory, events, ending),
        {**describe_machine(), "framework": asked.framework, **inside},
        round(events[-1]["time"] - events[0]["time"], 3) if events else 0.0,
        finished["peak_memory_bytes"] if finished else None,
    )
