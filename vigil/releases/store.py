"""The environments in the cache: made once under a lock, complete when their marker is written, held while they are used.

    <cache>/environments/<key>/             a virtual environment
    <cache>/environments/<key>/vigil.json   the marker: written last, so what lacks it is torn and is made again
    <cache>/environments/<key>/last-used    touched when it is used
    <cache>/environments/<key>.lock         held alone by who makes or removes it, shared by who uses it

The locks are the kernel's: they end with the process that holds them, however that ends.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from runners.contract import compiled
from runners.contract.files import digest_of_values
from vigil.documents.invocation import NamedRelease
from vigil.errors import DirectoryError, EnvironmentFailed
from vigil.locks import Held, locked
from vigil.paths import cache_directory
from vigil.process.consent import RELEASES, remember
from vigil.process.recording import write_json
from vigil.releases import installer
from vigil.releases.naming import Release, distribution_named, file_sha256, with_held
from vigil.releases.resolve import Resolved, Unavailable, is_same_version, key_of, packages_of, resolve, version_in

MARKER, LAST_USED = "vigil.json", "last-used"
_IN_USE_SECONDS = 86400.0
_FREE_BYTES = 8 * 2**30  # two large environments side by side, and what the installer keeps of them
# 1: siblings were the newest, whatever the release; such an environment is built again.
SCHEMA = 2
_MARKER_TYPES = {"release": dict, "python": str, "size": int, "created": str}
Tell = Callable[[str], None]


def _silent(text: str) -> None:
    """Nobody is told."""


@dataclasses.dataclass(frozen=True)
class Environment:
    """One complete environment in the cache. size: bytes."""

    resolved: Resolved
    directory: Path
    python_version: str
    size: int
    created: str
    last_used: float

    @property
    def python(self) -> Path:
        return python_of(self.directory)


def environments_directory() -> Path:
    return cache_directory() / "environments"


def python_of(directory: Path) -> Path:
    """Return the interpreter of an environment. Its link is not followed: the link is what makes it one."""
    return directory / "bin" / "python"


def obtain(release: Release, *, tell: Tell = _silent) -> Resolved:
    """Return the pins of a release, its environment being there; what is named exactly and was built before needs no network.

    The newest release is asked for each time: it is another one tomorrow.

    Raises:
        EnvironmentFailed: not to be resolved or built.
    """
    resolved = pins_of(release, tell=tell)
    with held(resolved, tell=tell):
        return resolved


def pins_of(release: Release, *, tell: Tell = _silent) -> Resolved:
    """Return the pins of a release that a command of this user names, and remember that it did. Raises EnvironmentFailed."""
    remember(RELEASES, digest_of_named(NamedRelease(request=release.text, key=None, pins=None)))
    resolved = known(release)
    if resolved is None:
        tell(f"resolving {with_held(release.text, release.hold)}")
        resolved = resolve(release)
    remember(RELEASES, digest_of_named(resolved.named))
    return resolved


def digest_of_named(release: NamedRelease) -> str:
    """Return the SHA-256 of what documents say of a release: its packages, and where they come from."""
    return digest_of_values(release.as_json())


def obtain_or_say_why(release: Release, *, tell: Tell = _silent) -> Resolved | Unavailable:
    """Return the pins of a release, or why it cannot be had, where other work does not depend on it."""
    try:
        return obtain(release, tell=tell)
    except EnvironmentFailed as error:
        return Unavailable(release.text, error, release.hold)


def known(release: Release) -> Resolved | None:
    """Return the pins that a release named exactly has in an environment of the cache, the newest of them.

    What is in an environment is its marker's to say. An index of requests beside them could only come to disagree with it; and
    `jax==0.10.2` finds what was built for `jax` when that was the newest. What was built with packages held is
    found where they are held again.
    """
    version = release.version
    if version is None:
        return None
    digest = file_sha256(release.wheel) if release.wheel else None

    def is_it(pins: Sequence[str]) -> bool:
        found = [pin.partition(" sha256:")[2] for pin in pins if " sha256:" in pin]
        if digest or found:
            return found == [digest]
        return is_same_version(version, version_in(pins, release.distribution) or "")

    def has_what_is_held(resolved: Resolved) -> bool:
        pins = [held.split("==") for held in release.hold]
        held = all(is_same_version(version, version_in(resolved.pins, name) or "") for name, version in pins)
        return held and set(resolved.hold) <= set(release.hold)

    fitting = [
        environment
        for environment in listed()
        # What was built for optax has a framework of that release's time, with other libraries than the framework's own release.
        if distribution_named(environment.resolved.request) == release.distribution
        and environment.resolved.framework == release.framework  # Keras has three
        and is_it(environment.resolved.pins)
        and has_what_is_held(environment.resolved)
        and environment.resolved.key
        == key_of(environment.resolved.pins, release.shown_indexes)  # of this Python, these indexes and these builds
    ]
    newest = max(fitting, key=lambda environment: environment.created, default=None)
    if newest is None:
        return None
    return dataclasses.replace(newest.resolved, request=release.text, hold=release.hold, secrets=release.indexes)


@contextlib.contextmanager
def held(resolved: Resolved, *, tell: Tell = _silent) -> Iterator[Path]:
    """Yield the interpreter of an environment, which nobody removes meanwhile; it is built first where it is not there.

    Raises:
        EnvironmentFailed: the packages cannot be installed. DirectoryError: the cache cannot be written.
    """
    directory = environments_directory() / resolved.key

    def waits() -> None:
        tell(f"another process is building {resolved.request}; waiting for it")

    while True:
        with _lock_of(directory, shared=True, tell=waits):
            if is_complete(directory):
                (directory / LAST_USED).touch()
                yield python_of(directory)
                return
        # Between the two locks it may be made, and after the second be removed again.
        with _lock_of(directory, tell=waits) as lock:
            if not is_complete(directory):
                build(resolved, directory, lock=lock, tell=tell)


def build(resolved: Resolved, directory: Path, *, lock: int, tell: Tell = _silent) -> None:
    """Make an environment, whatever lies there. To be called with its lock held alone.

    Raises:
        EnvironmentFailed: with the installer's last lines; nothing is left of the environment then.
    """
    what = with_held(resolved.request, resolved.hold)
    tell(f"building the environment of {what} ({len(resolved.pins)} packages) in {directory}")
    began = time.monotonic()
    shutil.rmtree(directory, ignore_errors=True)
    try:
        _make_venv(directory)
        installer.install(
            python_of(directory),
            packages_of(resolved),
            indexes=resolved.indexes,
            what=resolved.request,
            holds=[lock],
        )
        marker = {
            "schema": SCHEMA,
            "release": resolved.named.as_json(),
            "python": _python_version(python_of(directory)),
            "size": size_of(directory),
            "seconds": round(time.monotonic() - began, 1),
            "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }
        (directory / LAST_USED).touch()
        write_json(directory / MARKER, marker)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def is_complete(directory: Path) -> bool:
    """Was this environment built to its end, and is the interpreter that it links to still there?"""
    return _marker(directory) is not None and os.access(python_of(directory), os.X_OK)


def listed() -> list[Environment]:
    """Return the complete environments, the last used first."""
    found = []
    for directory in environments_directory().glob("*/"):
        marker = _marker(directory)
        if marker is None or not is_complete(directory):
            continue
        stamp = directory / LAST_USED
        found.append(
            Environment(
                resolved=Resolved.from_named(NamedRelease.model_validate(marker["release"])),
                directory=directory,
                python_version=marker["python"],
                size=marker["size"],
                created=marker["created"],
                last_used=stamp.stat().st_mtime if stamp.exists() else 0.0,
            )
        )
    return sorted(found, key=lambda environment: -environment.last_used)


@dataclasses.dataclass(frozen=True)
class Pruned:
    """What became of one environment: how much was freed, or that it is in use. resolved: None of a torn one."""

    key: str
    resolved: Resolved | None
    freed: int
    is_in_use: bool


def prune(*, unused_seconds: float) -> list[Pruned]:
    """Remove the environments that were not used for so long, and torn ones; one that anybody uses or builds is left."""
    outcomes = []
    for directory in sorted(path for path in environments_directory().glob("*/") if path.is_dir()):
        try:
            with _lock_of(directory, wait=False):
                stamp = directory / LAST_USED
                used = stamp.stat().st_mtime if stamp.exists() else 0.0
                if not directory.is_dir():  # a process beside this one has removed it since
                    continue
                if not is_complete(directory) or time.time() - used >= unused_seconds:
                    outcomes.append(_removed(directory))
        except Held:
            outcomes.append(Pruned(directory.name, _resolved(directory), 0, True))
    return outcomes


def _removed(directory: Path) -> Pruned:
    """Remove an environment whose lock is held, and return what that freed."""
    resolved, freed = _resolved(directory), size_of(directory)
    # The marker goes first: a removal that is broken off leaves a torn one.
    (directory / MARKER).unlink(missing_ok=True)
    shutil.rmtree(directory)
    return Pruned(directory.name, resolved, freed, False)


def prune_to(most: int) -> list[Pruned]:
    """Remove environments, the longest unused first, until all take no more than so many bytes; one that is in use is left.

    They take less where the disk would have less than 8 GiB free.
    """
    outcomes = []
    there = sorted(listed(), key=lambda environment: environment.last_used)
    total = sum(environment.size for environment in there)
    if there:
        most = min(most, total + shutil.disk_usage(environments_directory()).free - _FREE_BYTES)
    for environment in there:
        if total <= most:
            break
        with contextlib.suppress(Held), _lock_of(environment.directory, wait=False):
            if environment.directory.is_dir():  # unless a process beside this one has removed it since
                outcomes.append(_removed(environment.directory))
            total -= environment.size
    return outcomes


def prune_compiled(*, unused_seconds: float) -> dict[str, int]:
    """Remove what was compiled to verify and not used for so long; return folder -> bytes that this has freed.

    What was used within the last day is left: nobody says when he has done with it.
    """
    freed = {}
    for directory in sorted(path for path in (cache_directory() / compiled.FOLDER).glob("*/") if path.is_dir()):
        if time.time() - directory.stat().st_mtime >= max(unused_seconds, _IN_USE_SECONDS):
            freed[directory.name] = size_of(directory)
            shutil.rmtree(directory)
    return freed


def size_of(directory: Path) -> int:
    """Return the bytes that a folder takes on the disk; a file that has two names in it counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for folder, _, files in os.walk(directory):
        for name in files:
            status = os.lstat(os.path.join(folder, name))
            sizes[status.st_dev, status.st_ino] = status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
    return sum(sizes.values())


