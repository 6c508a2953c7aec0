"""What a night tests of each framework: which release, is it new, and the environment that has it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from vigil.errors import EnvironmentFailed
from vigil.nightly.document import Night, cell_of
from vigil.nightly.pool import NO_ENVIRONMENT, Outcome, fail

Tell = Callable[[str], None]


class Releases(Protocol):
    """Where releases come from. Tests put a fake in its place."""

    def resolve(self, framework: str) -> dict[str, Any]:
        """Return the release to test, as it is recorded, with its `version`. Raises EnvironmentFailed."""

    def hold(self, release: Mapping[str, Any], *, tell: Tell) -> AbstractContextManager[Path]:
        """Yield the interpreter that has a release, which is built first where it is not there. Raises EnvironmentFailed."""


def resolve_all(
    frameworks: Sequence[str], releases: Releases, documents: Sequence[dict[str, Any]], *, tell: Tell
) -> dict[str, dict[str, Any]]:
    """Return what is to be tested of each framework, or why it cannot be had, and whether it is new."""
    found = {}
    for framework in frameworks:
        tested = [document["releases"].get(framework, {}) for document in documents]
        previous = next((release for release in reversed(tested) if release.get("key")), {})
        try:
            release = {**releases.resolve(framework), "error": None}
        except EnvironmentFailed as error:
            release = {"request": framework, "version": None, "key": None, "pins": None}
            release["error"] = {"reason": error.reason, "log_tail": error.log_tail, "seconds": 0.0}
        release |= {"is_new": release["key"] != previous.get("key"), "previous": previous.get("version")}
        tell(f"{framework}: {release_text(release)}")
        found[framework] = release
    return found


def release_text(release: Mapping[str, Any]) -> str:
    """Return a release as a person is told of it."""
    if release["error"]:
        return f"cannot be had: {release['error']['reason']}"
    if not release["is_new"]:
        return f"{release['version']}, as before"
    if release["previous"] is None:
        return f"{release['version']}, for the first time"
    if release["previous"] == release["version"]:
        return f"{release['version']}, with other packages than before"
    return f"{release['version']} is new (was {release['previous']})"


@contextlib.contextmanager
def held(night: Night, frameworks: Sequence[str], releases: Releases, *, tell: Tell) -> Iterator[dict[str, Path]]:
    """Yield the interpreters of the frameworks that are due; the cells of one that cannot be built are closed as failed."""
    needed = [name for name in night.document["releases"] if name in frameworks]
    with contextlib.ExitStack() as stack:
        pythons: dict[str, Path] = {}
        lock = threading.Lock()

        def hold(name: str) -> None:
            release = night.document["releases"][name]
            if release["key"] is None:
                return
            began = time.monotonic()
            try:
                held = releases.hold(release, tell=tell)
                python = held.__enter__()
            except EnvironmentFailed as error:
                seconds = round(time.monotonic() - began, 1)
                release["error"] = {"reason": error.reason, "log_tail": error.log_tail, "seconds": seconds}
                tell(f"{name}: cannot be had: {error.reason}")
                return
            with lock:
                stack.push(held)
                pythons[name], release["error"] = python, None  # an earlier attempt may have failed

        with ThreadPoolExecutor(max_workers=max(len(needed), 1)) as pool:
            list(pool.map(hold, needed))
        for name in needed:
            if name not in pythons:
                error = night.document["releases"][name]["error"]
                reason = "\n".join([error["reason"], *error["log_tail"]])
                cells = [cell for row in night.document["cells"] if (cell := cell_of(row)).framework == name]
                fail(night, cells, Outcome(NO_ENVIRONMENT, reason))
        night.save()
        yield pythons
