"""From the directory of an audit or a verification to a script: what was wrong there, asked alone and made smaller."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from vigil.audit.definitions import catalog
from vigil.audit.limits import audit_limits
from vigil.data.official import ensure_data
from vigil.documents.audit import Audit, AuditFinding
from vigil.documents.narrowing import NarrowedFrom, Shrinking
from vigil.documents.operator import OperatorFinding, OperatorVerification
from vigil.documents.provenance import NamedRelease, PlantedFault
from vigil.documents.replay import NotFinite, Replay
from vigil.documents.step import StepContext, StepVerification
from vigil.documents.verification import Origin, Verification
from vigil.errors import CannotRun, UsageError
from vigil.narrow.layers import NotNarrowed, narrow_origin
from vigil.narrow.own_file import OwnNarrowed, OwnText, own_text
from vigil.narrow.own_operator import finding_of, narrow_operator
from vigil.narrow.own_step import context_of, narrow_step
from vigil.narrow.smaller import MOST_LINES, Narrowed, narrow_audit
from vigil.process.build_spec import fault_entry
from vigil.process.consent import FAULTS, is_own
from vigil.process.recording import spec_of
from vigil.recipes.command_line import fault_in
from vigil.recipes.loading import load_recipe
from vigil.releases.recorded import interpreter, named_by_user
from vigil.releases.store import Tell
from vigil.steps.processes import Started
from vigil.verify.golden import load_golden, path_of

_FIRST_RUNG = "verify"  # where a reproduction keeps the verification that came before its first seed


@dataclasses.dataclass(frozen=True)
class Alarm:
    """What a run says is wrong. directory: that holds its document. own: the user's file.

    finding: of several, the one that is meant, of a step a context; number: which it is.
    """

    directory: Path
    source: NarrowedFrom
    document: Audit | Verification | OperatorVerification | StepVerification | Replay
    framework: str
    fault: dict[str, str] | None
    finding: AuditFinding | OperatorFinding | StepContext | None = None
    number: int = 1
    own: OwnText | None = None


def alarm_of(directory: Path, *, finding: int = 1) -> Alarm:
    """Return what the document in a directory says is wrong.

    Args:
        finding: of an audit, which one, from 1 on, the worst first.

    Raises:
        UsageError: there is no document that tells of a failure, or the audit has no such finding.
    """
    if (directory / Audit.FILE_NAME).exists():
        audit = Audit.read(directory)
        _require_cpu(directory, audit.device)
        wrong = [each for each in audit.findings if each.kind == "wrong"]
        if not 1 <= finding <= len(wrong):
            raise UsageError(
                f"--finding: found {finding}. Allowed: 1 to {len(wrong)}, the calls of {directory.name} that are wrong."
            )
        chosen = wrong[finding - 1]
        what = (
            f"{chosen.way}, {audit.framework} {audit.framework_version}, {chosen.mode}: {chosen.quantity} in {chosen.precision}"
        )
        source = NarrowedFrom(kind="audit", path=str(directory), what=what)
        return Alarm(directory, source, audit, audit.framework, _fault(audit.fault, audit.command), chosen, finding)
    if (directory / _FIRST_RUNG / Verification.FILE_NAME).exists():
        directory = directory / _FIRST_RUNG
    if (directory / Verification.FILE_NAME).exists():
        verification = Verification.read(directory)
        if verification.origin is None:
            raise UsageError(f"{directory}: its verification names no origin. Allowed: one that found a wrong tensor.")
        what = f"{verification.recipe}, {verification.context}: {verification.origin.text}"
        source = NarrowedFrom(kind="verification", path=str(directory), what=what)
        fault = _fault(verification.fault, verification.command)
        return Alarm(directory, source, verification, verification.context.framework, fault)
    if (directory / OperatorVerification.FILE_NAME).exists():
        operator = OperatorVerification.read(directory)
        _require_cpu(directory, operator.context.device)
        shown = finding_of(operator, finding)
        own = own_text(operator.file)
        tensor = f": {shown.tensor}" if shown.tensor else ""
        what = (
            f"{own.name}, {operator.context.framework} {operator.framework_version}, {operator.context.mode}: "
            f"{shown.kind}{tensor} in {shown.precision}"
        )
        source = NarrowedFrom(kind="operator", path=str(directory), what=what)
        fault = _fault(operator.fault, operator.command)
        return Alarm(directory, source, operator, operator.context.framework, fault, shown, finding, own)
    if (directory / StepVerification.FILE_NAME).exists():
        step = StepVerification.read(directory)
        context = context_of(step, finding)
        _require_cpu(directory, context.context.device)
        own = own_text(step.file)
        where = context.origin.text if context.origin else context.verdict.reason
        what = f"{own.name}, {context.text}, {step.framework} {step.framework_version}: {where}"
        source = NarrowedFrom(kind="step", path=str(directory), what=what)
        fault = _fault(step.fault, step.command)
        return Alarm(directory, source, step, step.framework, fault, context, finding, own)
    if (directory / Replay.FILE_NAME).exists():
        replay = Replay.read(directory)
        if replay.origin is None:
            raise UsageError(f"{directory}: every tensor of its step is finite. Allowed: a replay that found one that is not.")
        what = f"{replay.recipe}, {replay.context}, step {replay.step}: {replay.reason}"
        source = NarrowedFrom(kind="replay", path=str(directory), what=what)
        return Alarm(directory, source, replay, replay.context.framework, _fault_of_run(replay))
    raise UsageError(
        f"{directory}: holds none of {Audit.FILE_NAME}, {Verification.FILE_NAME}, {StepVerification.FILE_NAME}, "
        f"{OperatorVerification.FILE_NAME} and {Replay.FILE_NAME}. Allowed: the directory of an audit, of a verification or of a "
        "replay that found something wrong."
    )


def _require_cpu(directory: Path, device: str) -> None:
    """Raise UsageError for what was found on a GPU: a script that is made smaller on the CPU would show something else."""
    if device != "cpu":
        raise UsageError(f"{directory}: found on a GPU. Allowed: what was found on the CPU, where scripts are made and tried.")


def _fault(planted: PlantedFault | None, command: str) -> dict[str, str] | None:
    """Return the fault that was planted, where it is the user's own and as it was. Raises UsageError."""
    if planted is None:
        return None
    if not is_own(FAULTS, planted.sha256):
        raise UsageError(
            f"the run has the planted fault {planted.name}, whose file no command of yours has named: it is not run unasked. "
            "Make the run again with --fault."
        )
    fault = fault_entry(fault_in(command))
    if fault is None or fault["sha256"] != planted.sha256:
        raise UsageError(f"the planted fault {planted.name} is not the file any more that it was. Make the run again.")
    return fault


