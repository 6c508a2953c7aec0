"""Is a cause known already? Where to look: the issues of its framework, and the findings that are on record.

A search has few words, for a tracker shows what has all of them: the operator, what of it is out, and what is unusual of a
context.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from reports.site.appearance import FAILED, OTHER
from reports.site.causes import STEP, Cause
from reports.site.standing import public
from vigil.documents.context import parse_context
from vigil.documents.verification import KnownFinding
from vigil.errors import UsageError
from vigil.frameworks import TABLE

# What a layer of that name computes: the end of its name, without its number.
_OPERATORS = {
    "conv": "convolution", "shortcut": "convolution", "lateral": "convolution", "bn": "batch norm", "norm": "layer norm",
    "attention": "attention", "qkv": "attention", "embedding": "embedding", "optimizer": "optimizer", "head": "linear",
    "dense": "linear", "hidden": "linear", "projection": "linear", "up": "linear", "down": "linear",
}  # fmt: skip
_PRECISIONS = {"bf16": "bfloat16", "fp16": "float16", "tf32": "TF32", "fp64": "float64"}
_MODES = {
    ("torch", "compile"): "torch.compile", ("tensorflow", "compile"): "jit_compile", ("jax", "compile"): "jit",
    ("jax", "eager"): "disable_jit",
}  # fmt: skip
_FAILURES = {"died": "crash", "nan_loss": "NaN", "nan_state": "NaN", "nan_metric": "NaN"}


@dataclass(frozen=True)
class Known:
    """search: an address in the framework's public issue tracker. findings: those on record that a cause may be."""

    search: str | None
    findings: Sequence[KnownFinding]


def known_of(cause: Cause, findings: Sequence[KnownFinding]) -> Known:
    """Return where to look whether somebody knows a cause; no search for a framework without a tracker."""
    row = TABLE.get(cause.framework)
    if row is None:
        return Known(None, ())
    words = [*_what(cause), *_where(cause), public(cause.begin.release) or ""]
    asked = " ".join(f'"{word}"' if " " in word else word for word in ("is:issue", *words) if word)
    search = f"https://github.com/{row.issues}/issues?{urlencode({'q': asked})}"
    return Known(search, [each for each in findings if _may_be(cause, each)])


def _what(cause: Cause) -> list[str]:
    """Return what is wrong in words of a tracker."""
    if cause.sort == STEP:
        row = cause.lead.measured
        layer = re.sub(r"[\d_]+$", "", (row.origin_layer or "").rpartition(".")[2]) if row is not None else ""
        quantity = (row.origin_quantity or "") if row is not None else ""
        operator = _OPERATORS.get(layer, "")
        return [operator, "gradient"] if "gradient" in quantity else [operator or _plain_words(quantity)]
    if cause.sort in (FAILED, OTHER):
        kinds = {each.verdict.partition(":")[2] for each in cause.lead.kinds.values()} - {""} if cause.troubles else set()
        return [_FAILURES.get(kind, _plain_words(kind)) for kind in sorted(kinds)[:1]]
    return ["accuracy"]


def _where(cause: Cause) -> list[str]:
    """Return what is unusual of the contexts of all of a cause's cells."""
    contexts = []
    for key in cause.keys:
        try:
            contexts.append(parse_context(key[2]))
        except UsageError:  # a context of a later version, or no context at all
            return []
    modes, precisions = {each.mode for each in contexts}, {each.precision for each in contexts}
    mode = _MODES.get((cause.framework, modes.pop()), "") if len(modes) == 1 else ""
    return [mode, _PRECISIONS.get(precisions.pop(), "") if len(precisions) == 1 else ""]


def _plain_words(text: str) -> str:
    """Return the letters of a text: what a tracker reads as a condition (`is:`, `-`, quotes) is none of them."""
    return " ".join(re.findall(r"[A-Za-z]+", text.replace("_", " ")))[:60]


def _may_be(cause: Cause, finding: KnownFinding) -> bool:
    """Has a finding the framework, the context, the layer and the quantity of a wrong step? In another release it may live on."""
    row = cause.lead.measured if cause.sort == STEP else None
    if row is None or finding.framework != cause.framework:
        return False
    return (
        any(fnmatch.fnmatchcase(key[2], pattern) for key in cause.keys for pattern in finding.contexts)
        and any(fnmatch.fnmatchcase(row.origin_layer or "", pattern) for pattern in finding.layers)
        and fnmatch.fnmatchcase(row.origin_quantity or "", finding.quantity)
    )
