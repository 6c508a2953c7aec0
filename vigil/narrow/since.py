"""Which release brought a failure: environments of releases built, the script run in each, until the history is told.

Rounds of as many releases as there are cores. A worker that has nothing left of a round builds what the next one may need.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from vigil.errors import EnvironmentFailed, UsageError, nearest
from vigil.frameworks import LIBRARIES, TABLE
from vigil.narrow.history import History
from vigil.narrow.outcome import NOT_INSTALLED, Outcome
from vigil.narrow.probes import Prober
from vigil.releases import installer
from vigil.releases.naming import Release
from vigil.releases.resolve import Resolved, asked_by, is_same_version, key_of, version_in
from vigil.releases.store import Tell, held, pins_of, prune_to
from vigil.statistics.release_search import Probe

KEEP = 40 * 2**30  # bytes


@dataclasses.dataclass(frozen=True)
class Line:
    """The releases of a package that are searched, the oldest first.

    hold: packages kept at one version beside each of them.
    """

    framework: str
    package: str
    versions: tuple[str, ...]
    hold: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()

    def release(self, version: str) -> Release:
        return Release(
            text=f"{self.package}=={version}",
            framework=self.framework,
            distribution=self.package,
            version=version,
            indexes=self.indexes,
            hold=self.hold,
        )


@dataclasses.dataclass
class Found:
    """What a search came to. resolved: the packages of each release that could be had. built: seconds of each environment.

    seen: the place of the release in which the failure was seen, None where it is not one of the line.
    """

    line: Line
    history: History
    resolved: dict[int, Resolved]
    rounds: int = 0
    seconds: float = 0.0
    building: dict[int, float] = dataclasses.field(default_factory=dict)
    seen: int | None = None

    def version(self, place: int) -> str:
        return self.line.versions[place]


def line_of(
    framework: str,
    package: str | None,
    *,
    oldest: str | None = None,
    newest: str | None = None,
    hold: Sequence[str] = (),
    indexes: Sequence[str] = (),
    tell: Tell = lambda text: None,
) -> Line:
    """Return the releases of a package that the index has for this Python, between two ends, both included.

    Without `oldest`, the oldest that can be installed here is found by halving: what is older cannot be.

    Raises:
        UsageError: an end is no release that there is. EnvironmentFailed: the index cannot be asked.
    """
    name = package or TABLE[framework].distribution
    tell(f"asking the index for the releases of {name}")
    listed = installer.versions(name, indexes=indexes)
    for option, end in (("--from", oldest), ("--to", newest)):
        if end is not None and end not in listed:
            raise UsageError(
                f"{option}: found {end!r}. Allowed: a release of {name} that this Python can use.{nearest(end, listed)}"
            )
    last = listed.index(newest) if newest else len(listed) - 1
    whole = Line(framework, name, tuple(listed[: last + 1]), tuple(hold), tuple(indexes))
    first = listed.index(oldest) if oldest else _oldest_installable(whole, tell)
    if first > last:
        raise UsageError(f"--from: found {oldest!r}, which is newer than --to {newest!r}. Allowed: an older release.")
    return dataclasses.replace(whole, versions=whole.versions[first:])


def _oldest_installable(line: Line, tell: Tell) -> int:
    low, high = 0, len(line.versions) - 1  # the newest is one that can be, or nothing can
    while low < high:
        middle = (low + high) // 2
        try:
            pins_of(line.release(line.versions[middle]), tell=tell)
            high = middle
        except EnvironmentFailed as error:
            if error.may_pass:
                raise
            low = middle + 1
    return low


def search(
    line: Line,
    prober: Prober,
    *,
    jobs: int,
    share: float = 1.0,
    seen_in: str | None = None,
    keep: int = KEEP,
    tell: Tell = lambda text: None,
    seen: Callable[[int, list[Outcome]], None] = lambda place, outcomes: None,
) -> Found:
    """Look at releases until what the script says of each is known, or can be told no better.

    Ctrl-C, a full disk or an index that does not answer ends it; what was found is stored, and is not asked again.

    Args:
        share: how often the script was wrong where the failure was seen.
        seen_in: the release of the package in which it was.
        keep: bytes that all environments may take; those that are longest unused go first.
        seen: told each release that was looked at.
    """
    began = time.monotonic()
    # An index lists 2.8.0, and 2.8.0+cpu is installed.
    place = next((place for place, each in enumerate(line.versions) if seen_in and is_same_version(each, seen_in)), None)
    found = Found(line, History(len(line.versions), side_by_side=jobs, share=share, seen=place), {}, seen=place)
    lock = threading.Lock()

    def resolve(place: int) -> Resolved | list[Outcome]:
        release = line.release(line.versions[place])
        asked = asked_by(release)
        stored = prober.stored(asked)
        if any(each.kind == NOT_INSTALLED for each in stored):
            return stored
        try:
            resolved = pins_of(release, tell=tell)
        except EnvironmentFailed as error:
            if error.may_pass:
                raise
            return [prober.has_none(asked, error)]
        with lock:
            found.resolved[place] = resolved
        return resolved

    def look(probe: Probe) -> list[Outcome]:
        resolved = resolve(probe.release)
        if isinstance(resolved, list):
            return resolved
        has = len(found.history.outcomes.get(probe.release, ()))
        started = time.monotonic()
        try:
            outcomes = prober.run(resolved, has + probe.runs, tell=tell)
        except EnvironmentFailed as error:
            if error.may_pass:
                raise
            return [prober.has_none(asked_by(line.release(line.versions[probe.release])), error)]
        with lock:
            found.building.setdefault(probe.release, time.monotonic() - started)
        return outcomes

    def make_room() -> None:
        for each in prune_to(keep):
            tell(f"removed the environment {each.key}, the longest unused: all take no more than {keep / 2**30:.0f} GiB")

    def build(probe: Probe) -> None:
        resolved = resolve(probe.release)
        if isinstance(resolved, Resolved):
            with held(resolved, tell=tell):
                pass

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            ahead: set[int] = set()
            # Where it was seen and says nothing now, what others say is no answer: that is withheld.
            while not _is_mute(found.history.outcomes.get(-1 if place is None else place)) and (probes := found.history.next()):
                found.rounds += 1
                running: dict[Future[list[Outcome]], Probe] = {pool.submit(look, probe): probe for probe in probes}
                while running:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        probe = running.pop(future)
                        found.history.outcomes[probe.release] = future.result()
                        seen(probe.release, found.history.outcomes[probe.release])
                    make_room()
                    if running and (following := _ahead(found.history, set(found.resolved) | ahead, running.values())):
                        ahead.add(following.release)
                        pool.submit(build, following)
        except BaseException:
            # Ctrl-C would wait for scripts that run for minutes, and for all that is not begun.
            prober.stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    found.seconds = time.monotonic() - began
    return found


def _is_mute(outcomes: Sequence[Outcome] | None) -> bool:
    """Was a release looked at, and gave no evidence?"""
    return bool(outcomes) and not any(each.is_evidence for each in outcomes or ())


def _ahead(history: History, begun: set[int], running: Iterable[Probe]) -> Probe | None:
    """Return a release that is likely to be looked at next, and whose environment nobody has begun with."""
    taken = begun | {probe.release for probe in running} | set(history.outcomes)
    return next((probe for probe in history.next() if probe.release not in taken), None)


@dataclasses.dataclass(frozen=True)
class Mixed:
    """One package of the release after a change put beside those of the release before it, or the other way around."""

    package: str
    version: str
    beside: str
    outcome: Outcome


def mixed(
    before: Resolved,
    after: Resolved,
    prober: Prober,
    *,
    tell: Tell = lambda text: None,
    seen: Callable[[Mixed], None] = lambda each: None,
) -> list[Mixed]:
    """Try which package carries a change: each that computes, and differs, is put alone beside those of the release before.

    Packages are put together whatever they say of each other: those that do not work together do not start.
    """
    differing = [name for name in LIBRARIES if version_in(before.pins, name) not in (None, version_in(after.pins, name))]
    found = []
    for name in dict.fromkeys(differing):
        version = version_in(after.pins, name) or ""
        each = Mixed(name, version, before.request, _alone(before, name, version, prober, tell))
        found.append(each)
        seen(each)
    return found


def _alone(before: Resolved, name: str, version: str, prober: Prober, tell: Tell) -> Outcome:
    pins = tuple(f"{name}=={version}" if pin.startswith(f"{name}==") else pin for pin in before.pins)
    resolved = dataclasses.replace(
        before, key=key_of(pins, before.extra_index), pins=pins, hold=(*before.hold, f"{name}=={version}")
    )
    try:
        return prober.run(resolved, 1, tell=tell)[-1]
    except EnvironmentFailed as error:
        if error.may_pass:
            raise
        return Outcome(NOT_INSTALLED, error.reason, 0.0)
