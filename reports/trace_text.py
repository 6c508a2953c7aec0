"""What a trace ends with, as text: is it the same, or where it parts, which operator, and what makes it go away."""

from __future__ import annotations

from reports.step_text import row, wrapped
from vigil.documents.trace import SAME, Trace
from vigil.progress import duration


def trace_block(document: Trace, *, directory: str) -> str:
    """Return the block of a trace, the answer first. Every number in it stands in trace.json too."""
    script = document.script
    if document.state == SAME and document.bound:
        share = 100.0 * document.bound.runs
        lines = wrapped(
            f"THE SAME in {script.runs} runs: ",
            f"a difference that shows in more than {share:.0f} % of runs would have been missed with 5 % chance",
            indent=2,
        )
        lines += row("compared", document.reason)
        if document.bound.steps is not None:
            lines += row("of steps", f"a difference in more than {100.0 * document.bound.steps:.2g} % of steps, likewise")
    else:
        lines = wrapped("PARTS at ", document.reason, indent=2)
        lines += row("runs", f"parted from the first in {script.parted} of {script.runs - 1} further runs, unchanged")
    lines += _operator(document)
    for place, change in enumerate(document.changes):
        told = f"{change.change}: {change.outcome}{f': {change.says}' if change.says else ''}"
        lines += row("tried" if place == 0 else "", told)
    if document.needed:
        lines += row("must be set", "; ".join(document.needed))
    lines += row("framework", ", ".join(f"{name} {version}" for name, version in document.frameworks.items()) or "none")
    lines += row("took", duration(document.seconds))
    lines += row("run", directory)
    return "\n".join(lines)


def _operator(document: Trace) -> list[str]:
    if operator := document.operator:
        what = "draws at random, and is not seeded alike" if operator.is_random else "equal inputs, other output"
        lines = row("operator", f"{operator.name}{f' at {operator.where}' if operator.where else ''}: {what}")
        for trial in document.trials:
            many = "1 result" if trial.results == 1 else f"{trial.results} different results"
            lines += row("", f"{trial.what}: {trial.message or f'{many} in {trial.calls} calls with the same inputs'}")
        return lines
    return row("operator", f"none: {document.beyond}") if document.beyond else []