def _fault_of_run(replay: Replay) -> dict[str, str] | None:
    """Return the fault of the run that was replayed, where it is the user's own and as it was. Raises UsageError."""
    fault = spec_of(Path(replay.run)).fault if replay.fault else None
    return _fault(replay.fault, f"vigil replay --fault {shlex.quote(fault['path'])}") if fault else None


def _origin_of(replay: Replay, found: NotFinite) -> Origin:
    """Return a tensor that is not finite as the origin that a layer is asked for."""
    return Origin(
        layer=found.layer, phase=found.phase, quantity=found.quantity, tensor=found.tensor, case=f"step {replay.step}",
        ratio=math.inf, slope=math.nan, remark="not finite", is_certain=True,
    )  # fmt: skip


@contextlib.contextmanager
def where_seen(release: NamedRelease | None, *, tell: Tell) -> Iterator[tuple[Path, NamedRelease | None]]:
    """Yield the interpreter of the release that a run is of. Raises UsageError for one that no command of this user has named."""
    if release is not None and not named_by_user(release):
        raise UsageError(f"the run is of {release.request}, which no command of yours has named: give it with --release.")
    with interpreter(release, tell=tell) as (python, recorded):
        yield python or Path(sys.executable), recorded


def script_of_alarm(
    alarm: Alarm,
    directory: Path,
    *,
    python: Path,
    tell: Tell,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
    data: Callable[[int, int | None], None] = lambda done, total: None,
) -> Narrowed | OwnNarrowed:
    """Ask what is wrong alone, make it smaller, and write script.py into the directory.

    Raises:
        CannotRun: alone it is right, or there is nothing that could be asked, with the reason.
    """
    started = Started(framework=alarm.framework, python=python, fault=alarm.fault, progress=progress)
    limits = audit_limits()
    document = alarm.document
    if isinstance(document, OperatorVerification):
        assert isinstance(alarm.finding, OperatorFinding)
        assert alarm.own is not None
        return narrow_operator(started, directory, document, alarm.finding, alarm.own, what=alarm.source.what, tell=tell)
    if isinstance(document, StepVerification):
        assert isinstance(alarm.finding, StepContext)
        assert alarm.own is not None
        verified = Path(alarm.source.path)
        return narrow_step(
            started, directory, verified, document, alarm.finding, alarm.own, what=alarm.source.what, tell=tell
        )  # fmt: skip
    if isinstance(document, Audit):
        assert isinstance(alarm.finding, AuditFinding)
        entry = catalog()[alarm.finding.operator]
        found = narrow_audit(
            started, directory, alarm.finding, entry, limits=limits, threads=document.threads, devices=document.devices, tell=tell
        )  # fmt: skip
        if found is None:
            raise CannotRun(
                f"{alarm.source.what}: asked again alone, it does not show, or no script of at most {MOST_LINES} lines shows it. "
                f"Its script of the audit, if it has one: {alarm.finding.script}"
            )
        return found
    assert document.origin is not None
    origin = _origin_of(document, document.origin) if isinstance(document, Replay) else document.origin
    recipe = load_recipe(document.source or document.recipe.name)
    training = recipe.resolve(document.recipe.profile)
    tape = load_golden(
        path_of(document.recipe.name, document.recipe.profile, source=document.source),
        recipe=document.recipe,
        data_directory=ensure_data(training, progress=data),
        source=document.source,
    )
    narrowed = narrow_origin(started, directory, origin, document.context, tape, limits=limits, tell=tell)
    if isinstance(narrowed, NotNarrowed):
        raise CannotRun(
            f"{alarm.source.what}: no script of one layer shows it: {narrowed.reason}. What shows it is the run itself: "
            f"{document.command}"
        )
    return narrowed


def shrinking_of(found: Narrowed | OwnNarrowed) -> Shrinking:
    """Return how a script was made smaller, as the document tells it."""
    if isinstance(found, OwnNarrowed):
        return found.shrinking
    return Shrinking(asked=found.asked, before=found.before.form, after=found.trial.form, needs=found.needs)
