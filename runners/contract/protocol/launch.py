"""The frame of every runner's `__main__`: read the spec, run the training, and end in exactly one last event."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

from runners.contract.errors import ContractError
from runners.contract.protocol import stacks
from runners.contract.protocol.events import EventWriter
from runners.contract.protocol.session import Session
from runners.contract.protocol.spec import FILE_NAME as SPEC
from runners.contract.protocol.spec import RunSpec, read_spec
from runners.contract.protocol.stacks import CONDUCTOR_VARIABLE

EXIT_FINISHED = 0
EXIT_FAILED = 3
_OUT_OF_MEMORY = (
    "out of memory",
    "RESOURCE_EXHAUSTED",
    "ResourceExhausted",
    "OutOfMemory",
    "can't allocate memory",
    "bad_alloc",
)


class Request(Protocol):
    """What a runner is asked: the spec of a run, or the request of a user's step."""

    @property
    def framework(self) -> str: ...

    @property
    def cores(self) -> tuple[int, ...] | None: ...

    @property
    def heartbeat_seconds(self) -> float: ...


Asked = TypeVar("Asked", bound=Request)
Work = Callable[[], None]


def main(framework: str, train: Callable[[Session], None], arguments: list[str]) -> int:
    """Run `train` in the run directory named on the command line; return the exit code.

    A failure of any kind becomes a `failed` event with its category, and exit code 3. Only a process that dies leaves no
    last event.
    """

    def begin(directory: Path, spec: RunSpec, events: EventWriter) -> tuple[Work, Callable[[], int]]:
        session = Session(directory, spec, events)
        return lambda: train(session), lambda: session.step

    return conducted(framework, arguments, file=SPEC, read=read_spec, begin=begin)


def conducted(
    framework: str,
    arguments: list[str],
    *,
    file: str,
    read: Callable[[Path], Asked],
    begin: Callable[[Path, Asked, EventWriter], tuple[Work, Callable[[], int]]],
    option: str = "",
) -> int:
    """Do what a file of the directory on the command line asks; return the exit code: 2 where it cannot be read.

    Args:
        begin: returns the work, and what says how many steps of it are done.
        option: of the command line, which has been taken.
    """
    if len(arguments) != 1 or arguments[0].startswith("-"):
        form = " ".join(filter(None, [f"python -m runners.{framework}", option, "RUN_DIR"]))
        print(f"usage: {form}   (RUN_DIR holds {file}; see runners/README.md)", file=sys.stderr)
        return 2
    directory = Path(arguments[0])
    try:
        asked = read(directory)
    except (OSError, ValueError, TypeError, KeyError) as error:
        print(f"{directory}/{file}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    if asked.framework != framework:
        print(f"{directory}/{file}: framework {asked.framework!r}; this is the runner of {framework}", file=sys.stderr)
        return 2
    if asked.cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, asked.cores)
    signal.signal(signal.SIGTERM, _interrupt)
    _end_with_conductor()
    stacks.be_ready(directory)
    events = EventWriter(directory, heartbeat_seconds=asked.heartbeat_seconds)
    work, step = begin(directory, asked, events)
    events.emit("started", pid=os.getpid(), framework=framework)
    return _reported(events, work, step=step)


def _reported(events: EventWriter, work: Work, *, step: Callable[[], int]) -> int:
    """Do the work and return the exit code; a failure of any kind becomes the last event, and exit code 3."""
    try:
        work()
        return EXIT_FINISHED
    except BaseException as error:  # whatever it is, it belongs into the record
        events.emit(
            "failed",
            category=category(error),
            step=step(),
            message=_message(error),
            traceback=traceback.format_exc()[-8000:],
        )
        traceback.print_exc()
        return EXIT_FAILED
    finally:
        events.close()


def leave(exit_code: int) -> NoReturn:
    """End the process at once. All of the run is on disk; taking down a framework costs a second or two, and can hang."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)


def category(error: BaseException) -> str:
    """Return the word for a failure: the error's own category, `interrupted`, `out_of_memory` or `crash`."""
    if isinstance(error, ContractError):
        return error.category
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    text = f"{type(error).__name__}: {error}"
    is_said = any(mark in text for mark in _OUT_OF_MEMORY) and not isinstance(error, AssertionError)  # its author's words
    if isinstance(error, MemoryError) or is_said:
        return "out_of_memory"
    return "crash"


def _message(error: BaseException) -> str:
    if isinstance(error, ContractError):
        return str(error)
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0] if first else ''}".rstrip(": ")


def _end_with_conductor() -> None:
    """End this process when the conductor that started it is gone, even by kill -9: else a resumed run would be run twice."""
    conductor = os.environ.get(CONDUCTOR_VARIABLE)
    if conductor is None:
        return

    def watch() -> None:
        while os.getppid() == int(conductor):
            time.sleep(0.5)
        os._exit(EXIT_FAILED)

    threading.Thread(target=watch, name="watch-conductor", daemon=True).start()


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt(f"signal {number}")
