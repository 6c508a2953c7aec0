"""The block that the verification of a user's own step ends with: the answer, each context, and what cannot be seen."""

from __future__ import annotations

import textwrap

from reports.failure_text import triage_rows
from reports.verification_text import worst_text
from vigil.documents.failure import Triage
from vigil.documents.step import OracleFacts, StepContext, StepVerification
from vigil.documents.verdict import Verdict
from vigil.documents.verification import times
from vigil.progress import duration
from vigil.terminal import some_of, width

_INDENT, DEEP = 17, 6
_MOST_OUT, _LOG_LINES = 4, 6


def step_block(document: StepVerification, *, directory: str) -> str:
    """Return the block of a verification, the answer first. Every number in it stands in step.json too."""
    verdict = document.verdict
    fault = "PLANTED FAULT, " if document.fault else ""
    name = verdict.name if verdict.name is Verdict.REPRODUCED else verdict.name.upper()
    file = document.file.path.rpartition("/")[2]
    release = f"{document.framework} {document.framework_version or '(its version was not told)'}"
    lines = [f"{name}: {fault}{file}, {release}: {_answer(document)}"]
    shown = max((len(each.text) for each in document.contexts), default=0)
    for each in document.contexts:
        lines += wrapped(f"  {each.text:<{shown}}  ", _told(each), indent=DEEP)
    for each in document.contexts:
        lines += _details(each)
    for oracle in document.oracles:
        lines += row(f"float64, {oracle.precision}", _oracle(oracle))
        lines += triaged(oracle.failure.triage) if oracle.failure else []
        for remark in oracle.remarks:
            lines += row("", remark)
    lines += row("not seen", "; ".join(document.not_seen))
    lines += row("held to", f"limits from {document.limits.clean_rows:,} clean rows")
    lines += row("took", duration(document.seconds))
    lines += row("run", directory)
    return "\n".join(lines)


def _answer(document: StepVerification) -> str:
    wrong = [each for each in document.contexts if each.origin]
    if document.verdict.name is Verdict.REGRESSED and wrong and wrong[0].origin:
        first = wrong[0]
        return (
            f"{first.text}: the origin is {first.origin.text}, {times(first.origin.ratio)} its noise floor"
            if first.origin
            else ""
        )
    if document.verdict.name is Verdict.REPRODUCED:
        tensors = sum(each.tensors for each in document.contexts)
        return f"{document.verdict.reason}, {tensors:,} tensors, as in float64 but for rounding"
    return document.verdict.reason


def _told(context: StepContext) -> str:
    verdict = context.verdict
    text = f"{verdict.name}: {verdict.reason}"
    if context.worst and verdict.name is Verdict.REPRODUCED:
        text = f"{verdict.name}: {context.tensors:,} tensors, the farthest at {context.worst.score:.2g} of its limit"
    if context.repeated and context.repeated.results > 1:
        text += f"; {context.repeated.calls} calls gave {context.repeated.results} different results"
    return text


def _details(context: StepContext) -> list[str]:
    """Return the origin and the tensors that are farthest out, each once, in the case where it is farthest."""
    lines: list[str] = []
    if context.out:
        origin = f"the origin is {context.origin.text} ({context.origin.tensor})" if context.origin else "no origin was found"
        lines += wrapped(f"  {context.text}: ", origin, indent=DEEP)
        farthest = {each.tensor: each for each in reversed(context.out)}
        for each in sorted(farthest.values(), key=lambda each: -each.score)[:_MOST_OUT]:
            lines += wrapped(" " * DEEP, worst_text(each), indent=DEEP + 2)
    if failure := context.verdict.failure:
        lines += wrapped(f"  {context.text}: ", f"{failure.category} in phase {failure.phase}", indent=DEEP)
        lines += triaged(failure.triage)
        lines += [f"{' ' * DEEP}| {line}" for line in failure.log_tail[-_LOG_LINES:]]
    return lines


def _oracle(oracle: OracleFacts) -> str:
    if oracle.failure:
        return f"{oracle.failure.category} in phase {oracle.failure.phase}: {oracle.failure.message}"
    flips = {name: count for case in oracle.flips.values() for name, count in case.items()}
    chosen = "no choice flips" if not flips else f"choices that rounding flips: {some_of(sorted(flips), _MOST_OUT)}"
    text = f"batch {oracle.seed} of {oracle.candidates}, {oracle.operators or 0:,} operators, {oracle.draws} draws, {chosen}"
    if oracle.derivatives:
        whole = oracle.derivatives[0]
        text += f"; derivative along random signs {whole.gradients:.7g}, by central differences {whole.central:.7g}"
    return text


def triaged(triage: Triage | None) -> list[str]:
    """Return the rows on a failure, below what failed."""
    return [line for name, text in triage_rows(triage) for line in wrapped(f"{' ' * DEEP}{name}: ", text, indent=DEEP + 2)]


def row(label: str, text: str) -> list[str]:
    """Return a labelled row of a block; nothing of no text."""
    return wrapped(f"  {label:<{_INDENT - 2}}", text, indent=_INDENT) if text else []


def wrapped(first: str, text: str, *, indent: int) -> list[str]:
    """Return a text in lines as wide as there is room, the first of which begins so."""
    lines = textwrap.wrap(text, width(), initial_indent=first, subsequent_indent=" " * indent, break_long_words=False)
    return lines or [first.rstrip()]
