"""The block that an audit ends with: the answer, what is wrong with each call and how to see it, what was held to nothing."""

from __future__ import annotations

import collections

from reports.step_text import row, triaged, wrapped
from vigil.documents.audit import Audit, AuditCoverage, AuditFinding
from vigil.documents.verdict import Verdict
from vigil.progress import duration
from vigil.terminal import some_of

_MOST = 12
_MOST_NAMES = 8
_LONGEST_RATIO = 1e12  # above it an exponent says more than digits


def audit_block(document: Audit, *, directory: str) -> str:
    """Return the block of an audit, the answer first. Every number in it stands in audit.json too."""
    verdict = document.verdict
    fault = "PLANTED FAULT, " if document.fault else ""
    name = verdict.name if verdict.name is Verdict.REPRODUCED else verdict.name.upper()
    release = f"{document.framework} {document.framework_version or '(its version was not told)'}"
    lines = wrapped(f"{name}: ", f"{fault}{release}, {', '.join(document.modes)}{document.place}: {verdict.reason}", indent=2)
    new = [each for each in document.findings if each.known is None]
    ways: dict[str, list[AuditFinding]] = {}
    for each in new:
        ways.setdefault(each.way or each.operator, []).append(each)
    for way, found in list(ways.items())[:_MOST]:
        first = found[0]
        more = f"; and in {len(found) - 1} more" if len(found) > 1 else ""
        lines += row(first.kind, f"{way}: {finding_text(first)}{more}")
        if script := next((each.script for each in found if each.script), None):
            lines += row("", f"see it: python {directory}/{script}")
    if len(ways) > _MOST:
        lines += row("", f"and {len(ways) - _MOST} more calls, in audit.json")
    known = collections.Counter(each.known for each in document.findings if each.known)
    for known_name, count in sorted(known.items(), key=lambda pair: str(pair[0])):
        lines += row("known", f"{known_name}: {count} finding{'s' if count > 1 else ''}")
    for process in document.processes:
        if process.failure:
            lines += row("failed", f"{process.directory}: {process.failure.category}: {process.failure.message}")
            lines += triaged(process.failure.triage)
            lines += [f"      | {line}" for line in process.failure.log_tail[-6:]]
    asked = f"{document.operators:,} operators by {document.ways:,} public calls, {document.forms:,} sets of arguments"
    lines += row("asked", f"{asked}, seed {document.seed}{', quick' if document.is_quick else ''}")
    gaps = collections.Counter(each.status for each in document.gaps)
    if gaps:
        absent = {each.way for each in document.gaps if each.status == "absent"}
        cannot = {(each.way, each.message) for each in document.gaps if each.status == "cannot"}
        lines += row("not asked", f"{len(absent)} names that this release lacks; {len(cannot)} forms that a call does not have")
    for derived in document.derivatives:
        raised = f", {derived.raised:,} raise an error" if derived.raised else ""
        said = f"{derived.calls:,} calls; {derived.refused:,} refuse{raised}, {derived.wrong:,} are wrong"
        lines += row("derived", f"{derived.way}: {said}")
    if document.kinks:
        unheld = len({(each.way, each.message) for each in document.gaps if each.status == "unheld"})
        whole = f"; {unheld} outputs whole" if unheld else ""
        what = "directions and elements where a derivative jumps, or rounding decides"
        lines += row("left out", f"{document.kinks:,} {what}{whole}")
    if document.coverage:
        lines += row("covers", _covered(document.coverage))
    lines += row("held to", f"definitions in float64, and limits from {document.limits.clean_rows:,} clean rows")
    lines += row("took", duration(document.seconds))
    lines += row("run", directory)
    return "\n".join(lines)


def finding_text(finding: AuditFinding) -> str:
    """Return what is wrong with a call: which tensor, by how much, where, and in which forms."""
    shown = f"{finding.count} of {finding.of} forms, the smallest {finding.smallest.text}"
    if finding.kind not in ("wrong", "bits"):
        return f"{finding.problem} ({shown})"
    what = _quantity_text(finding.quantity or "")
    ratio = finding.ratio or 0.0
    far = f"{ratio:,.0f}" if ratio < _LONGEST_RATIO else f"{ratio:.1e}"
    far = f"{far} times what rounding does, of {finding.limit or 0.0:,.0f} allowed"
    if finding.kind == "bits":
        return f"{what} in {finding.precision}, {finding.problem}, off by {far} ({shown})"
    off = finding.problem or far
    where = f" at {list(finding.index)}" if finding.index else ""
    has_numbers = None not in (finding.got, finding.expected)
    numbers = f": got {finding.got:.9g}, not {finding.expected:.9g}{where}" if has_numbers else where
    return f"{what} in {finding.precision}, {off}{numbers} ({shown})"


def _quantity_text(quantity: str) -> str:
    """Return which tensor is meant.

    >>> _quantity_text("second/forward over forward/0")
    'second derivative of output 0, forward over forward,'
    """
    group, _, name = quantity.partition("/")
    if group == "second":
        way, _, place = name.partition("/")
        return f"second derivative{f' of output {place}' if place else ''}, {way},"
    what = {"outputs": "output", "gradients": "gradient of", "forward": "derivative by forward mode of output",
            "cotangent": "derivative by what is pulled back of output"}  # fmt: skip
    return f"{what[group]} {name}"


def _covered(coverage: tuple[AuditCoverage, ...]) -> str:
    names, reached = sum(each.names for each in coverage), sum(each.audited for each in coverage)
    gaps = sum(each.gaps for each in coverage)
    unseen = names - reached - gaps
    return f"{reached:,} of {names:,} public names; {gaps:,} are gaps with a reason, {unseen:,} were looked at by nobody"


def share_of(coverage: AuditCoverage) -> str:
    """Return which share of what is numeric in a namespace is audited."""
    numeric = coverage.names - coverage.gaps
    return f"{coverage.audited / numeric:.0%}" if numeric else "-"


def coverage_block(coverage: tuple[AuditCoverage, ...]) -> str:
    """Return how much of the public names of each namespace is audited, the sum first, and what nobody has looked at."""
    lines = [f"audited: {_covered(coverage)}", f"  {'namespace':<26} {'names':>6} {'audited':>8} {'gaps':>6} {'of numeric':>11}"]
    for each in coverage:
        lines.append(f"  {each.namespace:<26} {each.names:>6} {each.audited:>8} {each.gaps:>6} {share_of(each):>11}")
    if unseen := [each for each in coverage if each.unseen]:
        lines.append("looked at by nobody (all of them with --json FILE)")
    for each in unseen:
        names = some_of([name.rpartition(".")[2] for name in each.unseen], _MOST_NAMES)
        lines += wrapped(f"  {each.namespace}: ", names, indent=4)
    return "\n".join(lines)
