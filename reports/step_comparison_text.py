"""The block that the comparison of a user's own step under two releases ends with: the answer, both sides, each context."""

from __future__ import annotations

from collections.abc import Sequence

from reports.step_text import DEEP, row, triaged, wrapped
from vigil.documents.failure import Failure
from vigil.documents.step_comparison import ContextMoved, ExactMoved, SidesVerdict, StepComparison, StepSide, far
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict
from vigil.progress import duration
from vigil.terminal import some_of

_LEADS = {
    SidesVerdict.IDENTICAL: "No difference",
    SidesVerdict.ROUNDED: "No difference but for rounding",
    SidesVerdict.COULD_NOT_RUN: "Could not run",
    SidesVerdict.CANNOT_TELL: "Cannot tell",
}
_MOST_NAMES, _LOG_LINES = 4, 6
_OTHER_DRAWS = (
    "the step draws at random, and NEW draws other numbers of the same key: that moves it by itself, and hides what else may "
    "have moved. Until jax 0.5.0 jax_threefry_partitionable was off: where the file sets it, both draw alike"
)
_SAME_UPDATES = "updates of the same gradients agree but for rounding"


def comparison_block(document: StepComparison, *, directory: str) -> str:
    """Return the block of a comparison, the answer first. Every number in it stands in compare-step.json too."""
    lines = [f"{_lead(document)}: {document.file.path.rpartition('/')[2]}: {document.verdict.reason}"]
    for side in (document.old, document.new):
        lines += row(side.name, _side(side))
    if document.fault:
        lines += row("planted fault", f"{document.fault.name}, under NEW on purpose{_caught(document)}")
    shown = max((len(each.text) for each in document.contexts), default=0)
    for each in document.contexts:
        lines += wrapped(f"  {each.text:<{shown}}  ", _context(each), indent=DEEP)
    lines += _failures([each for each in document.contexts if not each.is_left_out])
    for exact in document.exact:
        for number, text in enumerate(_exact(exact)):
            lines += row("" if number else f"float64, {exact.precision}", text)
    lines += row("not seen", "; ".join(document.not_seen))
    lines += row("held to", f"limits from {document.limits.clean_rows:,} clean rows; distances are in OLD's noise floors")
    lines += row("took", duration(document.seconds))
    lines += row("verified", f"OLD {document.old.verification}, NEW {document.new.verification}")
    lines += row("run", directory)
    return "\n".join(lines)


def _lead(document: StepComparison) -> str:
    name = document.verdict.name
    if name is SidesVerdict.NEW_WRONG and document.contexts and all(each.is_identical for each in document.contexts):
        return "Not moved, and wrong under both"
    return _LEADS.get(name, f"Moved, {name}")


def _caught(document: StepComparison) -> str:
    """Return whether the fault was caught. It is in no program in float64: what differs there, differs without it."""
    if any(each.old.name is Verdict.REPRODUCED and each.new.name is Verdict.REGRESSED for each in document.contexts):
        return ": caught"
    return "" if document.verdict.name is SidesVerdict.COULD_NOT_RUN else ": not caught"


def _side(side: StepSide) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in side.versions.items())
    return f"{side.text}: {versions or 'its versions were not told'}; {_word(side.verdict)}"


def _word(verdict: StepVerdict) -> str:
    return f"{verdict.name}: {verdict.reason}"


def _context(context: ContextMoved) -> str:
    sides = f"OLD {context.old.name}, NEW {context.new.name}"
    if context.farthest is None:
        return sides
    same = f"{context.equal:,} of {context.tensors:,} tensors have the same bits" if context.equal < context.tensors else ""
    return f"{sides}: {'; '.join(filter(None, [context.apart, same, context.scatter, context.rounds_more]))}"


def _failures(contexts: Sequence[ContextMoved]) -> list[str]:
    """Return what failed, once for all contexts in which a side fails alike."""
    alike: dict[tuple[str, str, str], list[tuple[ContextMoved, Failure]]] = {}
    for each in contexts:
        for name, side in (("OLD", each.old), ("NEW", each.new)):
            if side.failure:
                alike.setdefault((name, side.failure.phase, side.failure.message), []).append((each, side.failure))
    lines: list[str] = []
    for (name, phase, message), found in alike.items():
        first, failure = found[0]
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        lines += wrapped(f"  {first.text}{others}: ", f"{name}, {phase}: {message}", indent=DEEP)
        lines += triaged(failure.triage)
        lines += [f"{' ' * DEEP}| {line}" for line in failure.log_tail[-_LOG_LINES:]]
    return lines


def _exact(exact: ExactMoved) -> list[str]:
    """Return what is said of the two programs, a row each."""
    same = f"the same program: {exact.tensors:,} tensors agree to float64's rounding"
    text = [f"{same}{', and so do updates of the same gradients' if exact.updated else ''}"]
    if not exact.is_same:
        text = [f"not the same program: at most {far(exact.farthest)}"] if exact.farthest else []
        if exact.updated:
            text += [f"updates of the same gradients: at most {far(exact.updated)}" if exact.updated.is_out else _SAME_UPDATES]
        text += [_OTHER_DRAWS] if exact.draws_otherwise else []
    if exact.moved:
        names = some_of(exact.moved, _MOST_NAMES)
        text.append(f"build() gives other numbers under NEW{_by(exact.moved_by)}: {names}; both sides began with OLD's")
    if exact.unmatched:
        text.append(f"one side alone begins with {some_of(exact.unmatched, _MOST_NAMES)}: there each side has its own")
    if exact.batches:
        by = _by(exact.batches_by)
        text.append(f"batch() gives other numbers under NEW{by}; both sides had OLD's. Make it with NumPy, and it is the same")
    return text + ([exact.remark] if exact.remark else [])


def _by(share: float) -> str:
    return f", by {share:.2g} of their size at most" if share else ""
