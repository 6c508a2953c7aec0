"""The release that an invocation or a verification says it is of, as the interpreter that has it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from vigil.documents.invocation import NamedRelease
from vigil.releases.naming import parse_release
from vigil.releases.resolve import Resolved
from vigil.releases.store import held, obtain


@contextlib.contextmanager
def interpreter(
    release: NamedRelease | None, *, tell: Callable[[str], None]
) -> Iterator[tuple[Path | None, NamedRelease | None]]:
    """Yield the interpreter of a recorded release, and what is to be recorded of it; nobody removes its environment meanwhile.

    An environment that was pruned is built again from the recorded pins. One that could not be resolved is tried again. Without a
    release the interpreter is None, the one that runs this.

    Raises:
        EnvironmentFailed: It cannot be resolved or built.
    """
    if release is None:
        yield None, None
        return
    resolved = Resolved.from_named(release) if release.key else obtain(parse_release(release.request), tell=tell)
    with held(resolved, tell=tell) as python:
        yield python, resolved.named
