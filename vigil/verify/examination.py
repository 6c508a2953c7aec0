"""One context, verified: ask, compare, localise, and say it in one document, verify.json.

Verdicts come from untapped programs, the ones that training runs. A runner that crashed, hung, was killed or answered nothing is
`failed`: that is neither a mismatch nor a pass.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from runners.contract.arrays import digest_of_arrays
from runners.contract.protocol.cases import PROBES
from vigil.documents.context import Context
from vigil.documents.provenance import NamedRelease, processor_of
from vigil.documents.record import Record
from vigil.documents.verdict import Verdict
from vigil.documents.verification import (
    BrokenInvariant,
    CaseTime,
    GoldenFacts,
    KnownFinding,
    LimitFacts,
    StepVerdict,
    Verification,
)
from vigil.errors import CannotRun
from vigil.verify import trajectory
from vigil.verify.ask import Answers, Setting, ask_all, is_fresh, second_directory
from vigil.verify.company import companion_of, is_wrong_alike, read_companion
from vigil.verify.distance import Difference, compare, document_of
from vigil.verify.golden import Golden
from vigil.verify.invariants import check, check_choices, check_determinism, check_replicas, check_scaler
from vigil.verify.known_findings import explain_all, matching, stays, unreached
from vigil.verify.limits import Limits
from vigil.verify.localise import Localisation, Search, localise, origins_of_scaler
from vigil.verify.oracle.outline import Outline
from vigil.verify.probes import MARGIN_IMAGES
from vigil.verify.standard_cases import StandardCase, derived, further_cases, is_of_forward_pass, shown, whole_steps

_ON_FULL_BATCHES = f"a margin batch has {MARGIN_IMAGES} images, fewer than devices: the cases on full batches were put alone"


@dataclasses.dataclass(frozen=True)
class Examination:
    """All that was found in one context. scaler: those of `broken` that are of the loss scaler."""

    answers: Answers
    differences: list[Difference]
    broken: list[BrokenInvariant]
    scaler: Sequence[BrokenInvariant] = ()


def examine(
    setting: Setting,
    tape: Golden,
    *,
    cases: Sequence[StandardCase] | None = None,
    on_event: Callable[[dict], None] = lambda event: None,
) -> Examination:
    """Put cases, by default all of the tape, to the framework and compare what it answers."""
    cases, context = tape.cases if cases is None else cases, setting.context
    # The oracle makes its tensors while the framework starts.
    problem: list[Exception] = []

    def prepare() -> None:
        try:
            for case in cases:
                if case in tape.cases:
                    tape.expected(case)
                elif case.kind == "trajectory":
                    trajectory.keep_floors(case, tape, precision=context.precision)
        except Exception as error:  # raised below, on the caller's thread
            problem.append(error)

    oracle = threading.Thread(target=prepare, name="oracle")
    # Threads of NumPy that wait for each other take the runner's cores: char_gpt takes 43 s so, and 10 s with one thread.
    with threadpool_limits(1, user_api="blas"):
        oracle.start()
        try:
            answers = ask_all(setting, tape, cases, on_event=on_event)
        finally:
            oracle.join()
    if problem:
        raise problem[0]
    differences, broken, scaler = [], [], []
    for case in cases:
        # What a runner that came to its end did not answer is missing; of one that failed only what it did answer is told.
        observed = answers.tensors.get(case.name, None if answers.record.failure else {})
        if observed is not None:
            differences += differences_in(case, tape, observed, context=context)
            broken += broken_in(case, tape, observed)
            if context.determinism == "on":
                broken += check_determinism(case, observed)
            if context.precision == "fp16":
                state = tape.probes[case.state].state
                scaler += check_scaler(case, state, observed, is_fresh=is_fresh(case, tape, context))
    return Examination(answers, differences, broken + scaler, scaler)


def differences_in(case: StandardCase, tape: Golden, observed: dict[str, np.ndarray], *, context: Context) -> list[Difference]:
    """Return how the answer to a case differs from what is expected; repeated calls from their first, too."""
    if case.kind == "trajectory":
        return trajectory.differences(case, tape, observed, precision=context.precision)
    if case not in tape.cases:  # of the loss scaler, whose invariants say all
        return []
    state, whole = tape.probes[case.state].state, shown(case, tape.expected(case))
    comparable, family = tape.architecture.comparable, tape.outline.family
    observed, expected = comparable(observed, whole), comparable(whole, whole)
    floors = tape.floors[context.precision][case.name]
    if case.kind != "repeat":
        return compare(case.name, derived(tape.training, state, observed), expected, floors, family=family)
    calls: dict[int, dict[str, np.ndarray]] = {}
    for name, tensor in observed.items():
        number, _, rest = name.partition("/")
        if number.isdigit():
            calls.setdefault(int(number), {})[rest] = tensor
    nothing: dict[str, np.ndarray] = {}
    differences = compare(case.name, derived(tape.training, state, calls.get(0, nothing)), expected, floors, family=family)
    for call in range(1, len(case.batches)):
        # Nobody said what the first call on another batch gives, but that it gives it, in numbers.
        first = compare(case.name, derived(tape.training, state, calls.get(call, nothing)), expected, floors, family=family)
        differences += [dataclasses.replace(each, tensor=f"{call}/{each.tensor}") for each in first if each.problem]
    steps = whole_steps(context.mode)
    for call, tensors in calls.items():
        if call >= len(case.batches):
            first_call = calls.get(call % len(case.batches), nothing)
            again, reference = (derived(tape.training, state, each) for each in (tensors, first_call))
            due = [name for name in expected if call < steps or is_of_forward_pass(name) or name in again]
            shared = [name for name in due if name in reference]
            reference = {name: np.asarray(reference[name], np.float64) for name in shared}
            for each in compare(case.name, again, reference, floors, family=family):
                differences.append(dataclasses.replace(each, tensor=f"{call}/{each.tensor}", slope_z=0.0, intercept_z=0.0))
    return differences


def broken_in(case: StandardCase, tape: Golden, observed: dict[str, np.ndarray]) -> list[BrokenInvariant]:
    """Return the invariants that the answer to a case breaks, those of the loss scaler left aside."""
    if case not in tape.cases:
        return check_replicas(case, observed)
    expected = tape.expected(case)
    broken = check(case, tape.probes[case.state].state, observed, expected)
    choices = tape.architecture.comparable(observed, expected).get("choices")
    return broken if choices is None else broken + check_choices(case, choices, expected)


def verify(
    setting: Setting,
    tape: Golden,
    limits: Limits,
    *,
    command: str,
    known: list[KnownFinding],
    quick: bool = False,
    keep_tensors: bool = False,
    release: NamedRelease | None = None,
    night: str | None = None,
    companion: Path | None = None,
    on_event: Callable[[dict], None] = lambda event: None,
) -> Verification:
    """Examine a context, localise what is out, and write verify.json one level above the runner's directory; return it.

    Args:
        quick: only single training steps on margin batches, which is one program to compile. More devices than such a batch has
            images are put to full batches alone.
        keep_tensors: what was asked and answered stays, although all of it was right: the caller removes it.
        release: the release that was named for it, as it is recorded.
        night: the id of the night that it is part of, if of any.
        companion: the folder of the verification on one device, where that has ended: what is wrong as that is, in the short
            form, is not looked into again.

    Raises:
        CannotRun: The tape has no noise floors of this precision, or there are no clean runs of it.
    """
    started = time.monotonic()
    precision = setting.context.precision
    limits.require(precision)
    if precision not in tape.floors:
        raise CannotRun(f"the golden tape has no noise floors for {precision}: make it again with `vigil golden`")
    further = further_cases(tape.training, tape.probes, precision=precision)
    usual = sorted([*tape.cases, *further], key=lambda case: case.is_full)  # those on margin batches share a program
    cases = [case for case in usual if case.rows >= setting.context.devices]
    is_whole = len(cases) == len(usual)
    cases = [case for case in cases if case.kind == "step" and case.is_full != is_whole] if quick else cases
    found = examine(setting, tape, cases=cases, on_event=on_event)
    record = found.answers.record
    scored = sorted(((limits.score(each, precision), each) for each in found.differences), key=lambda pair: -pair[0])
    out = [each for score, each in scored if score > 1.0]
    entries = matching(known, record) if not record.failure else []
    localisation = Localisation([], [], [], [])
    # In the short form that is enough: under --all and in nights a neighbour in full looks for the origin.
    is_told = quick and bool(out) and not found.broken
    is_told = is_told and not unreached([each for each in entries if stays(each)], out, tape.outline)
    alike = None
    if quick and out and entries and not is_told and not found.broken and companion is not None:
        there = read_companion(companion / setting.directory.name, record, entries, tape=tape, limits=limits)
        if there is not None and is_wrong_alike(found.answers, there, cases, tape=tape, limits=limits):
            alike = companion_of(setting.context)
    if not record.failure and out and not is_told and alike is None:
        try:
            localisation = localise(Search(setting, tape, limits, found.answers, out, on_event, cases))
        except CannotRun as error:  # no clean runs with a look inside: that takes nothing back of what is out
            localisation = Localisation([], [], [], [f"the origin could not be looked for: {error}"])
    if not record.failure and found.scaler:
        localisation = dataclasses.replace(localisation, origins=[*localisation.origins, *origins_of_scaler(found.scaler)])
    document = Verification(
        verify_id=setting.directory.parent.name,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        night=night,
        recipe=tape.header["recipe"],
        source=tape.source,
        context=setting.context,
        fault=record.fault,
        release=release,
        golden=GoldenFacts(sha256=tape.sha256, created=tape.header.get("created"), votes=tape.header.get("votes")),
        limits=LimitFacts(clean_rows=limits.rows, sha256=dict(limits.digests)),
        verdict=_verdict(
            record,
            scored,
            found,
            localisation,
            entries,
            tape.outline,
            quick=quick or not is_whole,
            is_told=is_told,
            alike=alike,
        ),
        worst=document_of(*scored[0]) if scored else None,
        origin=localisation.origins[0] if localisation.origins else None,
        origins=localisation.origins,
        passengers=localisation.passengers,
        looks=localisation.looks,
        remarks=[*localisation.remarks, *_on_limits(limits, record), *([] if is_whole else [_ON_FULL_BATCHES])],
        broken=found.broken,
        tensors=[document_of(score, each) for score, each in scored],
        cases=[_answered(case.name, found.answers) for case in cases],
        known=entries,
        environment=record.environment,
        seconds=round(time.monotonic() - started, 1),
    )
    document.write(setting.directory.parent)
    if document.verdict.name is Verdict.REPRODUCED and not keep_tensors:
        remove_tensors(setting.directory)
    return document


def _answered(name: str, answers: Answers) -> CaseTime:
    tensors = answers.tensors.get(name)
    return CaseTime(name=name, seconds=answers.seconds.get(name), sha256=digest_of_arrays(tensors) if tensors else None)


def remove_tensors(directory: Path) -> None:
    """Remove what was asked and answered: some 100 MB that say nothing more once all of it was right."""
    for each in (directory, second_directory(directory)):
        for path in (each / PROBES, *each.glob("answers-*.npz")):
            path.unlink(missing_ok=True)


def _verdict(
    record: Record,
    scored: list[tuple[float, Difference]],
    found: Examination,
    localisation: Localisation,
    known: list[KnownFinding],
    outline: Outline,
    *,
    quick: bool = False,
    is_told: bool = False,
    alike: Context | None = None,
) -> StepVerdict:
    """Return the verdict.

    Args:
        is_told: what is out are parameters of known findings alone, and no origin was looked for.
        alike: the context, of an origin that is known, that this one is as wrong as.
    """
    out = [each for score, each in scored if score > 1.0]
    if failure := record.failure:
        name = Verdict.of_failure(failure.category)
        return StepVerdict(name=name, reason=failure.message, failure=None if name is Verdict.UNSUPPORTED else failure)
    if out or found.broken:
        reason = f"{len(out)} of {len(scored)} tensors are out" if out else found.broken[0].what
        if failure := localisation.failure:
            reason += f"; looking for the origin failed ({failure.category}: {failure.message})"
        if is_told:
            reason += f", parameters of {_names(known)} alone; no origin was looked for in the short form"
            return StepVerdict(name=Verdict.KNOWN_FINDING, reason=reason)
        if alike:
            reason += f", and all tensors are as in {alike.text}, whose origin is {_names(known)}"
            return StepVerdict(name=Verdict.KNOWN_FINDING, reason=reason)
        is_known = known and not failure and explain_all(known, localisation, found.broken, out, outline, quick=quick)
        if known and (beyond := unreached(known, out, outline)):
            reason += f"; no known finding reaches {beyond[0].case} {beyond[0].tensor}"
        return StepVerdict(name=Verdict.KNOWN_FINDING if is_known else Verdict.REGRESSED, reason=reason)
    if known:
        names = _names(known)
        if quick:
            reason = f"listed as {names}, which the short form does not show: {len(scored)} tensors within their limits"
            return StepVerdict(name=Verdict.KNOWN_FINDING, reason=reason)
        reason = f"known finding {names} no longer fails: remove it from reference_results/known_findings.yaml"
        return StepVerdict(name=Verdict.REGRESSED, reason=reason)
    return StepVerdict(name=Verdict.REPRODUCED, reason=f"{len(scored)} tensors within their limits")


def _names(known: Sequence[KnownFinding]) -> str:
    return ", ".join(dict.fromkeys(entry.name for entry in known))


def _on_limits(limits: Limits, record: Record) -> list[str]:
    remarks = []
    if limits.borrowed_from is not None:
        remarks.append(f"limits are those of {limits.borrowed_from}: no clean runs of this recipe were measured")
    environment = record.environment
    here = environment.get("gpu") if record.context.device == "gpu" else processor_of(str(environment.get("hardware", "")))
    if here and limits.processors and here not in limits.processors:
        measured = ", ".join(sorted(limits.processors))
        remarks.append(f"limits were measured on {measured}, and this is {here}: a right layer may be a little beyond them")
    return remarks
