"""What a night tests of each framework: the newest release, or one that was named; is it new; and the environment that has it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from vigil.documents.night import DONE, Night, NightRelease, ReleaseError
from vigil.documents.verdict import Verdict
from vigil.errors import EnvironmentFailed, UsageError
from vigil.nightly.night_file import NightFile
from vigil.releases.naming import Release, parse_release
from vigil.releases.resolve import Resolved
from vigil.releases.store import held, pins_of

Tell = Callable[[str], None]


class ReleaseSource(Protocol):
    """Where releases come from. Tests put a fake in its place."""

    def resolve(self, framework: str) -> NightRelease:
        """Return the release to test. Raises EnvironmentFailed."""

    def hold(self, release: NightRelease, *, tell: Tell) -> AbstractContextManager[Path]:
        """Yield the interpreter that has a release, which is built first where it is not there. Raises EnvironmentFailed."""


class NewestReleases:
    """The newest release of each framework, or the one named in its place, and the environments that have them."""

    def __init__(self, *, named: Sequence[str] = (), is_pre: bool = False, indexes: Sequence[str] = ()) -> None:
        """named: releases that are tested in the place of the newest.

        Raises:
            UsageError: two of one framework.
        """
        self._named: dict[str, Release] = {}
        for text in named:
            release = parse_release(text, indexes=indexes)
            if release.framework in self._named:
                raise UsageError(
                    f"--hold: found two of {release.framework}, {self._named[release.framework].text} and {release.text}."
                )
            self._named[release.framework] = release
        self._suffix, self._indexes = "@pre" if is_pre else "", tuple(indexes)

    @property
    def frameworks(self) -> list[str]:
        """Return the frameworks of which a release was named."""
        return list(self._named)

    def resolve(self, framework: str) -> NightRelease:
        """Return the release to test. Raises EnvironmentFailed."""
        release = self._named.get(framework) or parse_release(framework + self._suffix, indexes=self._indexes)
        resolved = pins_of(release)
        return NightRelease(
            request=resolved.request,
            version=resolved.version,
            key=resolved.key,
            pins=resolved.pins,
            extra_index=resolved.extra_index or None,
        )

    def hold(self, release: NightRelease, *, tell: Tell) -> AbstractContextManager[Path]:
        """Yield the interpreter of a recorded release, built first where it is not there. Raises EnvironmentFailed."""
        resolved = Resolved.from_named(release.named)
        # An index's password is not in what is recorded; on the command line it may be.
        secrets = self._indexes if len(self._indexes) == len(resolved.extra_index) else ()
        return held(Resolved(resolved.request, resolved.key, resolved.pins, resolved.extra_index, secrets), tell=tell)


def resolve_all(
    frameworks: Sequence[str], releases: ReleaseSource, nights: Sequence[Night], *, tell: Tell
) -> dict[str, NightRelease]:
    """Return what is to be tested of each framework, or why it cannot be had, and whether it is new."""
    resolved = {}
    for framework in frameworks:
        tested = [night.releases[framework] for night in nights if framework in night.releases]
        previous = next((release for release in reversed(tested) if release.key), None)
        try:
            release = releases.resolve(framework)
        except EnvironmentFailed as error:
            release = NightRelease(request=framework, version=None, key=None, pins=None, error=_error(error))
        is_new = release.key != (previous.key if previous else None)
        release = release.replace(is_new=is_new, previous=previous.version if previous else None)
        tell(f"{framework}: {release.text}")
        resolved[framework] = release
    return resolved


@contextlib.contextmanager
def environments_of(
    night: NightFile, frameworks: Sequence[str], releases: ReleaseSource, *, tell: Tell
) -> Iterator[Mapping[str, Path]]:
    """Yield the interpreters of the frameworks that are due; the cells of one that cannot be built are closed as failed."""
    needed = [name for name in night.document.releases if name in frameworks]
    with contextlib.ExitStack() as stack:

        def hold(name: str) -> tuple[NightRelease, Path | None]:
            release = night.document.releases[name]
            if release.key is None:
                return release, None
            began = time.monotonic()
            environment = None
            try:
                environment = releases.hold(release, tell=tell)
                python = environment.__enter__()
            except EnvironmentFailed as error:
                tell(f"{name}: cannot be had: {error.reason}")
                return release.replace(error=_error(error, seconds=round(time.monotonic() - began, 1))), None
            stack.push(environment)
            return release.replace(error=None), python  # an earlier attempt may have failed

        with ThreadPoolExecutor(max_workers=max(len(needed), 1)) as pool:
            outcomes = dict(zip(needed, pool.map(hold, needed), strict=True))
        for key, row in night.cells.items():
            framework = row.context.framework
            if framework in outcomes and outcomes[framework][1] is None and not row.is_done:
                error = outcomes[framework][0].error
                reason = "\n".join([error.reason, *error.log_tail]) if error else ""
                night.mark(key, status=DONE, seconds=0.0, verdict=Verdict.FAILED_ENVIRONMENT, reason=reason)
        night.change(releases={**night.document.releases, **{name: release for name, (release, _) in outcomes.items()}})
        yield {name: python for name, (_, python) in outcomes.items() if python is not None}


def _error(error: EnvironmentFailed, *, seconds: float = 0.0) -> ReleaseError:
    return ReleaseError(reason=error.reason, log_tail=tuple(error.log_tail), seconds=seconds)
