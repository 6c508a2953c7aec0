"""What is newly wrong in a night, narrowed while there is time: a script, the release that brought it, the switch that hides it.

One cell a cause: what is wrong with a layer of a framework is most often wrong in many contexts. What an earlier night has
narrowed is not narrowed again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from packaging.version import InvalidVersion, Version

from vigil.documents.audit import Audit
from vigil.documents.document import DocumentError
from vigil.documents.narrowing import Narrowing, place_of
from vigil.documents.night import AUDIT, NO_TIME, STEP, VERIFY, CellRow, Night, NightNarrowing, NightRelease
from vigil.documents.step import StepVerification
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Verification
from vigil.frameworks import LIBRARIES, TABLE
from vigil.nightly.cells import cell_of
from vigil.nightly.ledger import Ledger, PastResult
from vigil.redaction import redact
from vigil.releases.resolve import version_in

# Of the budget, kept for narrowing as soon as something is wrong: what brought a failure is worth more than a few more cells.
SHARE = 0.1
# Less is not begun with. Measured: a script from an alarm, its runs and its switches take one to three minutes (docs/narrow.md).
LEAST_SECONDS = 60.0
_GRACE_SECONDS = 20.0
FAILED = "failed"
NARROW_LOG = "narrow.txt"


@dataclasses.dataclass(frozen=True)
class Wrong:
    """A cause, and the cell that shows it. finding: of an audit, which one. since: what a search of releases is asked with."""

    row: CellRow
    cause: str
    finding: int
    since: tuple[str, ...]


Narrow = Callable[[Wrong, float], NightNarrowing]


def newly_wrong(night: Night, ledger: Ledger, runs: Path) -> list[Wrong]:
    """Return what is wrong in a night and was narrowed in no night, one cell a cause, the most worth first.

    Behind it what is wrong since an earlier night, which had no time to narrow it, or was broken off before.
    """
    done = {each.cause for each in night.narrowed if each.is_done} | ledger.narrowed
    found: dict[str, Wrong] = {}
    standing = {(finding.night, finding.key) for finding in night.standing}
    earlier = [row for before in ledger.nights for row in before.rows if (before.id, row.key) in standing]
    for row in [*_most_worth_first(night.rows), *_most_worth_first(earlier)]:
        if (told := _cause_of(row, runs)) is None or told[0] in done or told[0] in found:
            continue
        good = ledger.last_right(cell_of(row))
        found[told[0]] = Wrong(row, *told, since=tuple(_since(night.release_of(row), good, framework=row.context.framework)))
    return list(found.values())


def _most_worth_first(rows: Sequence[CellRow]) -> list[CellRow]:
    wrong = [row for row in rows if row.kind in (VERIFY, STEP, AUDIT) and row.ended_as is Verdict.REGRESSED]
    return sorted(wrong, key=lambda row: (-cell_of(row).value, row.seconds or 0.0, row.key))


def reserve(night: Night, ledger: Ledger, runs: Path) -> float:
    """Return the seconds that no further cell may take, since something is to be narrowed."""
    return SHARE * night.budget_seconds if newly_wrong(night, ledger, runs) else 0.0


def narrow_all(
    found: Sequence[Wrong], narrow: Narrow, *, left: Callable[[], float], done: Callable[[NightNarrowing], None]
) -> None:
    """Narrow one cause after the other, each with an equal share of the time that is left, and hand each to `done` at once."""
    for place, wrong in enumerate(found):
        seconds = left() / (len(found) - place)
        if seconds >= LEAST_SECONDS:
            done(narrow(wrong, seconds))
            continue
        reason = f"{seconds:.0f} s were left for it; by hand: vigil narrow {wrong.row.directory}"
        done(NightNarrowing(key=wrong.row.key, cause=wrong.cause, directory=None, state=NO_TIME, reason=reason, seconds=0.0))


def narrow_run(wrong: Wrong, seconds: float, *, runs: Path) -> NightNarrowing:
    """Narrow a cell's run by `vigil narrow`, in a process of its own that is ended after so many seconds.

    It writes down each stage when it ends, so that what was found by then stands. Where the releases cannot be searched, as those
    of an index that does not answer, the script and its switches are had without.
    """
    assert wrong.row.directory is not None
    run, began = runs / wrong.row.directory, time.monotonic()
    place = place_of(run, wrong.finding)
    which = ["--finding", str(wrong.finding)] if wrong.row.kind != VERIFY else []
    for since in dict.fromkeys((wrong.since, ())):
        command = [sys.executable, "-m", "vigil", "narrow", str(run), *which, "--switches", *since]
        log = run / NARROW_LOG
        is_in_time = _carried_out(command, log, seconds=seconds - (time.monotonic() - began))
        document = _written(place)
        if document is not None or not is_in_time:
            break
    if document is not None:
        state, reason = document.state, document.reason
    else:
        state = FAILED if is_in_time else NO_TIME
        reason = _last_line(log) if is_in_time else f"not done after {seconds:.0f} s; by hand: vigil narrow {wrong.row.directory}"
    directory = str(place.relative_to(runs)) if document is not None else None
    took = round(time.monotonic() - began, 1)
    return NightNarrowing(
        key=wrong.row.key, cause=wrong.cause, directory=directory, state=state, reason=redact(reason), seconds=took
    )


def _carried_out(command: Sequence[str], log: Path, *, seconds: float) -> bool:
    """Run a command with its output in a log; return whether it ended by itself."""
    with open(log, "wb") as stream:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            process.wait(timeout=max(seconds, 1.0))
            return True
        except subprocess.TimeoutExpired:
            return False
        finally:
            # Asked first: what it has started leads groups of its own, which it ends itself.
            for number, grace in ((signal.SIGINT, _GRACE_SECONDS), (signal.SIGKILL, None)):
                if process.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, number)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(timeout=grace)


def _written(place: Path) -> Narrowing | None:
    try:
        return Narrowing.read(place)
    except (OSError, DocumentError):
        return None


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "it said nothing")


def _cause_of(row: CellRow, runs: Path) -> tuple[str, int] | None:
    """Return what is wrong, in words that are the same every night, and which finding it is; None where no layer or call is."""
    assert row.directory is not None
    framework = row.context.framework
    try:
        if row.kind == VERIFY:
            origin = Verification.read(runs / row.directory).origin
            return (f"{framework}: {origin.layer}, {origin.phase}, {origin.quantity}", 1) if origin else None
        if row.kind == STEP:
            origins = (each.origin for each in StepVerification.read(runs / row.directory).contexts if each.origin)
            return next(((f"{framework}: {row.recipe}, {each.phase}, {each.where}, {each.tensor}", 1) for each in origins), None)
        wrong = [each for each in Audit.read(runs / row.directory).findings if each.kind == "wrong"]
    except (OSError, DocumentError):  # which the night's cell has told of
        return None
    return next(
        ((f"{framework}: {each.way}, {each.quantity}", place) for place, each in enumerate(wrong, 1) if each.known is None), None
    )


def _since(release: NightRelease, good: PastResult | None, *, framework: str) -> list[str]:
    """Return what a search of releases is asked with: between the last that was right and this one, of the package that moved.

    Without a release that was right all would have to be searched, which is more than a night's work.
    """
    if good is None or good.pins is None or release.pins is None:
        return []
    carrier = next((name for name in TABLE[framework].carriers if version_in(release.pins, name)), None)
    moved = [
        name for name in (carrier, *LIBRARIES) if name and _is_newer(version_in(release.pins, name), version_in(good.pins, name))
    ]
    if not moved or carrier is None:
        return []
    package = moved[0]
    ends = ["--from", f"{version_in(good.pins, package)}", "--to", f"{version_in(release.pins, package)}"]
    hold = [] if package == carrier else ["--hold", f"{carrier}=={version_in(release.pins, carrier)}"]
    return ["--since", "--package", package, *ends, *hold]


def _is_newer(version: str | None, other: str | None) -> bool:
    try:
        return version is not None and other is not None and Version(version) > Version(other)
    except InvalidVersion:
        return False
