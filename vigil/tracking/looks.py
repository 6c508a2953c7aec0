"""What is no recipe's in MLflow: a look at a user's own step or operator, at two releases of one, at a framework's public calls.

A look is told by one small function of its document: the whole of it, and each of its parts where there are several (contexts of
a step, families of an audit, frameworks of a table). Entries, views and the sorting are the same for all of them.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.contract.operators import frame
from vigil.documents.audit import Audit, AuditFamily, AuditFinding
from vigil.documents.batch_norm import BatchNormsOf, BatchNormTable
from vigil.documents.context import Context
from vigil.documents.operator import OperatorVerification
from vigil.documents.step import StepContext, StepVerification
from vigil.documents.step_comparison import SidesVerdict, StepComparison
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict, TensorDifference, times
from vigil.paths import file_name
from vigil.redaction import redact
from vigil.tracking.run_entry import (
    NO_FAULT,
    NOTE,
    ORDER,
    RUN_NAME,
    Attachment,
    Entry,
    Label,
    Standing,
    at_the_end,
    report_link,
    sent_text,
    span,
    texts,
)
from vigil.tracking.views import PART, WHOLE

LOOK_ID = "vigil.look_id"
SINCE, WRONG_FIRST = "since", "wrong_first"
PART_FILE = "part.json"
AnyLook = StepVerification | OperatorVerification | StepComparison | Audit | BatchNormTable
_OF_TABLE = ("layers", "answers", "answers_wrong", "absent")
# The report says of all of these that they are wrong; here the table is sorted by what a person must look at.
_SIDES = {
    SidesVerdict.NEW_WRONG: Standing.WRONG,
    SidesVerdict.OLD_WRONG: Standing.MOVED,
    SidesVerdict.PROGRAMS_DIFFER: Standing.MOVED,
    SidesVerdict.NEW_COARSER: Standing.MOVED,
    SidesVerdict.BEGINS_OTHERWISE: Standing.MOVED,
    SidesVerdict.OTHER_BATCH: Standing.MOVED,
    SidesVerdict.COULD_NOT_RUN: Standing.FAILED,
    SidesVerdict.CANNOT_TELL: Standing.OPEN,
}


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is told of a look, or of one of its parts.

    name: in the table. part: what a part is known by. wrong: what is wrong first, in words. labels: what is filtered by.
    numbers: under the same names in every release. score: how far the farthest is, in limits. size: the same of
    what is not on record, where there is such. content: of a part, its document.
    """

    name: str
    verdict: Verdict | SidesVerdict
    reason: str
    wrong: str | None
    labels: Mapping[str, Label]
    numbers: Mapping[str, float | None]
    score: float | None
    size: float | None = None
    part: str = WHOLE
    content: Any = None

    @property
    def standing(self) -> Standing:
        return _SIDES.get(self.verdict, Standing.FINE) if isinstance(self.verdict, SidesVerdict) else Standing.of(self.verdict)


@dataclass(frozen=True)
class Kind:
    """One kind of look. document: its type. title: of its address, in `vigil dashboard`.

    experiment: its name in MLflow, with a hyphen, which no recipe's has: history passes over it.
    pages: where its pages lie in the report, if it has any. what: the first lines of the experiment's note.
    """

    document: type[AnyLook]
    experiment: str
    title: str
    told: Callable[[Any], tuple[Told, list[Told]]]
    id_of: Callable[[Any], str]
    pages: str | None
    what: str

    @property
    def note(self) -> str:
        """Return the experiment's note."""
        return f"{self.what}\n\n{_TAGS}"


