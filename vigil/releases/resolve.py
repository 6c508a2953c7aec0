"""From a name to exact pins, and the key that stands for them."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import platform
import sysconfig
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from vigil.documents.invocation import NamedRelease
from vigil.errors import EnvironmentFailed
from vigil.frameworks import OF_BATCH_NORM
from vigil.releases import installer
from vigil.releases.naming import Release, file_sha256

_KEY_DIGITS = 16


@dataclasses.dataclass(frozen=True)
class Resolved:
    """A release that can be had, with every package that goes with it.

    request: the release as it was asked for, `Release.text`. pins: `name==version`, sorted; of a wheel that was named by its path
    also ` sha256:...`. extra_index: what was searched besides the installer's own indexes, without secrets.
    secrets: the same with them, where they are known; never recorded. hold: packages asked for at one version beside it.
    """

    request: str
    key: str
    pins: tuple[str, ...]
    extra_index: tuple[str, ...] = ()
    secrets: tuple[str, ...] = dataclasses.field(default=(), repr=False, compare=False)
    hold: tuple[str, ...] = ()

    @property
    def named(self) -> NamedRelease:
        """Return what documents say of it."""
        return NamedRelease(
            request=self.request,
            key=self.key,
            pins=self.pins,
            extra_index=self.extra_index or None,
            hold=self.hold or None,
        )

    @classmethod
    def from_named(cls, release: NamedRelease) -> Resolved:
        """Return what a document says of a release that could be had. Raises ValueError for one that could not."""
        if release.key is None or release.pins is None:
            raise ValueError(f"{release.request} was not resolved")
        return cls(release.request, release.key, release.pins, release.extra_index or (), hold=release.hold or ())

    @property
    def framework(self) -> str:
        """Return the framework that is among the pins."""
        return self._carried[0]

    @property
    def version(self) -> str:
        """Return the version of the framework's package."""
        return self._carried[1]

    @property
    def _carried(self) -> tuple[str, str]:
        # No framework needs another one, so a set of pins has one carrier.
        carriers = ((row.name, carrier) for row in OF_BATCH_NORM.values() for carrier in row.carriers)
        return next((name, version) for name, carrier in carriers if (version := version_in(self.pins, carrier)))

    @property
    def indexes(self) -> tuple[str, ...]:
        """Return the extra indexes as an installer can use them: without the secrets it is left to ask netrc or a keyring."""
        return self.secrets or tuple(index.replace("://***@", "://") for index in self.extra_index)


@dataclasses.dataclass(frozen=True)
class Unavailable:
    """A release that cannot be had: what asks for it is recorded as failed, and the rest of a sweep goes on."""

    request: str
    failure: EnvironmentFailed
    hold: tuple[str, ...] = ()

    @property
    def named(self) -> NamedRelease:
        """Return what documents say of it."""
        return NamedRelease(request=self.request, key=None, pins=None, hold=self.hold or None)


def resolve(release: Release) -> Resolved:
    """Return the pins of a release on this Python and platform, all of them of its own time. Raises EnvironmentFailed."""
    owned = OF_BATCH_NORM[release.framework].owned
    # A framework that is held beside an old library needs what was released with it, and not what was with the library.
    is_younger = release.distribution not in owned and any(held.partition("==")[0] in owned for held in release.hold)
    before = None if is_younger else last_day_of(release)
    try:
        found = _installed_with(release, before=before)
    except EnvironmentFailed as error:
        if not release.hold or error.may_pass:
            raise
        raise _why_not_held(release, error, before=before) from error
    pins = [f"{name}=={version}" for name, version in found]
    if release.wheel:
        digest = file_sha256(release.wheel)
        pins = [f"{pin} sha256:{digest}" if pin.startswith(f"{release.distribution}==") else pin for pin in pins]
    if version_in(pins, release.distribution) is None:
        raise EnvironmentFailed(f"{release.text}: {release.distribution} is not among the packages that were resolved: {pins}.")
    key = key_of(pins, release.shown_indexes)
    return Resolved(release.text, key, tuple(pins), release.shown_indexes, release.indexes, release.hold)


def _installed_with(release: Release, *, before: datetime | None) -> list[tuple[str, str]]:
    """Return what is installed with a release. What is named exactly beside it may be younger than the release's time."""
    exact = [*OF_BATCH_NORM[release.framework].beside, *release.hold]
    if release.version and not release.wheel:
        # Its wheel for one platform may be younger than that for another, which its time is told by, as that of MXNet 1.9.1 is.
        exact.append(f"{release.distribution}=={release.version}")
    return installer.resolve(
        release.requirements(),
        indexes=release.indexes,
        what=release.text,
        before=before,
        of_any_day=[held.partition("==")[0] for held in exact],
    )


