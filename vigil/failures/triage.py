"""Triage: what is known of how something ended, to the category of its failure, and the line that decides.

Evidence comes first: what the kernel and the conductor saw, then the exception's type. Rules on words come last. Where nothing
decides it is unknown, unless the same was seen before (`with_history`).
"""

from __future__ import annotations

import dataclasses
import re
import signal
from collections.abc import Sequence

from vigil.documents.failure import Basis, Failure, Retry, Triage
from vigil.failures.categories import CATEGORIES, UNKNOWN
from vigil.failures.retries import Tries
from vigil.failures.rules import category_of, category_of_line
from vigil.failures.tracebacks import deciding
from vigil.redaction import redact

_LONGEST_LINE = 300
_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS}
_FULL_BYTES = 2**20
# Words of runners and the conductor (docs/architecture.md) that say a category; the others say how it ended, and no more.
_SAID = {
    "nan_loss": "loss_nan",
    "nan_detections": "loss_nan",
    "out_of_memory": "out_of_memory",
    "hang": "hang",
    "interrupted": "killed",
}
_FINITE_LOSS = re.compile(r"(?i)\bloss\b.{0,20}?[=: ]\s*[-+]?(?:nan|inf(?:inity)?)\b")


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
        same = [each for each in earlier if each.category != UNKNOWN and _alike(each.line, found.line)]
        if same:
            return told(same[0].category, "history", found.line, tries)
    return found


def of_old(failure: Failure, tries: Tries | None = None) -> Triage:
    """Return the triage of a failure, made anew of what an older document kept where it has none."""
    if failure.triage:
        return failure.triage
    return triage(Evidence(failure.log_tail, said=failure.category, message=failure.message), tries)


def _decided(evidence: Evidence) -> tuple[str, Basis, str | None]:
    ended, number = _ended(evidence.exit_code)
    if evidence.oom_kills and number in (signal.SIGKILL, None):
        return "out_of_memory", "evidence", f"the kernel killed {evidence.oom_kills} of its processes for memory"
    if evidence.said in ("hang", "interrupted"):
        return _SAID[evidence.said], "evidence", evidence.message
    chain = deciding(evidence.log)
    raised = chain[0] if chain else None
    if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP) and not (raised and raised.name == "KeyboardInterrupt"):
        # Whatever was logged before, it did not end the process.
        return "killed", "evidence", ended
    if number == signal.SIGXFSZ:
        return "disk_full", "evidence", ended
    if evidence.said in _SAID:
        return _not_finite(evidence, *_line_of(evidence, raised.line if raised else None))
    if number in _CRASHES:
        found = _of_lines(evidence.log)
        return found if found and found[0] != "native_crash" else ("native_crash", "evidence", ended)
    for each in chain:
        if found_category := category_of(each):
            category, basis = found_category
            if category == "killed" and evidence.oom_kills:
                category = "out_of_memory"
            return _not_finite(evidence, category, basis, each.line)
    if evidence.free_bytes is not None and evidence.free_bytes < _FULL_BYTES:
        return "disk_full", "evidence", f"{evidence.free_bytes} bytes were left on the disk"
    if raised is None and (by_line := _of_lines([*evidence.log, *filter(None, [evidence.message])])):
        return by_line
    if number is not None:
        return "killed", "evidence", ended
    return UNKNOWN, "rule", raised.line if raised else evidence.message or _last(evidence.log)


def _ended(exit_code: int | None) -> tuple[str | None, signal.Signals | None]:
    """Return how a process ended, in words, and the signal that ended it; a shell adds 128 to the signal of its command."""
    if exit_code is None:
        return None, None
    number = -exit_code if exit_code < 0 else exit_code - 128 if 128 < exit_code < 160 else None
    try:
        ended = signal.Signals(number) if number is not None else None
    except ValueError:
        ended = None
    return (f"ended by {ended.name}" if ended else f"exit code {exit_code}"), ended


def _line_of(evidence: Evidence, line: str | None) -> tuple[str, Basis, str | None]:
    return _SAID[evidence.said or ""], "evidence", line or evidence.message


def _not_finite(evidence: Evidence, category: str, basis: Basis, line: str | None) -> tuple[str, Basis, str | None]:
    """Return the first line of a loss that is not finite in the place of the last: it may have been infinite long before NaN."""
    if category != "loss_nan":
        return category, basis, line
    first = next((each for each in evidence.log if _FINITE_LOSS.search(each)), None)
    return category, basis, first or line


def _of_lines(lines: Sequence[str]) -> tuple[str, Basis, str] | None:
    for line in reversed(lines):
        if found := category_of_line(line):
            return *found, line
    return None


def _last(lines: Sequence[str]) -> str | None:
    return next((line for line in reversed(lines) if line.strip()), None)


def _alike(one: str | None, other: str) -> bool:
    """Are two lines the same but for numbers in them?"""
    return one is not None and re.sub(r"\d+", "0", one) == re.sub(r"\d+", "0", other)