def look_entries(
    kind: Kind, document: Any, *, text: str, attachments: tuple[Attachment, ...] = (), narrowed: Sequence[str] = ()
) -> tuple[Entry, list[Entry]]:
    """Return what a look becomes: a run, and one nested in it for each of its parts where there are several.

    Args:
        text: of its document.
        narrowed: what its narrowings came to.
    """
    whole, parts = kind.told(document)
    if len(parts) == 1:  # which is the whole
        [part] = parts
        whole = dataclasses.replace(whole, labels={**whole.labels, **part.labels}, numbers={**part.numbers, **whole.numbers})
        parts = []
    end, _ = span(document.created, None)  # when it was written
    seconds = getattr(document, "seconds", None)
    seconds = sum(each.seconds for each in document.frameworks) if seconds is None else seconds
    fault = getattr(document, "fault", None)
    common = {"night": getattr(document, "night", None), "fault": fault.name if fault else NO_FAULT}
    planted = f"PLANTED FAULT {fault.name}: " if fault else ""
    page = f"{kind.pages}/{file_name(kind.id_of(document))}.html" if kind.pages else None

    def entry(told: Told, file: str, content: str, files: tuple[Attachment, ...] = ()) -> Entry:
        labels = {**common, **told.labels, "verdict": str(told.verdict), "reason": told.reason}
        numbers = {"worst_score": told.score, **told.numbers}
        if told is whole:
            labels["narrowed"] = "; ".join(narrowed) or None
            numbers["seconds"] = seconds
        note = redact(f"**{told.verdict}**: {told.reason}")
        return Entry(
            name=told.name,
            identity={LOOK_ID: kind.id_of(document), PART: told.part},
            labels=texts(labels),
            note=note,
            metrics=at_the_end(numbers, end),
            status=told.standing.status,
            start=end - round(1000 * seconds),
            end=end,
            artifact=file,
            text=content,
            attachments=files,
            shown=_shown(told, note, document.command, page, narrowed if told is whole else (), planted),
        )

    nested = [entry(part, PART_FILE, sent_text(json.dumps(part.content), indent=1)) for part in parts]
    return entry(whole, document.FILE_NAME, sent_text(text, indent=1), attachments), nested


def _shown(told: Told, note: str, command: str, page: str | None, narrowed: Sequence[str], planted: str) -> dict[str, str]:
    """Return what a person sees of a run: MLflow shows the first four lines of a note."""
    lines = [f"{report_link(page)} (while `vigil dashboard` runs)", ""] if page else []
    lines += [note, ""]
    wrong = f"{planted}{told.wrong}" if told.wrong else None
    lines += [f"- wrong first: {wrong}"] if wrong else []
    lines += [f"- narrowed: {each} (see `narrowed/` of its artifacts)" for each in narrowed]
    known: dict[str, Label] = {
        RUN_NAME: told.standing.mark + told.name,
        NOTE: "\n".join([*lines, f"- command: `{command}`"]),
        ORDER: told.standing.order((told.score if told.size is None else told.size) or 0.0),
        WRONG_FIRST: wrong,
        "command": command,
        "report": page,
    }
    return texts(known)


def _step(document: StepVerification) -> tuple[Told, list[Told]]:
    contexts = document.contexts
    verdict = document.verdict
    wrong = max((each for each in contexts if each.verdict.name is Verdict.REGRESSED), key=_step_score, default=None)
    # Gradients that are no derivative of the loss are wrong before any context is.
    if any(each.derivatives[0].differs for each in document.oracles if each.derivatives):
        wrong = None
    whole = Told(
        name=f"{_file(document)} {contexts[0].text if len(contexts) == 1 else document.framework}",
        verdict=verdict.name,
        reason=verdict.reason,
        wrong=f"{_step_wrong(wrong)}, in {wrong.text}" if wrong else _unless_fine(verdict),
        labels={
            **_of_contexts([each.context for each in contexts], document.framework),
            "threads": _list(each.threads for each in contexts),
            "release": document.framework_version,
            **_of_file(document),
            **(_of_origin(wrong) if wrong else {}),
        },
        numbers={
            "contexts": len(contexts),
            "contexts_wrong": sum(each.verdict.name is Verdict.REGRESSED for each in contexts),
            "contexts_refused": sum(each.verdict.name is Verdict.UNSUPPORTED for each in contexts),
            "contexts_failed": sum(each.verdict.name.is_failed for each in contexts),
            "tensors": sum(each.tensors for each in contexts),
            "tensors_out": sum(each.tensors_out for each in contexts),
            "worst_ratio": _largest(each.worst.ratio for each in contexts if each.worst),
        },
        score=_largest(each.worst.score for each in contexts if each.worst),
    )
    return whole, [_step_context(document, each) for each in contexts]


