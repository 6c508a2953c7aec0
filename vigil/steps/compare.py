"""A user's step under two releases: each side verified, both from the same batch and first numbers, and held to the other.

Each side is judged by its own program in float64. Where the two programs are the same, these agree to float64's rounding, and one
of them could stand for both; where they do not, that is the first thing to say.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from runners.contract.arrays import read_arrays
from runners.contract.steps import frame
from runners.contract.steps.measure import NOT_FINITE, lines_of
from runners.contract.steps.own import same_bits
from vigil.documents.provenance import NamedRelease, PlantedFault
from vigil.documents.step import OwnFileFacts, StepContext, StepVerification
from vigil.documents.step_comparison import (
    ContextMoved,
    ExactMoved,
    SidesJudgement,
    SidesVerdict,
    StepComparison,
    StepSide,
    far,
)
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict, TensorDifference
from vigil.process.side_by_side import side_by_side
from vigil.steps.judge import differences_of, judge, worst_of
from vigil.steps.processes import Asked, Ended, oracle_name, run
from vigil.steps.verify import NOT_SEEN, Setting, new_own_directory, verify_step
from vigil.terminal import some_of
from vigil.verify.limits import Limits

# In floors. Rounding in float64 is 2**-29 of that in float32, and of that in halves still less.
_ROUNDING_OF_FLOAT64 = 1e-3
_MOST_NAMES = 2
_LIBRARIES = ("jaxlib", "flax", "optax", "keras")
Arrays = Mapping[str, Any]


class Side(NamedTuple):
    """One side: its name, what is asked, and the release, where it is none of the user's own environments."""

    name: str
    asked: Asked
    release: NamedRelease | None


def compare_step(
    old: Side,
    new: Side,
    settings: Sequence[Setting],
    runs: Path,
    limits: Limits,
    *,
    command: str,
    jobs: int,
    tell: Callable[[str], None] = lambda text: None,
) -> StepComparison:
    """Verify a user's file under two releases, hold them to each other, write compare-step.json, and return it.

    An error, or Ctrl-C, ends what runs, and is raised again.
    """
    started = time.monotonic()
    before, after = (new_own_directory(runs, each.asked.file, "step") for each in (old, new))

    def verified(side: Side, directory: Path, given: Path | None) -> StepVerification:
        asked = dataclasses.replace(side.asked, keeps=True, given=given)
        say = lambda text: tell(f"{side.name}: {text}")  # noqa: E731
        return verify_step(asked, settings, directory, limits, command=command, jobs=jobs, release=side.release, tell=say)

    verifications = verified(old, before, None), verified(new, after, before)
    exact = _exact(new.asked, settings, before, after, limits, jobs=jobs)
    same = {each.precision for each in exact if each.is_same}
    contexts = tuple(
        _context(setting, one, other, before, after, limits, is_same=setting.context.precision in same)
        for setting, one, other in zip(settings, *(each.contexts for each in verifications), strict=True)
    )
    for directory in (before, after):  # as large as the model, for each context
        for name in (frame.ANSWERED, frame.BEGUN):
            for path in directory.glob(f"*/{name}"):
                path.unlink()
    directory = new_own_directory(runs, new.asked.file, "compare")
    fault = new.asked.fault
    document = StepComparison(
        compare_id=directory.name,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        file=OwnFileFacts(path=str(new.asked.file), sha256=new.asked.sha256),
        framework=new.asked.framework,
        fault=PlantedFault(name=fault["name"], sha256=fault["sha256"]) if fault else None,
        old=_side(old, verifications[0], before),
        new=_side(new, verifications[1], after),
        verdict=judge_sides(*verifications, exact, contexts),
        exact=exact,
        contexts=contexts,
        limits=verifications[1].limits,
        not_seen=NOT_SEEN,
        seconds=round(time.monotonic() - started, 1),
    )
    document.write(directory)
    return document


def judge_sides(
    old: StepVerification, new: StepVerification, exact: Sequence[ExactMoved], contexts: Sequence[ContextMoved]
) -> SidesJudgement:
    """Return the verdict on two sides: a wrong step of NEW decides before all else, and another program before what failed."""
    name, reason = _verdict(old, new, exact, [each for each in contexts if not each.is_left_out])
    return SidesJudgement(name=name, reason=reason, exit_code=name.exit_code)


