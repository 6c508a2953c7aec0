"""The pages of `vigil audit`: a list of audits, and a page each, with its findings, their scripts, and what it covers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from reports.audit_text import finding_text, share_of
from reports.site.appearance import appearance_of
from reports.site.evidence import Files
from reports.site.words import count, file_name
from vigil.documents.audit import Audit, AuditFinding
from vigil.paths import project_root

_MOST_BYTES = 20_000  # of a script that is shown: Vigil's own are a few hundred


class CallRow(NamedTuple):
    """What an audit found of one public call: the first of it in full, and how many more. script: its text."""

    name: str
    operator: str
    first: AuditFinding
    text: str
    more: int
    script: str | None
    evidence: str | None


def write_audits(write: Callable[..., None], files: Files) -> None:
    """Write the list of audits and the page of each; nothing where there are none. write: writes a file from its template."""
    audits = files.sources.audits
    if not audits:
        return
    rows = [(f"audits/{file_name(each.audit_id)}.html", each, appearance_of(each.verdict.name)) for each in audits]
    write("audits.html", "audits.html", rows=rows, asked=_asked, found=_found)
    for page, document, appearance in rows:
        # An id that anybody may have edited leads nowhere but into the directory of runs.
        folder = files.sources.runs / Path(document.audit_id).name
        calls = list(_calls(document, folder, files))
        path = folder / Audit.FILE_NAME
        write(
            page,
            "audit.html",
            document=document,
            appearance=appearance,
            new=[each for each in calls if each.first.known is None],
            known=[each for each in calls if each.first.known is not None],
            asked=_asked(document),
            share=share_of,
            failures=[each for each in document.processes if each.failure],
            file=files.link(path, "../") if path.is_file() else None,
        )


def _asked(document: Audit) -> str:
    """Return what an audit was of: everything, or families."""
    families = list(dict.fromkeys(family for each in document.processes for family in each.families))
    of = ", ".join(families) if len(families) <= 3 else count(len(families), "family", "families")
    return f"{of}; {count(document.operators, 'operator')} by {count(document.ways, 'public call')}"


def _found(document: Audit) -> str:
    new = {(each.operator, each.way) for each in document.findings if each.known is None}
    known = {(each.operator, each.way) for each in document.findings if each.known}
    return f"{count(len(new), 'call')} not on record, {len(known):,} known"


def _calls(document: Audit, folder: Path, files: Files) -> Iterator[CallRow]:
    """Yield each public call with what was found of it, in the order of the findings: the worst first."""
    groups: dict[tuple[str, str, str | None], list[AuditFinding]] = {}
    for each in document.findings:
        groups.setdefault((each.way or each.operator, each.operator, each.known), []).append(each)
    for (name, operator, known), found in groups.items():
        script = next((each.script for each in found if each.script), None)
        evidence = files.sources.known_calls.get(known or "")
        yield CallRow(
            name=name,
            operator=operator,
            first=found[0],
            text=finding_text(found[0]),
            more=len(found) - 1,
            script=_read(folder / Path(script).name) if script else None,
            evidence=_address(evidence, files) if evidence else None,
        )


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes()[:_MOST_BYTES].decode("utf-8", "replace")
    except OSError:
        return None


def _address(evidence: str, files: Files) -> str | None:
    """Return the address of what shows a finding: a link, or a script in the checkout; None for a command."""
    if evidence.startswith("https://"):
        return evidence
    path = project_root() / evidence
    return files.link(path, "../") if path.is_file() else None