def _step_context(document: StepVerification, context: StepContext) -> Told:
    worst, verdict = context.worst, context.verdict
    is_wrong = verdict.name is Verdict.REGRESSED
    return Told(
        name=f"{_file(document)} {context.text}",
        part=context.text,
        verdict=verdict.name,
        reason=verdict.reason,
        wrong=_step_wrong(context) if is_wrong else _unless_fine(verdict),
        labels={
            **_of_contexts([context.context], document.framework),
            "threads": context.threads,
            "release": document.framework_version,
            **_of_file(document),
            **(_of_origin(context) if is_wrong else {}),
        },
        numbers={
            "tensors": context.tensors or None,
            "tensors_out": context.tensors_out if context.tensors else None,
            "worst_ratio": _largest(_given(worst.ratio if worst else None)),
        },
        score=_largest(_given(worst.score if worst else None)),
        content=context.as_json(),
    )


def _step_score(context: StepContext) -> float:
    return _largest(_given(context.worst.score if context.worst else None)) or 0.0


def _step_wrong(context: StepContext) -> str:
    """Return where a context goes wrong, and which of its tensors is the farthest."""
    far = next((_far(each) for each in (*context.out, context.worst) if each), context.verdict.reason)
    return f"{context.origin.text}: {far}" if context.origin else far


def _of_origin(context: StepContext) -> dict[str, Label]:
    return {"origin_layer": context.origin.where, "origin_phase": context.origin.phase} if context.origin else {}


def _operator(document: OperatorVerification) -> tuple[Told, list[Told]]:
    findings = [each for each in document.findings if each.kind != frame.KINK]
    trials: dict[str, int] = {}
    for process in document.processes:
        for name, count in process.trials.items():
            trials[name] = trials.get(name, 0) + count
    scores = [each.ratio / each.limit for each in findings if each.ratio is not None and each.limit]
    scores += [score for process in document.processes for score in process.worst.values()]
    wrong = _unless_fine(document.verdict)
    if findings:
        first = findings[0]
        off = first.message or _beyond(first.ratio, first.limit) or "other numbers"
        shown = first.smallest.call(document.usual)
        wrong = f"{first.kind}{f' {first.tensor}' if first.tensor else ''} in {first.precision}: {off}, by {shown}"
    whole = Told(
        name=f"{_file(document)} {document.context.framework}-{document.context.mode}",
        verdict=document.verdict.name,
        reason=document.verdict.reason,
        wrong=wrong,
        labels={
            **_of_contexts([document.context], document.context.framework),
            "precision": _list(document.precisions) or document.context.precision,
            "threads": _list(each.threads for each in document.processes),
            "release": document.framework_version,
            **_of_file(document),
        },
        numbers={
            "trials": sum(trials.values()),
            "trials_wrong": sum(trials.get(name, 0) for name in frame.WRONG),
            "trials_refused": trials.get(frame.REFUSED, 0),
            "findings": len(findings),
        },
        score=_largest(scores),
    )
    return whole, []


def _comparison(document: StepComparison) -> tuple[Told, list[Told]]:
    contexts, verdict = document.contexts, document.verdict
    farthest = [each.farthest for each in contexts if each.farthest]
    old, new = document.old.framework_version, document.new.framework_version
    whole = Told(
        name=f"{_file(document)} {document.framework} {old or document.old.text} to {new or document.new.text}",
        verdict=verdict.name,
        reason=verdict.reason,
        wrong=None if _SIDES.get(verdict.name, Standing.FINE) is Standing.FINE else verdict.reason,
        labels={
            **_of_contexts([each.context for each in contexts], document.framework),
            "threads": _list(each.threads for each in contexts),
            "release": new,
            "release_old": old,
            **_of_file(document),
        },
        numbers={
            "contexts": len(contexts),
            "contexts_wrong": sum(each.new.name is Verdict.REGRESSED for each in contexts),
            "contexts_refused": sum(each.is_left_out for each in contexts),
            "tensors": sum(each.tensors for each in contexts),
            "tensors_equal": sum(each.equal for each in contexts),
            "worst_ratio": _largest(each.ratio for each in farthest),
        },
        score=_largest(each.score for each in farthest),
    )
    return whole, []