def _verdict(
    old: StepVerification, new: StepVerification, exact: Sequence[ExactMoved], contexts: Sequence[ContextMoved]
) -> tuple[SidesVerdict, str]:
    wrong = [each for each in contexts if each.new.name is Verdict.REGRESSED]
    if wrong:  # one that OLD has right says more
        first = next((each for each in wrong if each.old.name is Verdict.REPRODUCED), wrong[0])
        return SidesVerdict.NEW_WRONG, _told(first, wrong)
    if new.verdict.name is Verdict.REGRESSED:
        return SidesVerdict.NEW_WRONG, f"NEW: {new.verdict.reason}"
    mended = [each for each in contexts if each.old.name is Verdict.REGRESSED and each.new.name is Verdict.REPRODUCED]
    if mended:
        return SidesVerdict.OLD_WRONG, _told(mended[0], mended)
    for each in exact:
        if each.unmatched:
            is_off = (each.updated and each.updated.is_out) or (each.farthest and _is_off(each.farthest))
            rest = _what_differs(each) if is_off else "all else agrees to float64's rounding"
            names = some_of(each.unmatched, _MOST_NAMES)
            return SidesVerdict.PROGRAMS_DIFFER, f"the model of one side alone begins with {names}; {rest}"
        if not each.is_same:
            return SidesVerdict.PROGRAMS_DIFFER, _what_differs(each)
    if coarse := [each for each in contexts if each.coarser]:
        return SidesVerdict.NEW_COARSER, _what_is_coarser(coarse)
    failed = [(name, each, side) for each in contexts for name, side in _sides(each) if not _is_judged(side)]
    if failed:
        name, context, side = failed[0]
        kind = SidesVerdict.CANNOT_TELL if all(each[2].name is Verdict.UNKNOWN for each in failed) else SidesVerdict.COULD_NOT_RUN
        return kind, f"{name}, {context.text}: {side.name}: {side.reason}"
    if not contexts:
        return SidesVerdict.COULD_NOT_RUN, f"no context that was asked for: {new.verdict.reason}"
    rounded = "" if _are_equal(contexts) else " but for rounding"
    if moved := next((each for each in exact if each.moved or each.batches), None):
        what = f"build() gives other numbers under NEW ({some_of(moved.moved, _MOST_NAMES)})"
        name, by = SidesVerdict.BEGINS_OTHERWISE, moved.moved_by
        if not moved.moved:
            name, what, by = SidesVerdict.OTHER_BATCH, "batch() gives other numbers under NEW", moved.batches_by
        return name, f"{what}, by {by:.2g} of their size at most; from OLD's the step computes the same{rounded}"
    tensors = sum(each.tensors for each in contexts)
    if _are_equal(contexts):
        return SidesVerdict.IDENTICAL, f"the same bits in {_count(len(contexts), 'context')}, {tensors:,} tensors"
    farthest = max((each for each in contexts if not each.is_identical), key=_ratio)
    return SidesVerdict.ROUNDED, f"in {farthest.text} {_apart(farthest)}; both are right against float64"


def _others(alike: Sequence[ContextMoved]) -> str:
    return f" and {len(alike) - 1} more" if len(alike) > 1 else ""


def _what_is_coarser(coarse: Sequence[ContextMoved]) -> str:
    """Return what NEW rounds more than OLD, where it does so the most."""
    first = max(coarse, key=lambda each: each.coarser.score if each.coarser else 0.0)
    return f"{first.text}{_others(coarse)}: {first.rounds_more}, as where numbers are held in a type of fewer digits"


def _told(context: ContextMoved, alike: Sequence[ContextMoved]) -> str:
    """Return how far the sides are apart in a context, and which of them is right. alike: contexts of which that can be said."""
    sides = [f"{name} is {_word(side)}" for name, side in _sides(context)]
    origin = context.new_origin or (context.old_origin if context.new.name is Verdict.REPRODUCED else None)
    place = f"; the origin is {origin.text}" if origin else ""
    return f"{context.text}{_others(alike)}: {_apart(context)}; against float64 {' and '.join(sides[::-1])}{place}"


def _apart(context: ContextMoved) -> str:
    return "; ".join(filter(None, [context.apart, context.scatter]))


def _word(side: StepVerdict) -> str:
    return {Verdict.REPRODUCED: "right", Verdict.REGRESSED: "wrong"}.get(side.name, str(side.name))


def _sides(context: ContextMoved) -> tuple[tuple[str, StepVerdict], ...]:
    return ("OLD", context.old), ("NEW", context.new)


def _is_judged(side: StepVerdict) -> bool:
    return side.name in (Verdict.REPRODUCED, Verdict.REGRESSED)


