"""The block that the verification of a user's operator ends with: the answer, what each failure is, what cannot be seen."""

from __future__ import annotations

from reports.step_text import row, triaged, wrapped
from vigil.documents.operator import OperatorFinding, OperatorVerification, OwnTest, Rate
from vigil.documents.verdict import Verdict
from vigil.documents.verification import times
from vigil.progress import duration

_LOG_LINES = 6


def operator_block(document: OperatorVerification, *, directory: str) -> str:
    """Return the block of a verification, the answer first. Every number in it stands in operator.json too."""
    verdict = document.verdict
    fault = "PLANTED FAULT, " if document.fault else ""
    name = verdict.name if verdict.name is Verdict.REPRODUCED else verdict.name.upper()
    file = document.file.path.rpartition("/")[2]
    release = f"{document.context.framework} {document.framework_version or '(its version was not told)'}"
    lines = wrapped(f"{name}: ", f"{fault}{file}, {release}, {document.context.mode}: {_answer(document)}", indent=2)
    for finding in document.findings:
        lines += row(_label(finding), _told(finding))
        lines += row("", f"shown by {finding.smallest.call(document.usual)} in {finding.precision}{_elements(finding)}")
    for test in document.tests:
        lines += row("your test", _test(test))
    for process in document.processes:
        where = f"{process.threads} thread{'s' if process.threads > 1 else ''}"
        if process.failure:
            lines += row(where, f"{process.failure.category} in phase {process.failure.phase}: {process.failure.message}")
            lines += triaged(process.failure.triage)
            lines += [f"      | {line}" for line in process.failure.log_tail[-_LOG_LINES:]]
            continue
        tried = sum(process.trials.values())
        text = f"{tried:,} sets of inputs: " + ", ".join(f"{count:,} {kind}" for kind, count in process.trials.items())
        if process.repeated:
            text += f"; {process.repeated['calls']} calls with the same inputs gave {_results(process.repeated['results'])}"
        if process.worst:
            tensor, score = max(process.worst.items(), key=lambda pair: pair[1])
            text += f"; of what is fine, {tensor} is the farthest, at {score:.2g} of its limit"
        lines += row(where, text)
        for message in process.refused:
            lines += row("", f"refused: {message}")
        for message in process.unstable:
            lines += row("", f"unstable: {message}")
    lines += row("not seen", "; ".join(document.not_seen))
    lines += row("held to", f"the reference in float64, and limits from {document.limits.clean_rows:,} clean rows")
    lines += row("took", duration(document.seconds))
    lines += row("run", directory)
    return "\n".join(lines)


def _answer(document: OperatorVerification) -> str:
    kinks = [each for each in document.findings if each.kind == "kink"]
    tight = [each for each in document.tests if each.is_too_tight and each.fails.count]
    beside = []
    if kinks:
        beside.append("some inputs lie where the derivative jumps")
    if tight:
        beside.append(f"your test's tolerance is too tight: rounding needs atol {tight[0].supported:.2g}")
    return "; ".join([document.verdict.reason, *beside])


def _label(finding: OperatorFinding) -> str:
    return {"writes": "changed input"}.get(finding.kind, finding.kind)


def _told(finding: OperatorFinding) -> str:
    where = f" on {finding.threads} threads" if finding.threads > 1 else ""
    shown = [f"{_rate(finding.usual)} seeds of usual sizes"] if finding.usual.of else []
    words = {"size": "other sizes", "values": "values at the edge", "layout": "layouts", "precision": "other inputs"}
    shown += [f"{count} of {of} {words[group]}" for group, (count, of) in finding.others.items()]
    often = f"; in {', '.join(shown)}"
    off = ""
    if finding.ratio is not None and finding.limit is not None:
        off = f" is {times(finding.ratio)} its noise floor, a correct one {times(finding.limit)} at most"
    if finding.kind == "bug":
        return f"{finding.tensor}{where}{off}: float64 disagrees, on both sides of the inputs{often}"
    if finding.kind == "race":
        wrong = f", wrong in {_rate(finding.wrong_calls)} calls" if finding.wrong_calls else ""
        return f"{finding.tensor}{where}{off}: equal inputs give other bits{wrong}{often}"
    if finding.kind == "kink":
        return (
            f"{finding.tensor}{where}{off}: it is what the reference gives for inputs moved by rounding. The derivative jumps "
            f"there, and neither side is wrong: keep such inputs out of a test{often}"
        )
    return f"{finding.message}{often}"


def _elements(finding: OperatorFinding) -> str:
    if finding.shapes:
        got, expected = finding.shapes
        return f": {'nothing' if got is None else f'shape {list(got)}'}, expected shape {list(expected)}"
    if finding.elements is None:
        return ""
    each = finding.elements
    place = f"[{', '.join(map(str, each.index))}]" if each.index else ""
    farthest = f"{finding.tensor}{place} is {each.got:.6g}, and should be {each.expected:.6g}"
    if not each.out:
        return f": no element stands out, all {each.of:,} together do; {farthest}"
    return f": {each.out:,} of {each.of:,} elements are out; {farthest}"


def _test(test: OwnTest) -> str:
    allowed = f"atol {test.atol:g}, rtol {test.rtol:g} in {test.precision}"
    text = f"{allowed}: it fails in {_rate(test.fails)} seeds"
    if test.at_kink:
        text += f", in {test.at_kink} of these where the derivative jumps"
    text += (
        f". {test.pairs:,} pairs that differ by rounding alone needed atol {test.largest_need:.2g} at most, and one in a million "
        f"needs {test.supported:.2g}"
    )
    if test.is_too_tight:
        return text + ": too tight, a correct operator fails it. " + f"Allow atol {test.supported:.2g}"
    return text + ": what it allows is enough for rounding"


def _rate(rate: Rate) -> str:
    if not rate.count:
        return f"0 of {rate.of}"
    low, high = (f"{100 * each:.2g}" if each < 0.1 else f"{100 * each:.0f}" for each in (rate.low, rate.high))
    return f"{rate.count} of {rate.of} ({low} to {high} %)"


def _results(count: int) -> str:
    return "one result" if count == 1 else f"{count} different results"
