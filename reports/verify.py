"""The block that a verification ends with, as text: the verdict, the origin, what inherits it, and how to go on."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from vigil.documents.verification import times
from vigil.progress import duration
from vigil.runs.first_rung import WRONG, origin_text

_WIDTH = 130
_INDENT = 14
_MOST_ORIGINS, _MOST_NAMED, _MOST_BROKEN, _LOG_LINES = 5, 4, 5, 6


def verify_block(document: dict[str, Any], *, directory: str, command: str) -> str:
    """Return the block of a verification. Every number in it stands in verify.json too.

    Args:
        command: the command line up to the context, which `go on with` adds.
    """
    recipe, verdict = document["recipe"], document["verdict"]
    lines = [f"vigil verify: {recipe['name']} v{recipe['version']}, profile {recipe['profile']}"]
    lines += _row("context", _context(document))
    if document["fault"]:
        lines += _row("fault", f"{document['fault']['name']}, planted: this is not a run of the framework as released")
    lines += _row("verdict", _verdict(verdict))
    lines += _rows("known", [f"{entry['name']}: {entry['evidence']}" for entry in document["known"]])
    if failure := verdict.get("failure"):
        lines += _row("failed", f"{failure['category']} in phase {failure['phase']}")
        lines += [f"    | {line}" for line in failure["log_tail"][-_LOG_LINES:]]
    if document["worst"]:
        lines += _row("worst", worst_text(document["worst"]))
    lines += _rows("broken", _at_most(document["broken"], _MOST_BROKEN, _broken))
    lines += _origins(document)
    lines += _rows("looking", [_look(look) for look in document["looks"]])
    lines += _row("held to", _standard(document))
    lines += _row("took", duration(document["seconds"]))
    lines += _row("run", directory)
    if onwards := go_on(document, command=command):
        lines += [f"  {'go on with':<{_INDENT - 2}}{onwards[0]}   ({onwards[1]})"]  # unbroken, so that it can be copied
    return "\n".join(lines)


def worst_text(worst: dict[str, Any]) -> str:
    """Return the worst tensor as it is told: how far it is off, in floors and in what is accepted."""
    name = f"{worst['case']} {worst['tensor']}"
    if worst["problem"]:
        return f"{name}: {worst['problem']}"
    ratio, slope_z = float(worst["ratio"]), float(worst["slope_z"])
    text = f"{name}, {times(ratio)} its noise floor"
    if slope_z > ratio:
        text += f", slope {float(worst['slope']):.4f}, {times(slope_z)} the deviation that rounding gives it"
    score = float(worst["score"])
    accepted = "infinitely many" if math.isinf(score) else f"{score:,.1f}" if score >= 10 else f"{score:.3g}"
    return f"{text} ({accepted} times what is accepted)"


def go_on(document: dict[str, Any], *, command: str) -> tuple[str, str] | None:
    """Return the command that narrows a regression, and the question that it answers: devices, then mode, then precision."""
    context = document["context"]
    is_out = bool(document["broken"]) or any(float(each["score"]) > 1.0 for each in document["tensors"])
    if document["verdict"]["name"] != "regressed" or not is_out:
        return None
    if context["devices"] > 1:
        changes, question = {"devices": 1, "shards": None}, "is it several devices?"
    elif context["mode"] != "eager":
        changes, question = {"mode": "eager"}, "is it the compiler?"
    elif context["precision"] not in ("fp32", "fp64"):
        changes, question = {"precision": "fp32"}, "is it the low precision?"
    elif context["precision"] != "fp64":
        changes, question = {"precision": "fp64"}, "does it grow with rounding, or is it there without any?"
    else:
        return None
    usual = {"device": "cpu", "devices": 1, "shards": None, "determinism": "off"}
    next_context = context | changes
    options = [f"--{key} {next_context[key]}" for key in ("framework", "mode", "precision")]
    options += [f"--{key} {next_context[key]}" for key in usual if next_context[key] != usual[key]]
    return " ".join([command, *options]), question


def _context(document: dict[str, Any]) -> str:
    version = document["environment"].get("framework_version", "its version was not told")
    return f"{document['context']['text']} ({document['context']['framework']} {version})"


def _verdict(verdict: dict[str, Any]) -> str:
    name, reason = verdict["name"], verdict["reason"]
    if not name.startswith("failed:"):  # there, numbers may be those of processes
        reason = " ".join(f"{int(word):,}" if word.isdecimal() else word for word in reason.split())
    return f"{name if name == 'reproduced' else name.upper()}: {reason}"


def _origins(document: dict[str, Any]) -> list[str]:
    origins, passengers = document["origins"], document["passengers"]
    lines = _rows("origin", [origin_text(origin) for origin in origins[:1]])
    lines += _rows("remark", [origin["remark"] for origin in origins[:1] if origin["remark"]] + document["remarks"])
    lines += _rows("also", _at_most(origins[1:], _MOST_ORIGINS, origin_text))
    if passengers:
        named = ", ".join(passengers[:_MOST_NAMED]) + (", ..." if len(passengers) > _MOST_NAMED else "")
        lines += _row("inherit it", f"{len(passengers):,} tensor{'s' if len(passengers) > 1 else ''}: {named}")
    if document["verdict"]["name"] in WRONG and document["tensors"] and not origins and not document["broken"]:
        lines += _row("origin", "not found")
    return lines


def _look(look: dict[str, Any]) -> str:
    worst = f"worst {look['worst']}, {times(look['ratio'])} its floor"
    text = f"{look['name']}: {look['out']} of {look['tensors']} tensors out, {worst}"
    if look.get("moved") is not None:
        text += f"; looking moves the gradients by up to {times(look['moved'])} the floor"
    return text


def _broken(broken: dict[str, Any]) -> str:
    return f"{broken['case']} {broken['tensor']}: {broken['what']}"


def _standard(document: dict[str, Any]) -> str:
    golden = document["golden"]
    voters = [
        name if name == "oracle" else f"{name} {vote['version']}" for name, vote in (golden["votes"] or {"oracle": {}}).items()
    ]
    made = f"golden tape of {(golden['created'] or 'an unknown day')[:10]} ({', '.join(voters)})"
    return f"{made}, limits from {document['limits']['clean_rows']:,} clean rows"


def _at_most(items: Sequence[Any], most: int, text: Any) -> list[str]:
    more = [f"and {len(items) - most:,} more"] if len(items) > most else []
    return [text(item) for item in items[:most]] + more


def _rows(name: str, texts: Sequence[str]) -> list[str]:
    return [line for index, text in enumerate(texts) for line in _row("" if index else name, text)]


def _row(name: str, text: str) -> list[str]:
    lines = textwrap.wrap(text, width=_WIDTH - _INDENT - 2, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"  {name:<{_INDENT - 2}}{lines[0]}", *(" " * _INDENT + line for line in lines[1:])]