def _are_equal(contexts: Iterable[ContextMoved]) -> bool:
    return all(each.is_identical for each in contexts)


def _ratio(context: ContextMoved) -> float:
    return context.farthest.ratio if context.farthest else 0.0


def _what_differs(exact: ExactMoved) -> str:
    of_step, of_update = exact.farthest, exact.updated
    # A second step begins with what the optimizer made of the first.
    is_off = of_step is not None and _is_off(of_step) and of_step.case != frame.STEPS
    if of_update and of_update.is_out and not is_off:
        return f"of the same gradients the optimizers make other updates: {far(of_update)}"
    begun = "from its own of these, and else the same numbers" if exact.unmatched else "from the same numbers and batch"
    text = f"{begun}, {far(of_step) if of_step else 'nothing'}"
    if of_step and of_step.ratio < 1.0:
        text += ", less than rounding moves it: a constant may be rounded otherwise"
    return f"{text}; NEW draws other random numbers of the same key, which may be all" if exact.draws_otherwise else text


def _is_off(exact: TensorDifference) -> bool:
    """Is there a number on both sides, and another one?"""
    return _is_moved(exact) and (exact.problem is None or exact.problem.endswith(NOT_FINITE))


def _is_moved(exact: TensorDifference) -> bool:
    return exact.ratio > _ROUNDING_OF_FLOAT64


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _side(side: Side, verification: StepVerification, directory: Path) -> StepSide:
    environment = next((each.environment for each in verification.contexts if "framework_version" in each.environment), {})
    names = {"framework_version": verification.framework, **{f"{name}_version": name for name in _LIBRARIES}}
    names |= {"numpy": "numpy", "python": "python"}
    versions = {package: str(environment[name]) for name, package in names.items() if name in environment}
    return StepSide(
        name=side.name,
        release=side.release,
        python=None if side.release else str(side.asked.python),
        framework_version=verification.framework_version,
        versions=versions,
        verdict=verification.verdict,
        verification=directory.name,
    )


def _exact(
    asked: Asked, settings: Sequence[Setting], before: Path, after: Path, limits: Limits, *, jobs: int
) -> tuple[ExactMoved, ...]:
    """Return how far the two programs are apart in float64, of each precision that has both."""
    precisions = [
        each
        for each in dict.fromkeys(setting.context.precision for setting in settings)
        if all((directory / oracle_name(each) / frame.FLOORS).exists() for directory in (before, after))
    ]

    def of(precision: str, cores: list[int] | None) -> ExactMoved:
        updated = _updated(asked, settings, before, after, precision, cores=cores)
        return _exact_of(precision, before, after, updated, limits)

    return tuple(side_by_side(precisions, of, jobs=jobs, stop=asked.stop, on_end=lambda done, result: None))


def _updated(
    asked: Asked, settings: Sequence[Setting], before: Path, after: Path, precision: str, *, cores: list[int] | None
) -> Ended | str | None:
    """Hold an update that OLD made to what NEW's optimizer makes of the same gradients in float64; None where OLD made none."""
    for setting in settings:
        states = before / setting.directory / frame.STATES
        if setting.context.precision == precision and states.exists():
            place = after / f"old-{setting.directory}"
            place.mkdir()
            (place / frame.STATES).symlink_to(states.resolve())
            directory = after / f"old-updates-{precision}"
            done = run(asked, directory, task="updates", precision=precision, cores=cores, expected=[place])
            return done.failure.message if done.failure else dataclasses.replace(done, directory=place)
    return None


def _exact_of(precision: str, before: Path, after: Path, updated: Ended | str | None, limits: Limits) -> ExactMoved:
    old, new = (directory / oracle_name(precision) for directory in (before, after))
    of_old, of_new = _read(old / frame.FLOORS), _read(new / frame.FLOORS)
    floors, begun = of_old["floors"], of_new["facts"]["begun"] or {}
    drawn = [each["facts"].get(frame.RANDOM) for each in (of_old, of_new)]
    expected = [_by_case(read_arrays(each / frame.EXPECTED)) for each in (old, new)]
    held = _held(*expected)
    of_step = _farthest({case: each for case, each in held.items() if case != frame.STEPS}, floors, limits, precision)
    if of_step is None or not _is_moved(of_step):  # a second step differs where a first one, or its update, does
        of_step = _farthest(held, floors, limits, precision)
    found = updated.read(frame.UPDATES) if isinstance(updated, Ended) else {}
    of_update = _farthest(found, {case: each["floors"] for case, each in found.items()}, limits, precision)
    return ExactMoved(
        precision=precision,
        batches=tuple(begun.get("batches", ())),
        batches_by=begun.get("batches_by", 0.0),
        moved=tuple(begun.get("moved", ())),
        moved_by=begun.get("moved_by", 0.0),
        unmatched=tuple(begun.get("unmatched", ())),
        tensors=sum(len(each) for each in expected[0].values()),
        farthest=of_step,
        updated=of_update,
        is_same=not ((of_step and _is_moved(of_step)) or (of_update and of_update.is_out)),
        remark=f"NEW's optimizer was not asked about OLD's gradients: {updated}" if isinstance(updated, str) else None,
        draws_otherwise=None not in drawn and drawn[0] != drawn[1],
    )