@contextlib.contextmanager
def _lock_of(
    directory: Path, *, shared: bool = False, wait: bool = True, tell: Callable[[], None] | None = None
) -> Iterator[int]:
    with contextlib.ExitStack() as stack:
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(locked(directory.with_suffix(".lock"), shared=shared, wait=wait, tell=tell))
        except OSError as error:
            raise DirectoryError(
                f"{directory.parent}: cannot be written ({error.strerror}). Set VIGIL_CACHE_DIR to a directory that can."
            ) from error
        yield lock


def _make_venv(directory: Path) -> None:
    """Make a virtual environment of the Python that runs this, without pip: it is installed into from outside."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(directory)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = (done.stdout + done.stderr).splitlines()
        raise EnvironmentFailed(f"{directory}: no virtual environment can be made there.", log_tail=said[-12:], may_pass=True)


def _python_version(python: Path) -> str:
    """Return the version that an interpreter says it is. Raises EnvironmentFailed where it does not start."""
    code = "import platform; print(platform.python_version())"
    done = subprocess.run([str(python), "-I", "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise EnvironmentFailed(f"{python}: does not start.", log_tail=done.stderr.splitlines()[-12:], may_pass=True)
    return done.stdout.strip()


def _marker(directory: Path) -> dict[str, Any] | None:
    try:
        marker = json.loads((directory / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    # What is not whole was not written by the end of a build: it is torn, as where there is none.
    is_whole = isinstance(marker, dict) and marker.get("schema") == SCHEMA and {*_MARKER_TYPES} <= {*marker}
    if not is_whole or not all(isinstance(marker[name], kind) for name, kind in _MARKER_TYPES.items()):
        return None
    try:
        Resolved.from_named(NamedRelease.model_validate(marker["release"]))
    except ValueError:
        return None
    return marker


def _resolved(directory: Path) -> Resolved | None:
    marker = _marker(directory)
    return Resolved.from_named(NamedRelease.model_validate(marker["release"])) if marker else None