def _audit(document: Audit) -> tuple[Told, list[Told]]:
    parts = [_family(document, each) for each in document.families]
    # In audits from before families had verdicts of their own.
    named = list(dict.fromkeys(name for process in document.processes for name in process.families))
    families = [each.name for each in document.families] or named
    coverage = document.coverage
    numeric = sum(each.names - each.gaps for each in coverage)
    scores = [score for each in document.families for score in _given(each.worst_score)]
    whole = Told(
        name=f"audit {document.framework} {families[0] if len(families) == 1 else 'quick' if document.is_quick else 'whole'}",
        verdict=document.verdict.name,
        reason=document.verdict.reason,
        wrong=_calls_wrong(document.findings) or _unless_fine(document.verdict),
        labels={
            **_of_audit(document),
            "family": families[0] if len(families) == 1 else None,
            "extent": "quick" if document.is_quick else "whole",
        },
        numbers={
            "operators": document.operators,
            "calls": document.ways,
            "forms": document.forms,
            **_of_calls(document, None),
            # Of the public names that are numeric, as `vigil audit --coverage` says it.
            "coverage": 100 * sum(each.audited for each in coverage) / numeric if numeric else None,
            "names_unseen": sum(len(each.unseen) for each in coverage) if coverage else None,
        },
        score=_largest([*scores, *_call_scores(document.findings)]),
        size=_new_score(document.findings),
    )
    return whole, parts


def _family(document: Audit, family: AuditFamily) -> Told:
    names = set(family.operators)
    findings = [each for each in document.findings if each.operator in names]
    return Told(
        name=f"audit {document.framework} {family.name}",
        part=family.name,
        verdict=family.verdict.name,
        reason=family.verdict.reason,
        wrong=_calls_wrong(findings) or _unless_fine(family.verdict),
        labels={**_of_audit(document), "family": family.name},
        numbers={
            "operators": len(family.operators),
            "calls": family.ways,
            "forms": family.forms,
            **_of_calls(document, names),
        },
        score=_largest([*_given(family.worst_score), *_call_scores(findings)]),
        size=_new_score(findings),
        content={"family": family.as_json(), "findings": [each.as_json() for each in findings]},
    )


def _of_audit(document: Audit) -> dict[str, Label]:
    precisions = {key.rpartition(" ")[2] for of in document.worst.values() for key in of}
    return {
        "framework": document.framework,
        "release": document.framework_version,
        "mode": _list(document.modes),
        "device": document.device,
        "devices": document.devices,
        "precision": _list(sorted(precisions | {each.precision for each in document.findings})),
        "threads": document.threads,
    }


def _of_calls(document: Audit, names: set[str] | None) -> dict[str, float | None]:
    """Return how many calls of some operators are wrong, are known to be, and were refused. names: None of all."""
    found = [each for each in document.findings if names is None or each.operator in names]
    refused = [each for each in document.gaps if each.status == "cannot" and (names is None or each.operator in names)]
    return {
        "calls_wrong": len({(each.operator, each.way) for each in found if each.known is None}),
        "calls_known": len({(each.operator, each.way) for each in found if each.known}),
        "forms_refused": sum(each.count for each in refused),
    }


def _calls_wrong(findings: Iterable[AuditFinding]) -> str | None:
    """Return the worst finding that is not on record, which stands first."""
    new = [each for each in findings if each.known is None]
    if not new:
        return None
    first = new[0]
    said = first.problem or _beyond(first.ratio, first.limit)
    what = " ".join(each for each in (first.kind, first.quantity, "in", first.precision) if each)
    return f"{first.way or first.operator}: {what}{f', {said}' if said else ''}"


def _call_scores(findings: Iterable[AuditFinding]) -> list[float]:
    return [each.ratio / each.limit for each in findings if each.ratio is not None and each.limit]