def _held(old: Mapping[str, Arrays], new: Mapping[str, Arrays]) -> dict[str, Any]:
    """Return by case how far each of NEW's tensors is from OLD's, in the form in which a context answers."""
    return {case: {"lines": lines_of(new.get(case, {}), tensors)} for case, tensors in old.items()}


def _farthest(answers: Arrays, floors: Arrays, limits: Limits, precision: str) -> TensorDifference | None:
    """Return the tensor that is the farthest; what one side alone has only where the others agree."""
    judged = judge(differences_of(answers, floors, {}), limits, precision)
    moved = [each for each in judged if not each.difference.is_absent and each.difference.ratio > _ROUNDING_OF_FLOAT64]
    found = max(moved or judged, key=lambda each: (each.difference.ratio, each.score), default=None)
    return found.as_document if found else None


def _context(
    setting: Setting, old: StepContext, new: StepContext, before: Path, after: Path, limits: Limits, *, is_same: bool
) -> ContextMoved:
    """Return how far the sides are apart in a context, in OLD's floors. is_same: are they one program?"""
    paths = [directory / setting.directory / frame.ANSWERED for directory in (before, after)]
    tensors, equal, farthest, coarser = 0, 0, None, None
    if all(path.exists() for path in paths):
        one, other = (read_arrays(path) for path in paths)
        tensors = len({*one, *other})
        equal = sum(name in other and same_bits(array, other[name]) for name, array in one.items())
        floors = _read(before / oracle_name(setting.context.precision) / frame.FLOORS)["floors"]
        computed = [{case: frame.computed(answer) for case, answer in _by_case(each).items()} for each in (one, other)]
        farthest = _farthest(_held(*computed), floors, limits, setting.context.precision)
        if is_same and old.verdict.name is new.verdict.name is Verdict.REPRODUCED:
            coarser = _coarser(before / setting.directory, after / setting.directory, floors, limits, setting.context.precision)
    return ContextMoved(
        context=setting.context,
        threads=setting.threads,
        old=old.verdict,
        new=new.verdict,
        tensors=tensors,
        equal=equal,
        farthest=farthest,
        old_origin=old.origin,
        new_origin=new.origin,
        old_repeated=old.repeated,
        new_repeated=new.repeated,
        coarser=coarser,
    )


def _coarser(old: Path, new: Path, floors: Arrays, limits: Limits, precision: str) -> TensorDifference | None:
    """Return the tensor of NEW that is out the farthest by OLD's noise floors; None where all is within.

    NEW is right by the floors of its own program. Where that rounds more, as in a type of fewer digits, they are wider.
    """
    updates, of_old = _read(new / frame.UPDATES), _read(old / frame.UPDATES)
    held = {case: {**updates[case], "floors": _as_of(of_old[case], updates[case])} for case in updates if case in of_old}
    worst = worst_of(judge(differences_of(_read(new / frame.ANSWERS), floors, held), limits, precision))
    return worst.as_document if worst and worst.score > 1.0 else None


def _as_of(old: Arrays, new: Arrays) -> dict[str, Any]:
    """Return the floors of NEW's updates as OLD's rounding makes them, of gradients that are noise and so of another size."""
    found = {}
    for name, facts in new["floors"].items():
        allowed = old["floors"].get(name, facts)
        share = float(facts["norm"]) / float(allowed["norm"]) if float(allowed["norm"]) else 1.0
        found[name] = {**facts, "draws": [[share * float(distance), *line] for distance, *line in allowed["draws"]]}
    return found


def _by_case(arrays: Arrays) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        case, _, rest = name.partition("/")
        found.setdefault(case, {})[rest] = array
    return found


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
