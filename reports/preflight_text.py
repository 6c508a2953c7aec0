"""What a preflight ends with, as text: would the runs come to their end, by what would they fail, and what is ahead."""

from __future__ import annotations

from reports.step_text import row, wrapped
from vigil.documents.preflight import FAILS, HOLDS, Preflight
from vigil.progress import duration

_INDENT = 11
_MARKS = {HOLDS: "ok", FAILS: "FAILS"}


def preflight_block(document: Preflight, *, directory: str) -> str:
    """Return the block of a preflight, the answer first. Every number in it stands in preflight.json too."""
    what, failing = document.what, document.failing
    if failing:
        first = failing[0]
        lines = wrapped("WOULD FAIL: ", f"{what}: {first.name}, when {first.when}: {first.says.splitlines()[0]}", indent=2)
    else:
        all_of_it = "all that it needs until its end" if document.recipe else "a step, and its program in float64,"
        lines = wrapped("READY: ", f"{what}: {all_of_it} was tried, and holds", indent=2)
    for check in document.checks:
        first_line, *log = check.says.splitlines() or [""]
        mark = _MARKS.get(check.outcome, check.outcome)
        lines += wrapped(f"  {mark:<9}", f"{check.name}{f': {first_line}' if first_line else ''}", indent=_INDENT)
        for line in log:
            lines += [" " * _INDENT + line] if line.startswith("|") else wrapped(" " * _INDENT, line, indent=_INDENT)
    if ahead := document.ahead:
        share = 100.0 * document.seconds / max(ahead.seconds, document.seconds)
        seeds = "1 seed" if ahead.seeds == 1 else f"{ahead.seeds} seeds"
        lines += row("ahead", f"about {duration(ahead.seconds)} for {seeds} of {ahead.steps:,} steps")
        lines += row("took", f"{duration(document.seconds)}, {share:.3g} % of it")
    else:
        lines += row("took", duration(document.seconds))
    lines += row("run", directory)
    return "\n".join(lines)
