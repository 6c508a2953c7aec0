"""The block that a verification ends with, as text: the verdict, the origin, what inherits it, and how to go on."""

from __future__ import annotations

import dataclasses
import math
import shlex
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from reports.failure_text import triage_rows
from vigil.documents.context import FRAMEWORKS
from vigil.documents.verdict import Verdict
from vigil.documents.verification import BrokenInvariant, InsideLook, StepVerdict, TensorDifference, Verification, times
from vigil.progress import duration
from vigil.recipes.command_line import cell_command, fault_in
from vigil.terminal import width

_INDENT = 14
_MOST_ORIGINS, _MOST_NAMED, _MOST_BROKEN, _LOG_LINES = 5, 4, 5, 6
WHAT_TO_DO = "docs/regressed.md: what to do now"
Item = TypeVar("Item")


def verify_block(document: Verification, *, directory: str, source: str | None = None) -> str:
    """Return the block of a verification, the answer first. Every number in it stands in verify.json too.

    Args:
        source: the file of a recipe of a user's own.
    """
    recipe, verdict = document.recipe, document.verdict
    lines = [_answer(document), f"vigil verify: {recipe.name} v{recipe.version}, profile {recipe.profile}"]
    lines += _row("context", _context(document))
    if document.fault:
        lines += _row("fault", f"{document.fault.name}, planted: this is not a run of the framework as released")
    lines += _row("verdict", _verdict(verdict))
    lines += _rows("known", dict.fromkeys(f"{entry.name}: {entry.evidence}" for entry in document.known))
    if failure := verdict.failure:
        lines += _row("failed", f"{failure.category} in phase {failure.phase}")
        lines += [line for name, text in triage_rows(failure.triage) for line in _row(name, text)]
        lines += [f"    | {line}" for line in failure.log_tail[-_LOG_LINES:]]
    if document.worst:
        lines += _row("worst", worst_text(document.worst))
    lines += _rows("broken", _at_most(document.broken, _MOST_BROKEN, _broken))
    lines += _origins(document)
    lines += _rows("looking", [_look(look) for look in document.looks])
    lines += _row("held to", _standard(document))
    lines += _rows("voters", _absent_voters(document))
    lines += _row("took", duration(document.seconds))
    lines += _row("run", directory)
    if onwards := go_on(document, source=source):
        lines += [f"  {'go on with':<{_INDENT - 2}}{onwards[0]}   ({onwards[1]})"]  # unbroken, so that it can be copied
    if verdict.name.is_wrong_step:
        if document.origin and document.context.devices == 1:
            lines += [f"  {'narrow it':<{_INDENT - 2}}vigil narrow {shlex.quote(directory)} --switches"]
        lines += _row("read", WHAT_TO_DO)
    return "\n".join(lines)


def worst_text(worst: TensorDifference) -> str:
    """Return the worst tensor as it is told: how far it is off, in floors and in what is accepted."""
    name = f"{worst.case} {worst.tensor}"
    if worst.problem:
        return f"{name}: {worst.problem}"
    ratio, slope_z = worst.ratio, worst.slope_z
    text = f"{name}, {times(ratio)} its noise floor"
    if slope_z > ratio:
        text += f", slope {worst.slope:.4f}, {times(slope_z)} the deviation that rounding gives it"
    score = worst.score
    accepted = "infinitely many" if math.isinf(score) else f"{score:,.1f}" if score >= 10 else f"{score:.3g}"
    return f"{text} ({accepted} times what is accepted)"


def go_on(document: Verification, *, source: str | None = None) -> tuple[str, str] | None:
    """Return the command that narrows a regression, and the question that it answers: devices, then mode, then precision."""
    context = document.context
    if document.verdict.name is not Verdict.REGRESSED or not (document.broken or document.tensors_out):
        return None
    if context.devices > 1:
        following, question = dataclasses.replace(context, devices=1, shards=None), "is it several devices?"
    elif context.mode != "eager":
        following, question = dataclasses.replace(context, mode="eager"), "is it the compiler?"
    elif context.precision not in ("fp32", "fp64"):
        following, question = dataclasses.replace(context, precision="fp32"), "is it the low precision?"
    elif context.precision != "fp64":
        following = dataclasses.replace(context, precision="fp64")
        question = "does it grow with rounding, or is it there without any?"
    else:
        return None
    command = cell_command(
        "verify",
        document.recipe.name,
        following,
        profile=document.recipe.profile,
        source=source,
        releases=[document.release.request] if document.release else [],
        fault=fault_in(document.command),
    )
    return command, question