def _why_not_held(release: Release, error: EnvironmentFailed, *, before: datetime | None) -> EnvironmentFailed:
    """Return whose fault it is that a release cannot be had with what is held: the release's own, one version's, or that of both.

    error: what was said of them together.
    """
    alone = dict(_installed_with(dataclasses.replace(release, hold=()), before=before))
    for held in release.hold:
        try:
            installer.resolve([held], indexes=release.indexes, what=f"--hold {held}")
        except EnvironmentFailed as own:
            if own.may_pass:
                raise
            return EnvironmentFailed(
                f"--hold {held}: there is no such version that this Python can use.", log_tail=own.log_tail, is_final=own.is_final
            )
    names = [held.partition("==")[0] for held in release.hold]
    by_itself = ", ".join(f"{name} {alone[name]}" for name in names if name in alone)
    return EnvironmentFailed(
        f"{release.text} and {', '.join(release.hold)} exist, and the resolver cannot put them together. Without --hold "
        f"{release.text} can be had{f', with {by_itself}' if by_itself else ''}: hold another version, or none.",
        log_tail=error.log_tail,
        is_final=error.is_final,
    )


def last_day_of(release: Release) -> datetime | None:
    """Return when the next release of a framework took the place of this one, which ends its time.

    None for the newest, for a wheel, and where no index says when its files were uploaded: there is no bound then.

    Raises:
        EnvironmentFailed: an index cannot be asked.
    """
    if release.version is None or release.wheel is not None:
        return None
    ask = functools.partial(installer.uploaded, indexes=release.indexes, what=release.text)
    own = ask(f"{release.distribution}=={release.version}")
    following = own and ask(f"{release.distribution}>{release.version}", is_lowest=True)
    # A correction of an old line may be younger than the line that follows it.
    return max(own, following) if own and following else None


def origins_of(pins: Sequence[str]) -> dict[str, object]:
    """Return where the packages of pins come from besides extra indexes: another build of a version may lie there tomorrow."""
    told = installer.configuration_of_pip()
    shelved = sorted((path.name, file_sha256(path)) for path, pin in installer.shelved(told).items() if pin in pins)
    return {**installer.sources(told), **({"shelved": shelved} if shelved else {})}


def key_of(pins: Sequence[str], extra_index: Sequence[str]) -> str:
    """Return the name of the environment of these pins: two that could differ in a byte of an installed file have two names.

    That is the pins, where they come from, the Python that runs them, and the platform that their wheels are made for.
    """
    parts = {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": sysconfig.get_platform(),
        "pins": sorted(pins),
        "extra_index": list(extra_index),
        # Nothing where nobody has said anything: the name of an environment from the usual index stays what it was.
        **origins_of(pins),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:_KEY_DIGITS]


def asked_by(release: Release) -> str:
    """Return what says whether a release can be had: it, what is held beside it, where it is looked for, and for which Python."""
    told = installer.configuration_of_pip()
    places = (*release.shown_indexes, *installer.sources(told).values(), *(path.name for path in installer.shelved(told)))
    return " ".join((release.text, *release.hold, *places, f"Python {platform.python_version()}"))


def packages_of(resolved: Resolved) -> list[str]:
    """Return what an installer is to install for the pins.

    Raises:
        EnvironmentFailed: a wheel that was named by its path is gone, or is another one than was resolved.
    """
    packages = []
    for pin in resolved.pins:
        package, _, digest = pin.partition(" sha256:")
        if digest:
            path = Path(resolved.request)
            if not path.is_file() or file_sha256(path) != digest:
                state = "is another one now" if path.is_file() else "is gone"
                raise EnvironmentFailed(f"{path}: the wheel {state}; it was {pin}. Put it back, or name another release.")
            package = f"{package.partition('==')[0]} @ {path.as_uri()}"
        packages.append(package)
    return packages


def version_in(pins: Sequence[str], distribution: str) -> str | None:
    """Return the version that pins give a package.

    >>> version_in(["jax==0.9.2", "jaxlib==0.9.1 sha256:ab"], "jaxlib")
    '0.9.1'
    """
    versions = (pin.split(" ")[0].partition("==")[2] for pin in pins if pin.startswith(f"{distribution}=="))
    return next(versions, None)


def is_same_version(asked: str, found: str) -> bool:
    """Does a version that a person wrote stand for one that was resolved? Zeros and a local part may be left out (PEP 440).

    >>> is_same_version("0.9", "0.9.0"), is_same_version("2.13.0", "2.13.0+cpu"), is_same_version("0.9.1", "0.9.10")
    (True, True, False)
    """
    if "+" not in asked:
        found = found.split("+")[0]
    return _without_zeros(asked) == _without_zeros(found)


def _without_zeros(version: str) -> str:
    while version.endswith(".0"):
        version = version[:-2]
    return version
