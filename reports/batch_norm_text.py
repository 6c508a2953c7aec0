"""The table of batch norms as text, a block for each framework, and as Markdown."""

from __future__ import annotations

import string
import textwrap

from reports.step_text import row, triaged, wrapped
from reports.tables import markdown_table
from vigil.documents.batch_norm import BatchNormsOf, BatchNormTable
from vigil.documents.verdict import Verdict
from vigil.terminal import width

_LONGEST = 70  # of an answer: what a framework raises may be a paragraph; all of it stands in batch_norm.json


def batch_norm_block(document: BatchNormTable, *, directory: str) -> str:
    """Return the block of a table, the answer first: by framework the questions, each with its answers.

    Layers go by letters; layers that answer alike share a line.
    """
    verdict = document.verdict
    name = verdict.name if verdict.name is Verdict.REPRODUCED else verdict.name.upper()
    lines = wrapped(f"{name}: ", verdict.reason, indent=2)
    for each in document.frameworks:
        lines += ["", _title(each), *_block(each, document.questions)]
    for each in document.frameworks:
        for finding in each.findings:
            question = document.questions[finding.question]
            lines += row(
                "differs", f"{finding.layer}: {question}: {_short(finding.answer)}; not {finding.expected} ({finding.source})"
            )
    lines += row("run", directory)
    return "\n".join(lines)


def _title(each: BatchNormsOf) -> str:
    return f"{each.framework} {each.framework_version or '(its version was not told)'}"


def _block(each: BatchNormsOf, questions: dict[str, str]) -> list[str]:
    if each.failure:
        return [
            f"  failed: {each.failure.category}: {each.failure.message}",
            *triaged(each.failure.triage),
            *(f"  | {line}" for line in each.failure.log_tail[-6:]),
        ]
    letters = dict(zip(each.answers, string.ascii_lowercase, strict=False))
    lines = [f"  {letter} {layer}" for layer, letter in letters.items()]
    lines += [f"    {name} is {layer}" for name, layer in each.same.items()]
    lines += [f"    {name}: this release lacks it" for name in each.absent]
    room = max(map(len, questions.values())) + 4
    for key, text in questions.items():
        groups: dict[str, str] = {}
        for layer, letter in letters.items():
            answer = _short(each.answers[layer][key])
            groups[answer] = groups.get(answer, "") + letter
        label = f"  {text}"
        for answer, who in groups.items():
            said = answer if len(groups) == 1 else f"{who}: {answer}"
            lines += textwrap.wrap(said, width(), initial_indent=f"{label:<{room}}", subsequent_indent=" " * (room + 2))
            label = ""
    return lines


def _short(answer: str) -> str:
    return textwrap.shorten(answer, _LONGEST, placeholder=" ...") if answer.startswith("raises") else answer


def batch_norm_markdown(document: BatchNormTable) -> str:
    """Return a table of each framework in Markdown: questions down, layers across."""
    lines = ["<!-- made by vigil audit batch_norm --markdown -->"]
    for each in document.frameworks:
        environment = each.environment
        versions = [f"{name.removesuffix('_version')} {value}" for name, value in sorted(environment.items())
                    if name.endswith("_version") and name != "framework_version"]  # fmt: skip
        made = [document.created[:10], str(environment["hardware"]), f"Python {environment['python']}", *versions]
        if "numpy" in environment:
            made.append(f"numpy {environment['numpy']}")
        lines += [f"### {_title(each)}", "", f"{', '.join(made)}.", ""]
        columns = ["", *(f"`{layer}`" for layer in each.answers)]
        rows = [[text, *(_short(told[key]) for told in each.answers.values())] for key, text in document.questions.items()]
        lines += [*markdown_table(columns, rows), ""]
        lines += [f"`{name}` is `{layer}`.\n" for name, layer in each.same.items()]
        lines += [f"This release lacks `{name}`.\n" for name in each.absent]
        for finding in each.findings:
            question = document.questions[finding.question]
            said = f"`{finding.layer}`: {question}: {_short(finding.answer)}; not {finding.expected}, as {finding.source} says"
            lines.append(f"Differs: {said}.\n")
    return "\n".join([*lines, "<!-- end -->", ""])
