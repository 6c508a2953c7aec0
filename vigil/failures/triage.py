"""Triage: what is known of how something ended, to the category of its failure, and the line that decides.

Evidence comes first: what the kernel and the conductor saw, then the exception's type. Rules on words come last. Where nothing
decides it is unknown, unless the same was seen before (`with_history`).
"""

from __future__ import annotations

import dataclasses
import re
import signal
from collections.abc import Sequence

from vigil.documents.failure import Basis, Failure, Triage
from vigil.failures.categories import CATEGORIES, UNKNOWN
from vigil.failures.retries import Tries
from vigil.failures.rules import category_of, category_of_line, hint_of
from vigil.failures.tracebacks import Raised, deciding
from vigil.redaction import redact

_LONGEST_LINE = 300
_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS}
_ENDED_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP}
_FULL_BYTES = 2**20
# Words of runners and the conductor (docs/architecture.md) that say a category; the others say how it ended, and no more.
_SAID = {
    "nan_loss": "loss_nan",
    "nan_detections": "loss_nan",
    "nan_metric": "loss_nan",
    "nan_state": "loss_nan",
    "out_of_memory": "out_of_memory",
    "hang": "hang",
    "interrupted": "killed",
}
_OF_PROGRAM = "program"
_OF_A_LAUNCHER = "ChildFailedError"
# What ends a process that is past its exceptions.
_ENDING = ("killed", "out_of_memory", "native_crash", "disk_full")
_NOT_FINITE = re.compile(r"(?i)\bloss\b.{0,20}?[=: ]\s*[-+]?(?:nan|inf(?:inity)?)\b")


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What is known of how something ended.

    log: its lines. exit_code: negative for a signal, None where nobody waited for it. said: the runner's or conductor's own word,
    with its message. oom_kills: how many processes the kernel killed for memory in its cgroup while it ran. free_bytes: on the
    disk that it wrote to.
    """

    log: Sequence[str]
    exit_code: int | None = None
    said: str | None = None
    message: str | None = None
    oom_kills: int = 0
    free_bytes: int | None = None


def triage(evidence: Evidence, tries: Tries | None = None) -> Triage:
    """Return the category of a failure. tries: what came of earlier tries, none unless given."""
    category, basis, line = _decided(evidence)
    return told(category, basis, line, tries)


def told(category: str, basis: Basis, line: str | None, tries: Tries | None = None) -> Triage:
    """Return the triage of a category that is decided."""
    row = CATEGORIES[category]
    shown = redact(line.strip())[:_LONGEST_LINE] if line else None
    return Triage(
        category=category,
        dimension=row.dimension,
        name=row.name,
        line=shown or None,
        advice=row.advice,
        basis=basis,
        repeats=row.repeats,
        retry=(tries or Tries()).of(category),
    )


def with_history(found: Triage, earlier: Sequence[Triage], tries: Tries | None = None) -> Triage:
    """Return a triage that earlier ones of the same cell or of its siblings, the newest first, may decide.

    A process that was killed, and nobody knows by whom, ran out of memory where those before it did. What is unknown is what the
    same line was told as before.
    """
    if found.category == "killed" and any(each.category == "out_of_memory" for each in earlier):
        return told("out_of_memory", "history", found.line, tries)
    if found.category == UNKNOWN and found.line:
        same = [each for each in earlier if each.category != UNKNOWN and is_alike(each, found)]
        if same:
            return told(same[0].category, "history", found.line, tries)
    return found


def is_alike(one: Triage, other: Triage) -> bool:
    """Did the same line decide, but for numbers in it?"""
    return one.line is not None and other.line is not None and re.sub(r"\d+", "0", one.line) == re.sub(r"\d+", "0", other.line)


def of_old(failure: Failure, tries: Tries | None = None) -> Triage:
    """Return the triage of a failure, made anew of what an older document kept where it has none."""
    if failure.triage:
        return failure.triage
    return triage(Evidence(failure.log_tail, said=failure.category, message=failure.message), tries)


def _decided(evidence: Evidence) -> tuple[str, Basis, str | None]:
    ended, number = _ended(evidence)
    if number is signal.SIGKILL and evidence.oom_kills:
        return "out_of_memory", "evidence", f"the kernel killed {evidence.oom_kills} of its processes for memory"
    if evidence.said in ("hang", "interrupted"):
        return _SAID[evidence.said], "evidence", evidence.message
    chain = deciding(evidence.log)
    if chain and chain[0].name == _OF_A_LAUNCHER:  # of what it launched, that it failed: what that said stands above
        chain = []
    if number in _ENDED_FROM_OUTSIDE:  # whatever was logged before, it did not end the process
        return "killed", "evidence", ended
    if number is signal.SIGXFSZ:
        return "disk_full", "evidence", ended
    if evidence.said and _SAID.get(evidence.said) == "loss_nan":
        line = _first_not_finite(evidence.log) or (chain[0].line if chain else evidence.message)
        return _SAID[evidence.said], "evidence", line
    if number in _CRASHES:
        said = _of_lines(evidence.log)
        return said if said and said[0] != "native_crash" else ("native_crash", "evidence", ended)
    if evidence.exit_code is None and (by_end := _of_end(chain, evidence.log)):
        return by_end
    if found := _of_chain(chain, evidence):
        return found
    if evidence.free_bytes is not None and evidence.free_bytes < _FULL_BYTES:
        return "disk_full", "evidence", f"{evidence.free_bytes} bytes were left on the disk"
    message = evidence.message.splitlines() if evidence.message else []
    if not chain and (by_line := _of_lines([*evidence.log, *message])):
        return by_line
    if evidence.said == _OF_PROGRAM:  # its message says what is wrong with the user's file, and what is allowed
        return "illegal_argument", "evidence", evidence.message
    line = chain[0].line if chain else evidence.message or _last(evidence.log)
    return _SAID.get(evidence.said or "", UNKNOWN), "rule", line


def _of_chain(chain: Sequence[Raised], evidence: Evidence) -> tuple[str, Basis, str | None] | None:
    """Return what a chain of exceptions says: the first that says it surely, else the first whose type is a hint."""
    for each in chain:
        if found := category_of(each):
            if found.category == "loss_nan":
                return found.category, found.basis, _first_not_finite(evidence.log) or found.line
            is_kill = found.category == "killed" and evidence.oom_kills
            return ("out_of_memory" if is_kill else found.category), found.basis, found.line
    return next(((hint, "rule", each.line) for each in chain if (hint := hint_of(each))), None)


def _ended(evidence: Evidence) -> tuple[str | None, signal.Signals | None]:
    """Return how a process ended, in words, and the signal that ended it; a shell adds 128 to the signal of its command."""
    code = evidence.exit_code
    names = {each.name: each for each in signal.Signals}
    if code is None:  # older documents have the words alone
        found = re.search(r"killed by (SIG[A-Z0-9]+)", evidence.message or "")
        ended = names.get(found[1]) if found else None
    else:
        number = -code if code < 0 else code - 128
        ended = next((each for each in signal.Signals if each.value == number), None)
    return (f"it was ended by {ended.name}" if ended else f"exit code {code}"), ended


def _of_end(chain: Sequence[Raised], log: Sequence[str]) -> tuple[str, Basis, str] | None:
    """Return what ended a process after its last exception, which it has survived then; None where nothing says so.

    Only where nobody waited for it: an exit code tells a signal from an exception.
    """
    if not chain:
        return None
    last = max(chain, key=lambda each: each.place)
    after = log[last.place :]
    found = _of_lines(after[1:] if after and last.type in after[0] else after)
    return found if found and found[0] in _ENDING else None


def _first_not_finite(log: Sequence[str]) -> str | None:
    """Return the first line of a loss that is not finite: it may have been infinite long before it was NaN."""
    return next((line for line in log if _NOT_FINITE.search(line)), None)


def _of_lines(lines: Sequence[str]) -> tuple[str, Basis, str] | None:
    for line in reversed(lines):
        if found := category_of_line(line):
            return *found, line
    return None


def _last(lines: Sequence[str]) -> str | None:
    return next((line for line in reversed(lines) if line.strip()), None)
