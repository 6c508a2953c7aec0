"""From what the processes of a step measured to what is said: differences, a verdict for each context, and the origin."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from runners.contract.steps import frame
from runners.contract.steps.measure import MISSING, UNEXPECTED, Line
from vigil.documents.step import DirectionalDerivative, StepOrigin
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict, TensorDifference
from vigil.steps.limits import score_of
from vigil.terminal import some_of
from vigil.verify.distance import Difference, difference_of, document_of
from vigil.verify.floors import Floor, floor_of
from vigil.verify.limits import Limits

_NOWHERE = Floor(0.0, 0.0, (0.0, 0.0), (0.0, 0.0), 2)  # of a tensor that nobody expected
# Limits tell by a case's name whether it is of a whole program, or of a look into one.
_WHOLE, _LOOK = "step", "step/segments"
_UPDATED = ("params", "optimizer")


class Judged(NamedTuple):
    """A difference and its score: above 1 it is beyond its limit."""

    difference: Difference
    score: float

    @property
    def as_document(self) -> TensorDifference:
        return document_of(self.score, dataclasses.replace(self.difference, case=self.difference.case.split("/")[0]))


def differences_of(answers: Mapping[str, Any], floors: Mapping[str, Any], updates: Mapping[str, Any]) -> list[Difference]:
    """Return every difference of a context, in the order in which its tensors were computed."""
    found: list[Difference] = []
    for case, answer in answers.items():
        found += _of_case(case, answer["lines"], floors.get(case) or floors[frame.STEP])
        if case in updates:  # what follows from it may be out because of it
            found += _of_case(case, updates[case]["lines"], updates[case]["floors"])
    return found


def _of_case(case: str, lines: Mapping[str, Any], floors: Mapping[str, Any]) -> list[Difference]:
    look = _LOOK if case == frame.LOOK else _WHOLE
    found = []
    for tensor, line in lines.items():
        group, _, rest = tensor.partition("/")
        family, name = (rest.split("/")[0], rest) if group == "after" else (group, tensor)
        facts = floors.get(tensor)
        floor = floor_of([_numbers(each) for each in facts["draws"]]) if facts else _NOWHERE
        whole = line if isinstance(line, str) else _numbers(line)
        size = facts["size"] if facts else 0
        difference = difference_of(f"{case}/{look}", name, whole, floor, size=size, family=family)
        # What rounding moves by more than its size is zero but for rounding, as the gradient of a bias before batch norm.
        # There is no line through it: its distance says all.
        if facts and floor.distance > float(facts["norm"]):
            difference = dataclasses.replace(difference, slope_z=0.0, intercept_z=0.0)
        found.append(difference)
    return found


def _numbers(line: Sequence[float | str]) -> Line:
    distance, slope, intercept = map(float, line)
    return distance, slope, intercept


def judge(differences: Iterable[Difference], limits: Limits, precision: str) -> list[Judged]:
    """Return each difference with its score, in their order."""
    return [Judged(each, score_of(each, limits, precision)) for each in differences]


def verdict_of(judged: Sequence[Judged], overflow: Mapping[str, Any]) -> StepVerdict:
    """Return the verdict on the tensors of a context.

    Args:
        overflow: of the oracle's cases in which the program itself leaves its type's range, see `frame.OVERFLOW`.
    """
    out = [each for each in judged if each.score > 1.0]
    if not judged:
        return StepVerdict(name=Verdict.UNKNOWN, reason="no tensor was compared")
    if not out:
        return StepVerdict(name=Verdict.REPRODUCED, reason=f"all {len(judged):,} tensors within what rounding does")
    families = sorted({each.difference.tensor.split("/")[0] for each in out})
    if all(_is_overflow(each.difference, overflow) for each in out):
        first = overflow[_case_of(out[0].difference)]["text"]
        return StepVerdict(
            name=Verdict.UNSUPPORTED,
            reason=f"the program leaves the range of its type: {first}; {len(out):,} of {len(judged):,} tensors follow from it",
        )
    return StepVerdict(
        name=Verdict.REGRESSED,
        reason=f"{len(out):,} of {len(judged):,} tensors beyond what rounding does: {', '.join(families)}",
    )


def _case_of(difference: Difference) -> str:
    """Return the case whose expected tensors a difference was held to."""
    case = difference.case.split("/")[0]
    return frame.STEP if case == frame.REPEAT else case


def _is_overflow(difference: Difference, overflow: Mapping[str, Any]) -> bool:
    """Does a difference follow from a number that the program's own type cannot hold?

    What an optimizer makes of infinity does, too; a finite update that is wrong does not.
    """
    of_case = overflow.get(_case_of(difference))
    if of_case is None:
        return False
    if difference.tensor in of_case["tensors"]:
        return True
    is_infinite = difference.problem is not None and not difference.is_absent
    return is_infinite and (difference.tensor in of_case["infinite"] or difference.tensor.split("/")[0] in _UPDATED)


def origin_of(looked: Sequence[Judged], judged: Sequence[Judged]) -> StepOrigin | None:
    """Return where a step goes wrong: the first tensor inside it that is out; else the first of what it computes.

    Tensors inside stand in the order in which they were computed, so that all before the first agree. An operator that is in the
    program and not in its oracle, or the other way round, is an origin as well: it stands at the line that has it.
    A tensor that is right in the step itself is no origin of what is wrong there, whatever the look makes of it.
    """
    right = {each.difference.tensor for each in judged if _case_of(each.difference) == frame.STEP and each.score <= 1.0}
    out = [each.difference for each in looked if each.score > 1.0 and each.difference.tensor not in right]
    if out:
        strange = [each for each in out if each.problem in (MISSING, UNEXPECTED) and _place(each)]
        first = next((each for each in out if each not in strange), None)
        earliest = min(strange, key=lambda each: _place(each) or (), default=None)
        if earliest is not None and (first is None or not _place(first) or (_place(earliest) or ()) < (_place(first) or ())):
            first = earliest
        if first is not None:
            return _inside(first, looked)
    for each in judged:
        if each.score > 1.0:
            return _outside(each.difference)
    return None


def _place(difference: Difference) -> tuple[int, int] | None:
    """Return where in the order of the look a tensor was computed: phase and number; None of one that is not inside."""
    phase, _, rest = difference.tensor.partition("/")
    number = rest.partition("/")[0]
    if phase not in ("forward", "backward") or not number.isdigit():
        return None
    return ("forward", "backward").index(phase), int(number)


def _inside(out: Difference, looked: Sequence[Judged]) -> StepOrigin:
    phase, _, rest = out.tensor.partition("/")
    if phase not in ("forward", "backward"):
        return _outside(out)
    where = rest.partition("/")[2]
    module, _, side = where.rpartition("/")
    if side not in ("input", "output"):
        return StepOrigin(phase=phase, where=where, tensor=out.tensor, ratio=out.ratio)
    # A module's output is its own. Its input comes from what lies between it and the one before, and so do gradients of outputs.
    is_own = (side == "output") == (phase == "forward")
    if is_own:
        return StepOrigin(phase=phase, where=module, tensor=out.tensor, ratio=out.ratio)
    names = [each.difference.tensor for each in looked if each.difference.tensor.startswith(f"{phase}/")]
    earlier = names[: names.index(out.tensor)]
    before = earlier[-1].split("/", 2)[2].rpartition("/")[0] if earlier else None
    between = f"between {before} and {module}" if before and before != module else _beside(phase, module)
    return StepOrigin(phase=phase, where=between, tensor=out.tensor, ratio=out.ratio)


def _beside(phase: str, module: str) -> str:
    return f"{'before' if phase == 'forward' else 'after'} {module}"


def _outside(out: Difference) -> StepOrigin:
    group, _, name = out.tensor.partition("/")
    case = out.case.split("/")[0]
    module = name.rpartition("." if "." in name else "/")[0] or name
    if group == "gradients":
        return StepOrigin(phase="gradient", where=module, tensor=out.tensor, ratio=out.ratio)
    if group in _UPDATED:
        return StepOrigin(phase="update", where=f"the optimizer, {name}", tensor=out.tensor, ratio=out.ratio)
    if group == "stats":
        return StepOrigin(phase="statistics", where=module, tensor=out.tensor, ratio=out.ratio)
    phase = "evaluation" if case in (frame.EVALUATION, frame.SINGLE) else "forward"
    return StepOrigin(phase=phase, where="the loss" if group == "loss" else "the step", tensor=out.tensor, ratio=out.ratio)


def derivatives_of(found: Mapping[str, Mapping[str, Any]]) -> tuple[DirectionalDerivative, ...]:
    """Return what the oracle found of the gradients, as documents."""
    return tuple(
        DirectionalDerivative(
            parameter=name or None,
            central=float(each["central"]),
            gradients=float(each["gradients"]),
            error=float(each["error"]),
        )
        for name, each in found.items()
    )


def wrong_derivative(derivatives: Sequence[DirectionalDerivative]) -> str | None:
    """Return in words that gradients are not the derivative of the loss; None where they are."""
    if not derivatives or not derivatives[0].differs:
        return None
    whole = derivatives[0]
    names = [str(each.parameter) for each in derivatives[1:] if each.differs]
    where = f": {some_of(names, 3)}" if names else ""
    return (
        f"the gradients are not the derivative of the loss{where} (central differences {whole.central:.6g}, "
        f"gradients {whole.gradients:.6g}, along random signs). Where they stop on purpose, say STOPS_GRADIENT = True in the file"
    )


def worst_of(judged: Sequence[Judged]) -> Judged | None:
    """Return the tensor with the largest score."""
    return max(judged, key=lambda each: each.score, default=None)
