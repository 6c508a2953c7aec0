"""A process that is asked about a user's file: how it begins and ends, whatever it is asked."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from runners.contract.protocol import faults, launch
from runners.contract.protocol.costs import costs
from runners.contract.protocol.events import EventWriter

# A framework, as the frame of steps or that of operators has it; and what either of them is asked.
Brought = TypeVar("Brought", bound="Framework")
Asked = TypeVar("Asked", bound="Request")


class Request(launch.Request, Protocol):
    """What is asked."""

    @property
    def fault(self) -> dict[str, str] | None: ...


class Framework(Protocol):
    """What a framework brings. `set_up` comes before its first operation."""

    @property
    def name(self) -> str: ...

    @property
    def set_up(self) -> Callable[[Any], None]: ...

    @property
    def describe(self) -> Callable[[], dict[str, Any]]: ...


def main(
    name: str,
    load: Callable[[], Brought],
    arguments: list[str],
    *,
    file: str,
    read: Callable[[Path], Asked],
    option: str,
    answer: Callable[[Brought, Asked, Path, EventWriter], None],
) -> int:
    """Answer the request in a directory; return the exit code. A failure of any kind becomes a `failed` event.

    Args:
        load: imports the framework.
        file, read: the request's, see `launch.conducted`.
    """

    def begin(directory: Path, request: Asked, events: EventWriter) -> tuple[Callable[[], None], Callable[[], int]]:
        def work() -> None:
            framework = load()
            framework.set_up(request)
            here = {"python": platform.python_version(), "executable": sys.executable, "numpy": np.__version__}
            events.emit("environment", environment=here | framework.describe())
            events.enter("set_up")
            if request.fault:
                faults.install(request.fault, framework.name)
            answer(framework, request, directory, events)
            events.enter("finish")
            events.emit("finished", **costs())

        return work, lambda: 0

    return launch.conducted(name, arguments, file=file, read=read, begin=begin, option=option)