def _context(document: Verification) -> str:
    return f"{document.context} ({document.context.framework} {document.framework_version or 'its version was not told'})"


def _answer(document: Verification) -> str:
    """Return the verdict in one line, with what it is of and what is wrong first."""
    name, recipe = document.verdict.name, document.recipe
    what = f"the origin is {document.origin.text}" if document.origin and name.is_wrong_step else document.verdict.reason
    fault = "PLANTED FAULT, " if document.fault else ""
    return f"{_named(name)}: {fault}{recipe.name} {recipe.profile}, {document.context.text}: {what}"


def _named(name: Verdict) -> str:
    return name if name is Verdict.REPRODUCED else name.upper()


def _verdict(verdict: StepVerdict) -> str:
    name, reason = verdict.name, verdict.reason
    if not name.is_failed:  # there, numbers may be those of processes
        reason = " ".join(f"{int(word):,}" if word.isdecimal() else word for word in reason.split())
    return f"{_named(name)}: {reason}"


def _origins(document: Verification) -> list[str]:
    origins, passengers = document.origins, document.passengers
    lines = _rows("origin", [origin.text for origin in origins[:1]])
    lines += _rows("remark", [*(origin.remark for origin in origins[:1] if origin.remark), *document.remarks])
    lines += _rows("also", _at_most(origins[1:], _MOST_ORIGINS, lambda origin: origin.text))
    if passengers:
        named = ", ".join(passengers[:_MOST_NAMED]) + (", ..." if len(passengers) > _MOST_NAMED else "")
        lines += _row("inherit it", f"{len(passengers):,} tensor{'s' if len(passengers) > 1 else ''}: {named}")
    if document.verdict.name.is_wrong_step and document.tensors and not origins and not document.broken:
        lines += _row("origin", "not found")
    return lines


def _look(look: InsideLook) -> str:
    worst = f"worst {look.worst}, {times(look.ratio)} its floor"
    text = f"{look.name}: {look.out} of {look.tensors} tensors out, {worst}"
    if look.moved is not None:
        text += f"; looking moves the gradients by up to {times(look.moved)} the floor"
    return text


def _broken(broken: BrokenInvariant) -> str:
    return f"{broken.case} {broken.tensor}: {broken.what}"


def _standard(document: Verification) -> str:
    golden = document.golden
    voters = [name if name == "oracle" else f"{name} {vote.version}" for name, vote in (golden.votes or {}).items()] or ["oracle"]
    made = f"golden tape of {(golden.created or 'an unknown day')[:10]} ({', '.join(voters)})"
    return f"{made}, limits from {document.limits.clean_rows:,} clean rows"


def _absent_voters(document: Verification) -> list[str]:
    """Return what a reader should know where fewer than all frameworks voted on the tape."""
    voted = document.golden.votes or {}
    absent = [name for name in FRAMEWORKS if name not in voted]
    return [f"{' and '.join(voted)} alone agreed on the tape: {' and '.join(absent)} did not vote"] if voted and absent else []


def _at_most(items: Sequence[Item], most: int, text: Callable[[Item], str]) -> list[str]:
    more = [f"and {len(items) - most:,} more"] if len(items) > most else []
    return [text(item) for item in items[:most]] + more


def _rows(name: str, texts: Iterable[str]) -> list[str]:
    return [line for index, text in enumerate(texts) for line in _row("" if index else name, text)]


def _row(name: str, text: str) -> list[str]:
    lines = textwrap.wrap(text, width=width() - _INDENT - 2, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"  {name:<{_INDENT - 2}}{lines[0]}", *(" " * _INDENT + line for line in lines[1:])]
