"""The release that an invocation or a verification says it is of, as the interpreter that has it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

from vigil.documents.invocation import NamedRelease
from vigil.process.consent import RELEASES, is_own
from vigil.releases.naming import parse_release
from vigil.releases.resolve import Resolved
from vigil.releases.store import digest_of_named, held, listed, obtain


def named_by_user(release: NamedRelease) -> bool:
    """Has a command of this user named what carrying this out would install, or is there nothing left to install?"""
    if is_own(RELEASES, digest_of_named(release)):
        return True
    there = [environment.resolved.named for environment in listed()]
    return any((each.key, each.pins, each.extra_index) == (release.key, release.pins, release.extra_index) for each in there)


def installed_by(release: NamedRelease) -> str:
    """Return, in words, what carrying this out would install, and from where."""
    if release.pins is None:
        return f"{release.request}, with what it needs, from your own package indexes"
    where = ", ".join(("your own package indexes", *(release.extra_index or ())))
    return f"{release.request}, {len(release.pins)} packages from {where}: {', '.join(release.pins)}"


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
    if release.key:
        resolved = Resolved.from_named(release)
    else:
        resolved = obtain(dataclasses.replace(parse_release(release.request), hold=release.hold or ()), tell=tell)
    with held(resolved, tell=tell) as python:
        yield python, resolved.named
