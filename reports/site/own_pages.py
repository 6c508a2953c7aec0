"""The pages of users' own files: a list of their verifications and comparisons, and a page each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from reports.operator_text import operator_block
from reports.site.appearance import APPEARANCES, FAILED, Appearance, appearance_of, word_of
from reports.site.evidence import Files
from reports.site.sources import OWN_KINDS, OwnDocument, when_of
from reports.site.words import file_name
from reports.step_comparison_text import comparison_block
from reports.step_text import step_block
from vigil.documents.narrowing import Narrowing
from vigil.documents.operator import OperatorVerification
from vigil.documents.step import StepVerification
from vigil.documents.step_comparison import StepComparison
from vigil.documents.verdict import Verdict
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN
from vigil.terminal import plain

# How the verdict on two releases looks: a comparison has words of its own.
_LOOKS = {
    EXIT_REPRODUCED: Verdict.REPRODUCED,
    EXIT_OUTSIDE: Verdict.REGRESSED,
    EXIT_COULD_NOT_RUN: FAILED,
    EXIT_UNKNOWN: Verdict.UNKNOWN,
}


class OwnRow(NamedTuple):
    """One verification or comparison. of: the framework's release, of a comparison both."""

    page: str
    document: OwnDocument
    what: str
    file: str
    of: str
    appearance: Appearance
    word: str
    reason: str


def write_own(write: Callable[..., None], files: Files) -> None:
    """Write the list of users' files and a page for each look at one; nothing where there are none."""
    rows = [_row(each) for each in files.sources.own]
    if not rows:
        return
    write("own.html", "own.html", rows=rows, when=when_of)
    for row in rows:
        folder = files.sources.runs / Path(_id(row.document)).name  # an id may have been edited: it leads nowhere else
        path = folder / row.document.FILE_NAME
        narrowed = sorted(folder.glob(f"narrowed/*/{Narrowing.FILE_NAME}"))
        reports = [each.with_name("report.md") for each in narrowed]
        write(
            row.page,
            "own_file.html",
            row=row,
            when=when_of(row.document),
            block=plain(_block(row.document, folder.name)),
            file=files.link(path, "../") if path.is_file() else None,
            reports=[files.link(each, "../") for each in reports if each.is_file()],
        )


def _row(document: OwnDocument) -> OwnRow:
    if isinstance(document, StepVerification):
        of = f"{document.framework} {document.framework_version or '-'}"
    elif isinstance(document, OperatorVerification):
        of = f"{document.context.framework} {document.framework_version or '-'}"
    else:
        of = f"{document.framework} {document.old.framework_version or '-'} to {document.new.framework_version or '-'}"
    if isinstance(document, StepComparison):
        appearance, word = APPEARANCES[_LOOKS[document.verdict.exit_code]], str(document.verdict.name)
    else:
        verdict = str(document.verdict.name)
        appearance, word = appearance_of(verdict), word_of(verdict, is_step=True)
    name = _id(document)
    return OwnRow(
        page=f"own/{file_name(name)}.html",
        document=document,
        what=OWN_KINDS[type(document)],
        file=document.file.path.rpartition("/")[2],
        of=of,
        appearance=appearance,
        word=word,
        reason=document.verdict.reason,
    )


def _id(document: OwnDocument) -> str:
    if isinstance(document, StepVerification):
        return document.step_id
    return document.operator_id if isinstance(document, OperatorVerification) else document.compare_id


def _block(document: OwnDocument, folder: str) -> str:
    """Return what the verb printed."""
    if isinstance(document, StepVerification):
        return step_block(document, directory=folder)
    if isinstance(document, OperatorVerification):
        return operator_block(document, directory=folder)
    return comparison_block(document, directory=folder)