def _new_score(findings: Iterable[AuditFinding]) -> float | None:
    """Return how far the farthest is that is not on record; None where there is none."""
    return _largest(_call_scores(each for each in findings if each.known is None))


def _table(document: BatchNormTable) -> tuple[Told, list[Told]]:
    parts = [_batch_norms(each, document) for each in document.frameworks]
    names = ", ".join(each.framework for each in document.frameworks)
    versions = [f"{each.framework} {each.framework_version or '-'}" for each in document.frameworks]
    several = {"framework": names, "release": ", ".join(versions)} if len(parts) > 1 else {}
    whole = Told(
        name=f"batch norms of {names}",
        verdict=document.verdict.name,
        reason=document.verdict.reason,
        wrong=max(parts, key=lambda part: part.standing).wrong if parts else None,
        labels=several,
        numbers={name: sum(part.numbers[name] or 0 for part in parts) for name in _OF_TABLE},
        score=None,
    )
    return whole, parts


def _batch_norms(of: BatchNormsOf, document: BatchNormTable) -> Told:
    """Return what is told of one framework: the verdict on it is that of a table of it alone."""
    verdict = Verdict.REGRESSED if of.findings else of.failure.verdict if of.failure else Verdict.REPRODUCED
    first = next(iter(of.findings), None)
    question = document.questions.get(first.question, first.question) if first else ""
    wrong = f"{first.layer}: {question}: {first.answer}, not {first.expected}" if first else None
    layers = f"{len(of.answers)} batch norms"
    reason = f"{len(of.findings)} answers of {layers}" if of.findings else of.failure.message if of.failure else layers
    return Told(
        name=f"batch norms of {of.framework}",
        part=of.framework,
        verdict=verdict,
        reason=reason,
        wrong=wrong or (of.failure.message if of.failure else None),
        labels={"framework": of.framework, "release": of.framework_version},
        numbers={
            "layers": len(of.answers),
            "answers": sum(len(each) for each in of.answers.values()),
            "answers_wrong": len(of.findings),
            "absent": len(of.absent),
        },
        score=None,
        content=of.as_json(),
    )


def _of_contexts(contexts: Sequence[Context], framework: str) -> dict[str, Label]:
    """Return the tags of a context; of several, what they have, each once."""
    every = [each.as_dict() for each in contexts]
    found: dict[str, Label] = {}
    for name in dict.fromkeys(name for each in every for name in each):
        values = [each[name] for each in every if each.get(name) is not None]
        found["context" if name == "text" else name] = values[0] if len(set(map(str, values))) == 1 else _list(values)
    return {"framework": framework} | found


def _of_file(document: StepVerification | OperatorVerification | StepComparison) -> dict[str, Label]:
    return {"file": _file(document), "file_sha256": document.file.sha256}


def _file(document: StepVerification | OperatorVerification | StepComparison) -> str:
    return document.file.path.replace("\\", "/").rpartition("/")[2]


def _unless_fine(verdict: StepVerdict) -> str | None:
    return None if Standing.of(verdict.name) is Standing.FINE else verdict.reason


def _far(difference: TensorDifference) -> str:
    off = difference.problem or f"{times(difference.score)} its limit"
    return f"{difference.tensor} {off} (case {difference.case})"


def _beyond(ratio: float | None, limit: float | None) -> str | None:
    return f"{times(ratio / limit)} its limit" if ratio is not None and limit else None


def _largest(numbers: Iterable[float]) -> float | None:
    """Return the largest number; what is none counts as infinite."""
    return max((math.inf if math.isnan(each) else float(each) for each in numbers), default=None)


def _given(number: float | None) -> list[float]:
    return [] if number is None else [number]


def _list(values: Iterable[object]) -> str | None:
    return ", ".join(dict.fromkeys(map(str, values))) or None


