"""The table of many verified contexts: one row a context, on a terminal or as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from reports.tables import markdown_table, print_table
from vigil.documents.context import Context
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Verification, times
from vigil.progress import duration
from vigil.runs.contexts import neighbours

COLUMNS = ("context", "verdict", "out / tensors", "worst tensor", "x floor", "x what is accepted", "origin or reason", "seconds")
# What a reader of any table must know of these.
IN_SHORT_FORM = (
    "training steps on margin batches: "
    "their mode, precision and devices are verified in full, each by itself in jit, fp32, one device"
)
_SILENT = (Verdict.REPRODUCED, Verdict.KNOWN_FINDING)


def outcome(document: Verification) -> str:
    """Return one line on how a context ended."""
    verdict = document.verdict
    what = document.origin.text if document.origin else "" if verdict.name is Verdict.REPRODUCED else verdict.reason
    form = ", short form" if document.is_short else ""
    return f"{verdict.name}{f': {what}' if what else ''} ({duration(document.seconds)}{form})"


def rows(documents: Sequence[Verification]) -> list[tuple[str, ...]]:
    """Return the table's rows, one a context, in the order given."""
    return [_row(document) for document in documents]


def notes(documents: Sequence[Verification], *, missing: Sequence[str]) -> list[str]:
    """Return what a reader of the table must know."""
    counts: dict[str, int] = {}
    for document in documents:
        counts[document.verdict.name] = counts.get(document.verdict.name, 0) + 1
    seconds = [document.seconds for document in documents if document.verdict.name is not Verdict.UNSUPPORTED]
    lines = [", ".join(f"{count} {name}" for name, count in sorted(counts.items()))]
    if seconds:
        lines.append(f"median of the contexts that are supported: {duration(statistics.median(seconds))}, start-up included")
    if short := sum(document.is_short for document in documents):
        lines.append(f"{short} in the short form, {IN_SHORT_FORM}")
        in_short_form = [document.context for document in documents if document.is_short]
        failed = without_answer(in_short_form, {document.context: document.verdict.name for document in documents})
        lines += [f"except {each}" for each in failed]
    known = {entry.name: entry.evidence for document in documents for entry in document.known}
    lines += [f"known finding {name}: {evidence}" for name, evidence in known.items()]
    return [*lines, f"not covered, because not installed: {', '.join(missing)}"] if missing else lines


def without_answer(in_short_form: Iterable[Context], ended: Mapping[Context, Verdict | None]) -> list[str]:
    """Return each neighbour of contexts verified in the short form that says nothing in full for them, and how it ended.

    Args:
        ended: the contexts that were to be verified; None for one that did not come to its end.
    """
    near = dict.fromkeys(each for context in in_short_form for each in neighbours(context) if each in ended)
    return [f"{each} ({ended[each] or 'not done'})" for each in near if not _is_answer(ended[each])]


def _is_answer(verdict: Verdict | None) -> bool:
    return verdict is not None and not verdict.is_failed and verdict not in (Verdict.UNSUPPORTED, Verdict.UNKNOWN)


def show(documents: Sequence[Verification], *, missing: Sequence[str]) -> None:
    """Print the table and its notes."""
    recipe = documents[0].recipe
    counts, *others = notes(documents, missing=missing)
    print_table(f"verified: {recipe.name}, profile {recipe.profile}: {counts}", COLUMNS, rows(documents), notes=others)


def markdown(documents: Sequence[Verification], *, missing: Sequence[str]) -> str:
    """Return the table as Markdown, with versions, hardware and date."""
    lines = markdown_table(COLUMNS, rows(documents))
    versions = {
        document.context.framework: document.framework_version
        for document in documents
        if "framework_version" in document.environment
    }
    first, recipe = documents[0], documents[0].recipe
    days = sorted({document.created[:10] for document in documents})
    lines += ["", *(f"- {line}" for line in notes(documents, missing=missing))]
    lines += [
        f"- {recipe.name} v{recipe.version} ({recipe.hash}), profile {recipe.profile}; golden tape "
        f"{first.golden.sha256[:12]}, limits from {first.limits.clean_rows:,} clean rows; "
        f"{', '.join(f'{name} {version}' for name, version in versions.items())}; Python {first.environment['python']}; "
        f"{first.environment['hardware']}; {' to '.join(dict.fromkeys([days[0], days[-1]]))}"
    ]
    return "\n".join(lines) + "\n"


def _row(document: Verification) -> tuple[str, ...]:
    worst, verdict, tensors = document.worst, document.verdict, document.tensors
    what = document.origin.text if document.origin else "" if verdict.name in _SILENT else verdict.reason
    return (
        f"{document.context.text}{' (short)' if document.is_short else ''}",
        verdict.name,
        f"{document.tensors_out:,} / {len(tensors):,}" if tensors else "-",
        f"{worst.case} {worst.tensor}" if worst else "-",
        times(worst.ratio) if worst else "-",
        f"{worst.score:.3g}" if worst else "-",
        what,
        f"{document.seconds:.0f}",
    )
