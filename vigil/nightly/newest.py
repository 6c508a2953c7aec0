"""Which release of each framework a night tests: the newest, or the one that is held."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from vigil.errors import UsageError
from vigil.releases.naming import Release, parse_release
from vigil.releases.resolve import Resolved, resolve
from vigil.releases.store import held, known


class Newest:
    """The releases of a night, and the environments that have them."""

    def __init__(self, *, held_at: Sequence[str] = (), is_pre: bool = False, indexes: Sequence[str] = ()) -> None:
        """held_at: releases that are tested in the place of the newest.

        Raises:
            UsageError: two of one framework.
        """
        self._releases: dict[str, Release] = {}
        for text in held_at:
            release = parse_release(text, indexes=indexes)
            if release.framework in self._releases:
                raise UsageError(
                    f"--hold: found two of {release.framework}, {self._releases[release.framework].text} and {release.text}."
                )
            self._releases[release.framework] = release
        self._suffix, self._indexes = "@pre" if is_pre else "", tuple(indexes)

    @property
    def held_at(self) -> list[str]:
        """Return the frameworks that are held."""
        return list(self._releases)

    def resolve(self, framework: str) -> dict[str, Any]:
        """Return the release to test, as it is recorded. Raises EnvironmentFailed."""
        release = self._releases.get(framework) or parse_release(framework + self._suffix, indexes=self._indexes)
        # What is named exactly and was built before needs no network.
        resolved = known(release) or resolve(release)
        return {**resolved.as_dict(), "version": resolved.version}

    def hold(self, release: Mapping[str, Any], *, tell: Callable[[str], None]) -> AbstractContextManager[Path]:
        """Yield the interpreter of a recorded release, built first where it is not there. Raises EnvironmentFailed."""
        resolved = Resolved.from_dict(release)
        shown = tuple(resolved.extra_index)
        # An index's password is not in what is recorded; on the command line it may be.
        secrets = self._indexes if len(self._indexes) == len(shown) else ()
        return held(Resolved(resolved.request, resolved.key, resolved.pins, shown, secrets), tell=tell)