_TAGS = """\
- ✗ in front of a name: wrong. !: it did not run, or a call raises an error. ~: moved, or better than before. ?: nobody knows.
  The status of the first two is FAILED. What is on record as a known finding has no mark. The saved view sorts the worst first.
- `verdict`, `reason`: the verdict, and why. `wrong_first`: what is wrong first, and how far it is off.
- `framework`, `release`, `mode`, `precision`, `threads`: what was asked, and the version of the framework.
- `night`: the nightly run that this one was part of; absent otherwise. `since`: the night that first had this verdict.
- `fault`: `none`, or the fault that was planted on purpose. `narrowed`: what `vigil narrow` came to.
- `command`, `report`: the command that looks again, and the page of `vigil report`, which has pages of the newest ones.
- `worst_score`: how far the farthest is, in limits: above 1 it is wrong. Metrics have the same names in every release.
- Artifacts: the document that all of this was made from, and what shows it: scripts of findings and of narrowings.
- `vigil.*`: what `vigil sync` goes by. Leave these as they are.
"""

KINDS = (
    Kind(
        document=StepVerification,
        experiment="own-steps",
        title="Steps of your own",
        told=_step,
        id_of=lambda document: document.step_id,
        pages="own",
        what="""\
Verifications of users' own training steps, `vigil verify my_step.py`. A run is one file under one release. Nested in it is one
for each context, where there are several.

- `file`, `file_sha256`: what was verified. `origin_layer`, `origin_phase`: where the farthest context goes wrong.
- `contexts`, `contexts_wrong`, `contexts_refused`, `contexts_failed`: how many. `tensors`, `tensors_out`: compared, and beyond
  their limits.
- `worst_ratio`: how far the farthest tensor is, in noise floors.""",
    ),
    Kind(
        document=OperatorVerification,
        experiment="own-operators",
        title="Operators of your own",
        told=_operator,
        id_of=lambda document: document.operator_id,
        pages="own",
        what="""\
Verifications of users' own operators, `vigil verify my_op.py`. A run is one file under one release.

- `file`, `file_sha256`: what was verified.
- `trials`, `trials_wrong`, `trials_refused`: sets of inputs. `findings`: how many things are wrong.""",
    ),
    Kind(
        document=StepComparison,
        experiment="own-comparisons",
        title="Steps of your own under two releases",
        told=_comparison,
        id_of=lambda document: document.compare_id,
        pages="own",
        what="""\
Comparisons of users' own training steps, `vigil compare my_step.py OLD NEW`. A run is one file under two releases; the
verification of each side is a run of the experiment `own-steps`.

- `release`, `release_old`: NEW's, and OLD's. `file`, `file_sha256`: what was compared.
- `contexts`, `contexts_wrong`, `contexts_refused`: how many, and in how many NEW is wrong, or neither side could be asked.
- `tensors`, `tensors_equal`: of both sides, and those with the same bits.
- `worst_ratio`: how far apart the sides are, in noise floors.""",
    ),
    Kind(
        document=Audit,
        experiment="call-audits",
        title="Audits of public calls",
        told=_audit,
        id_of=lambda document: document.audit_id,
        pages="audits",
        what="""\
Audits of frameworks, `vigil audit`. A run is one audit. Nested in it is one for each family, where there are several.

- `family`: of a run that is of one family alone, nested or not. `extent`: `quick` or `whole`.
- `operators`, `calls`, `forms`: how many were asked, by how many public calls, with how many sets of arguments.
- `calls_wrong`, `calls_known`: beyond their limits or raising an error, and those of them that are on record.
- `forms_refused`: what calls said they cannot do. `coverage`: percent of the numeric public names that are audited.
  `names_unseen`: public names that nobody has looked at. Both are of a whole audit alone.""",
    ),
    Kind(
        document=BatchNormTable,
        experiment="batch-norms",
        title="Tables of batch norms",
        told=_table,
        id_of=lambda document: document.table_id,
        pages=None,
        what="""\
Tables of who does what in batch norms, `vigil audit batch_norm`. A run is one table. Nested in it is one for each framework,
where there are several.

- `layers`, `answers`: how many were asked, and how much they answered. `absent`: public names that the release lacks.
- `answers_wrong`: answers that differ from the documentation, or between modes.""",
    ),
)  # fmt: skip
EXPERIMENTS = {kind.experiment: kind for kind in KINDS}
