"""From tensors that are out to the first wrong one: the origin, and what merely inherits it.

First the layers are run alone (inspection.py). If all of them are right, the fault lies between or after them: in the update, in
the sum over devices, in a buffer that is used twice, or in what a compiler makes of layers together, which growing segments
narrow.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runners.contract.optimizers import COUNTER, Direction, Optimizer, clipped, decay_of, optimizer_of
from runners.contract.protocol.checkpoint import State
from vigil.documents.failure import Failure
from vigil.documents.verification import BrokenInvariant, InsideLook, Origin
from vigil.verify import trajectory
from vigil.verify.ask import Answers, Setting, ask, is_fresh, lines_of, states_of
from vigil.verify.distance import Difference, plain
from vigil.verify.golden import Golden
from vigil.verify.inspection import Inspection, arrays_of, differences_of, in_order, inside, line_of, look_at
from vigil.verify.limits import Limits
from vigil.verify.oracle.outline import Outline, StepPlace
from vigil.verify.standard_cases import FIRST_SCALE, LOSS_SCALE, REPEATS, TRAJECTORY, StandardCase, derived

# A layer this much nearer to its limit than the furthest one hardly counts beside it.
_HARDLY = 1e-3
# What may be chance explains nothing that is this much further out: a layer hands on about as many floors as it is off itself. An
# element that a sum over devices drops is 337 times beyond its limit.
_CHANCE = 1e-2
# A one-parameter explanation of an update must leave less than this part of what it explains.
_UNEXPLAINED = 0.05


@dataclasses.dataclass(frozen=True)
class Search:
    """What is searched: a context's answers, and which of their tensors are out. cases: all that were asked, in their order."""

    setting: Setting
    tape: Golden
    limits: Limits
    answers: Answers
    out: Sequence[Difference]
    on_event: Callable[[dict], None]
    cases: Sequence[StandardCase]

    @property
    def precision(self) -> str:
        return self.setting.context.precision

    @property
    def outline(self) -> Outline:
        return self.tape.outline

    @property
    def optimizer(self) -> Optimizer:
        return optimizer_of(self.tape.training)

    def case(self, name: str) -> StandardCase:
        return next(case for case in self.cases if case.name == name)

    def is_of_first_step(self, focus: StandardCase) -> bool:
        """Is nothing out but steps from step 0, and did the optimizer begin with this one?"""
        from_others = (each for each in self.out if self.case(each.case).state != focus.state)
        return is_fresh(focus, self.tape, self.setting.context) and not any(from_others)


@dataclasses.dataclass(frozen=True)
class Localisation:
    """All origins, the first of them first; tensors that only inherit; what looking at the program did to it."""

    origins: list[Origin]
    passengers: list[str]
    looks: list[InsideLook]
    remarks: list[str]
    failure: Failure | None = None


def make_origin(difference: Difference, place: StepPlace, *, remark: str | None = None, slope: float | None = None) -> Origin:
    """Return a tensor that is out as the origin, at a place."""
    return Origin(
        layer=place.layer,
        phase=place.phase,
        quantity=place.quantity,
        tensor=difference.tensor,
        case=difference.case,
        ratio=difference.ratio,
        slope=difference.slope if slope is None else slope,
        remark=difference.problem or "" if remark is None else remark,
    )


def localise(search: Search) -> Localisation:
    """Return the origin of the tensors that are out."""
    focus = choose_case(search)
    out = [each for each in search.out if each.case == focus.name]
    if any(each.is_absent for each in out):
        return _of_what_is_absent(search, focus, out)
    if focus.kind == "repeat":
        return _of_repetition(search, focus)
    if focus.kind == "trajectory":
        return _of_trajectory(search, focus)
    moved = [each for each in out if each.tensor.startswith(("stats/", "params/"))]
    if focus.kind == "predict" or (focus.kind == "alternate" and not moved):
        worst = max(out, key=lambda each: each.ratio)
        place = StepPlace("model", "evaluation", worst.tensor)
        return Localisation([make_origin(worst, place)], _passengers(search, focus, {worst.tensor}), [], [])
    if focus.kind == "alternate":  # what is evaluated after them inherits from statistics that are wrong
        out = moved
    if focus.kind == "choose":
        origins = [make_origin(each, search.outline.place(each.tensor)) for each in out]
        return Localisation(origins, [], [], ["nothing rounds here: every comparison must go as it is defined"])
    if _is_of_update(search, focus, out) and search.optimizer.witness is not None:
        return Localisation([_of_update(search, focus, out)], [], [], [])
    return _of_layers(search, focus, out)


def _is_of_update(search: Search, focus: StandardCase, out: Sequence[Difference]) -> bool:
    """Are parameters alone out after a step, or what is kept beside the gradient? That was right, if anything tells of it."""
    groups = {"params", *search.optimizer.slots} - {search.optimizer.witness}
    return focus.kind == "step" and all(each.tensor.split("/")[0] in groups for each in out)


def choose_case(search: Search) -> StandardCase:
    """Return the case to look into: the sharpest kind that is out, and there the one furthest over its limit."""
    order = {"step": 0, "accumulate": 1, "alternate": 2, "choose": 3, "predict": 4, "repeat": 5, "trajectory": 6}

    def key(difference: Difference) -> tuple:
        case = search.case(difference.case)
        # At step 0 the optimizer's state is zero, and another rule's update a larger learning rate.
        says_less = case.is_full, case.state == "init" and difference.tensor.startswith("params/")
        return (order[case.kind], says_less, -search.limits.score(difference, search.precision))

    return search.case(min(search.out, key=key).case)


def _of_what_is_absent(search: Search, focus: StandardCase, out: Sequence[Difference]) -> Localisation:
    """Return the first tensor that is missing or of another shape: whatever explains numbers would need it."""
    absent = [each for each in out if each.is_absent]
    # A gradient is what the optimizer's state tells: without that, it is the state that is not there.
    told = [each for each in absent if each.family != "parameter_gradient"] or absent
    if focus.kind in ("predict", "alternate"):
        first = told[0]
        place = StepPlace("model", "evaluation", first.tensor)
    else:
        by_name = {plain(each.tensor): each for each in reversed(told)}
        named = [dataclasses.replace(each, tensor=name) for name, each in by_name.items()]
        name = in_order(named, search.outline)[0].tensor
        first, place = by_name[name], search.outline.place(name)
    return Localisation([make_origin(first, place)], _passengers(search, focus, {first.tensor}), [], [])


def _of_layers(search: Search, focus: StandardCase, out: list[Difference]) -> Localisation:
    look = look_at(search.tape, focus, precision=search.precision)
    answers = _ask(search, "layers", [look])
    if answers.record.failure:
        return _of_the_first(search, focus, out, answers.record.failure)
    alone = differences_of(look, search.tape, answers.tensors[look.name], precision=search.precision)
    seen = [_looked(look, alone, search)]
    wrong, hardly = _wrong_in(search, look, alone)
    gradients = [each for each in out if each.tensor.startswith("parameter_gradient/")]
    if wrong:
        origins = _first_of_weight(search, wrong)
        if all(origin.layer != "loss" for origin in origins):
            # Besides the loss, no layer multiplies every gradient by one number: that is a second fault.
            origins = [*explain_scale(search, focus, gradients), *origins]
        origins, remarks = _of_sum_over_devices(search, look, origins)
        passengers = _passengers(search, focus, {origin.tensor for origin in origins})
        return Localisation(origins, passengers, seen, [*remarks, *hardly])
    remarks = [*hardly, "every other layer alone is right"] if hardly else ["every layer alone is right"]
    if _is_of_update(search, focus, out) and search.optimizer.witness is None:
        return Localisation([_of_update(search, focus, out)], [], seen, remarks)
    whole = look_at(search.tape, focus, cuts=(), precision=search.precision)
    answers = _ask(search, "tapped", [whole])
    if answers.record.failure:
        return Localisation([], [], seen, remarks, failure=answers.record.failure)
    tapped = differences_of(whole, search.tape, answers.tensors[whole.name], precision=search.precision)
    moved = moved_by_looking(search, focus, answers.tensors[whole.name])
    seen.append(_looked(whole, tapped, search, moved=moved))
    tapped_out = {each.tensor for each in _wrong_in(search, whole, tapped)[0]}
    # Clipping may be done at one state and not at another: at the first step alone it is no matter of that.
    explained = explain_clipping(search, focus, gradients)
    right = not any(name.startswith("parameter_gradient/") for name in tapped_out)
    if not explained and right and search.is_of_first_step(focus):
        remarks.append("the gradients of the program with its taps shown are right")
        origins = [explain_first_step(search, focus, out)]
        return Localisation(origins, _passengers(search, focus, {origins[0].tensor}), seen, remarks)
    # One number for all gradients first: those of some parameters are nearly multiples of the parameters, too.
    explained = explained or explain_scale(search, focus, gradients) or explain_decay(search, focus, gradients)
    if explained:
        return Localisation(explained, _passengers(search, focus, {each.tensor for each in explained}), seen, remarks)
    names = {each.tensor for each in gradients}
    if gradients and search.setting.context.devices > 1 and not names & tapped_out:
        remarks.append("each device's own contributions add up to the right gradient: it is lost where they are summed")
        places = [dataclasses.replace(search.outline.place(each.tensor), phase="all-reduce") for each in gradients]
        origins = [make_origin(each, place) for each, place in zip(gradients, places, strict=True)]
        origins.sort(key=lambda origin: -origin.ratio)
        return Localisation(origins, _passengers(search, focus, names), seen, remarks)
    if not tapped_out & {each.tensor for each in out}:
        remarks.append("with its taps looked at, the program is right: looking changes it")
    return _of_segments(search, focus, out, seen, remarks)


def _of_the_first(search: Search, focus: StandardCase, out: list[Difference], failure: Failure) -> Localisation:
    """Return what the untapped program alone says, when it could not be looked into."""
    first = in_order(out, search.outline)[0]
    remark = "the layers could not be looked at: this is the first tensor that is out in the untapped program"
    origin = make_origin(first, search.outline.place(first.tensor))
    return Localisation([origin], _passengers(search, focus, {first.tensor}), [], [remark], failure)


def _of_sum_over_devices(search: Search, look: Inspection, origins: list[Origin]) -> tuple[list[Origin], list[str]]:
    """Return the origins with what one device alone has right told apart: that is lost where devices' gradients are summed.

    Where one program is written for all devices, as in JAX, the sum over them is part of every layer.
    """
    suspects = {origin.tensor for origin in origins if origin.tensor.startswith("parameter_gradient/")}
    context = search.setting.context
    if context.devices == 1 or not suspects:
        return origins, []
    one_device = dataclasses.replace(search.setting, context=dataclasses.replace(context, devices=1, shards=None))
    answers = _ask(dataclasses.replace(search, setting=one_device), "one-device", [look])
    if answers.record.failure:
        return origins, [f"one device could not be looked at: {answers.record.failure.message}"]
    found = differences_of(look, search.tape, answers.tensors[look.name], precision=search.precision)
    right = suspects - {each.tensor for each in _wrong_in(search, look, found)[0]}
    if not right:
        return origins, []
    origins = [each.replace(phase="all-reduce") if each.tensor in right else each for each in origins]
    return origins, ["on one device the layer alone is right: it is lost where the devices' contributions are summed"]


def moved_by_looking(search: Search, focus: StandardCase, tapped: Mapping[str, np.ndarray]) -> float | None:
    """Return how far the gradients of the tapped program are from the untapped one's, in noise floors: the largest."""
    if focus.kind != "step":
        return None
    state, floors = search.tape.probes[focus.state].state, search.tape.floors[search.precision][focus.name]
    untapped = derived(search.tape.training, state, search.answers.tensors[focus.name])
    gradients = {name: np.asarray(tapped[name], np.float64) for name in tapped if name.startswith("parameter_gradient/")}
    # What a step's state tells of is what is left of them.
    left = clipped(search.tape.training["optimizer"], gradients)
    distances = [float(np.linalg.norm(left[name] - untapped[name])) / floors[name].distance for name in gradients]
    return max(distances)


def _of_segments(
    search: Search, focus: StandardCase, out: list[Difference], seen: list[InsideLook], remarks: list[str]
) -> Localisation:
    """Cut the model between blocks only, and let the first segment grow block by block until it shows the fault."""
    ends = search.outline.block_ends
    looks = [look_at(search.tape, focus, cuts=ends[first:], precision=search.precision) for first in range(len(ends))]
    looks = [dataclasses.replace(look, name=f"{look.name}-{index}") for index, look in enumerate(looks)]
    answers = _ask(search, "segments", looks)
    if answers.record.failure:
        return Localisation([], [], seen, remarks, failure=answers.record.failure)
    for number, look in enumerate(looks):
        found = differences_of(look, search.tape, answers.tensors[look.name], precision=search.precision)
        seen.append(_looked(look, found, search))
        wrong, _ = _wrong_in(search, look, found)
        if wrong:
            before = ends[number - 1] if number else "images"
            remarks.append(f"seen once everything up to {ends[number]} is one program (not when it is cut at {before})")
            origins = _one_a_layer([make_origin(each, search.outline.place(each.tensor)) for each in wrong])
            return Localisation(origins, _passengers(search, focus, {each.tensor for each in origins}), seen, remarks)
    remarks.append("no segment shows it: the origin is the first tensor out in the untapped program")
    first = in_order(out, search.outline)[0]
    return Localisation(
        [make_origin(first, search.outline.place(first.tensor))], _passengers(search, focus, {first.tensor}), seen, remarks
    )


def _of_repetition(search: Search, focus: StandardCase) -> Localisation:
    """The same call gave something else once: run the layers as often, and see whose output changes."""
    look = look_at(search.tape, focus, precision=search.precision, times=REPEATS)
    answers = _ask(search, "repetition", [look])
    if answers.record.failure:
        return Localisation([], [], [], [], failure=answers.record.failure)
    found = answers.tensors[look.name]
    worst = max((each for each in search.out if each.case == focus.name), key=lambda each: each.ratio)
    remarks: list[str] = []
    for tap in look.leaves:
        calls = found[f"changed/{tap}"]
        if len(calls):
            place = search.outline.place(f"output/{tap}")
            place = dataclasses.replace(place, phase="repetition")
            remark = f"call {int(calls[0]) + 1} of {REPEATS} on the same input has another output"
            changed = dataclasses.replace(worst, case=look.name, tensor=f"output/{tap}")
            origin = make_origin(changed, place, remark=remark)
            return Localisation([origin], _passengers(search, focus, {worst.tensor}), [], remarks)
    remarks.append("every layer alone repeats itself")
    origin = make_origin(worst, dataclasses.replace(search.outline.place(plain(worst.tensor)), phase="repetition"))
    return Localisation([origin], _passengers(search, focus, {worst.tensor}), [], remarks)


def _of_trajectory(search: Search, focus: StandardCase) -> Localisation:
    """Steps that follow each other were wrong at one time: find the first that is, and then what is wrong in it.

    All cases are put once more, so that every call has its number again, and the states within the first piece that is out are
    kept after each step. A layer whose output changes among as many calls is the origin; else it is what that step shows.
    """
    precision, observed = search.precision, search.answers.tensors[focus.name]
    floors = search.tape.floors[precision][focus.name]
    pieces = trajectory.by_piece(focus, search.tape, observed, floors, TRAJECTORY, precision=precision)
    # What was right at first, and wrong when it was taken again, comes after all that was wrong at first.
    first = min(
        (each for each in pieces if _is_out(search, each)),
        key=lambda each: (each.tensor.startswith("again/"), trajectory.step_of(each.tensor)),
    )
    last, n = trajectory.step_of(first.tensor), TRAJECTORY[-1]
    begins = max(step for step in TRAJECTORY if step < last)
    remark, wrong = f"first seen in steps {begins + 1} to {last} of {n}", [first]
    if first.tensor.startswith("again/"):
        remark = f"steps {begins + 1} to {last} of {n} end otherwise when they are taken again"
    elif found := _first_wrong_step(search, focus, begins, last):
        wrong, before, after = found
        remark = f"first seen in step {trajectory.step_of(wrong[0].tensor)} of {n}"
        if search.optimizer.witness is not None and all(plain(each.tensor).startswith("params/") for each in wrong):
            origin = explain_update(search, before, after, focus.learning_rate, wrong)
            origin = origin.replace(phase="repetition", remark="; ".join(filter(None, (remark, origin.remark))))
            return Localisation([origin], _passengers(search, focus, {origin.tensor}), [], [])
    look = look_at(search.tape, search.case(f"{focus.state}/margin"), precision=search.precision, times=n + REPEATS)
    layers = _ask(search, "repetition", [look])
    if layers.record.failure:
        return Localisation([], [], [], [remark], failure=layers.record.failure)
    for tap in look.leaves:
        calls = layers.tensors[look.name][f"changed/{tap}"]
        if len(calls):
            place = dataclasses.replace(search.outline.place(f"output/{tap}"), phase="repetition")
            changed = dataclasses.replace(first, case=look.name, tensor=f"output/{tap}")
            remark += f"; alone, call {int(calls[0]) + 1} of {look.times} on the same input has another output"
            return Localisation([make_origin(changed, place, remark=remark)], _passengers(search, focus, {first.tensor}), [], [])
    named = {plain(each.tensor): each for each in wrong}
    shown = in_order([dataclasses.replace(each, tensor=name) for name, each in named.items()], search.outline)[0].tensor
    place = dataclasses.replace(search.outline.place(shown), phase="repetition")
    origin = make_origin(named[shown], place, remark=f"{remark}; every layer's output alone repeats itself")
    return Localisation([origin], _passengers(search, focus, {origin.tensor}), [], [])


def _first_wrong_step(
    search: Search, focus: StandardCase, begins: int, last: int
) -> tuple[list[Difference], State, State] | None:
    """Return what is out in the first wrong step of a piece, with the states before and after it; None where none shows again."""
    asked = search.cases[: 1 + search.cases.index(focus)]
    lines = lines_of(search.tape, asked, search.setting.context)
    kept = range(begins, last + 1)
    lines[-1] |= {"kept": list(kept), "again": []}
    setting = dataclasses.replace(search.setting, directory=search.setting.directory.parent / "piece")
    answers = ask(setting, search.tape, lines, more=states_of(search.tape, asked), on_event=search.on_event)
    if answers.record.failure:
        return None
    observed, tape, precision = answers.tensors[focus.name], search.tape, search.precision
    states = {step: trajectory.after(observed, step, tape.probes[focus.state].state) for step in kept}
    taken = {step: trajectory.take(focus, tape, states[step], step, step + 1, precision=precision) for step in kept[:-1]}
    floors = trajectory.make_floors(focus, tape, ((states[step], piece) for step, piece in taken.items()), precision=precision)
    singles = trajectory.by_piece(focus, tape, observed, floors, kept, precision=precision)
    out = [each for each in singles if _is_out(search, each)]
    if not out:
        return None
    step = min(trajectory.step_of(each.tensor) for each in out)
    return [each for each in out if trajectory.step_of(each.tensor) == step], states[step - 1], states[step]


def _ask(search: Search, name: str, looks: Sequence[Inspection]) -> Answers:
    setting = dataclasses.replace(search.setting, directory=search.setting.directory.parent / name)
    more: State = {}
    for look in looks:
        more |= arrays_of(look)
    lines = [line_of(look, setting.context) for look in looks]
    return ask(setting, search.tape, lines, more=more, on_event=search.on_event)


def _looked(look: Inspection, found: Sequence[Difference], search: Search, **facts: float | None) -> InsideLook:
    worst = max(found, key=lambda each: search.limits.score(each, search.precision))
    out = sum(_is_out(search, each) for each in found)
    return InsideLook(name=look.name, tensors=len(found), out=out, worst=worst.tensor, ratio=worst.ratio, **facts)


def _is_out(search: Search, difference: Difference) -> bool:
    return search.limits.score(difference, search.precision) > 1.0


def _is_certain(search: Search, difference: Difference) -> bool:
    """Is a tensor out by the limits of a verdict, too, and not by the narrower ones of a search alone?"""
    return search.limits.score(difference, search.precision, is_verdict=True) > 1.0


def _wrong_in(search: Search, look: Inspection, found: Sequence[Difference]) -> tuple[list[Difference], list[str]]:
    """Return what is out in a look, in the order of a step, and a remark on each tensor that is left out as chance.

    Limits are measured on some processors, and a clean layer of another may be a little beyond the narrow ones. It is no origin
    beside what is far out, in the look or in the step that it looks into. Layers alone are wrong independently: one that is out
    by the limits of a verdict, too, is. Where layers are together, it would have to explain what is out.
    """
    is_alone = len(look.cuts) == len(look.leaves)
    scores = {each.tensor: search.limits.score(each, search.precision) for each in found}
    untapped = (search.limits.score(each, search.precision) for each in search.out if each.case == look.case.name)
    furthest = max((*untapped, *scores.values()))
    counts = is_alone or math.isinf(furthest)  # what is not finite compares with nothing
    wrong, remarks = [], []
    for each in in_order([each for each in found if scores[each.tensor] > 1.0], search.outline):
        score = scores[each.tensor]
        if score >= _CHANCE * furthest or (counts and _is_certain(search, each)):
            wrong.append(each)
            continue
        place = search.outline.place(each.tensor)
        remarks.append(
            f"{place.layer}, {place.phase}, {place.quantity} may be chance ({score:.2g} times what is usual): it is no origin "
            f"beside what is {furthest / score:,.0f} times further out"
        )
    return wrong, remarks


def _one_a_layer(origins: list[Origin]) -> list[Origin]:
    """Return the first origin of each layer: what a layer does wrong forward, its gradients show as well."""
    first: dict[str, Origin] = {}
    for origin in origins:
        first.setdefault(origin.layer, origin)
    return list(first.values())


def _first_of_weight(search: Search, wrong: Sequence[Difference]) -> list[Origin]:
    """Return the origins of layers that were run alone, in the order of a step; those that hardly count beside others come last.

    Such layers are wrong independently of each other: one just beyond its limit must not hide one that is far beyond, nor one
    that may be chance one that is not.
    """
    furthest: dict[str, float] = {}
    for each in wrong:
        layer = search.outline.place(each.tensor).layer
        furthest[layer] = max(furthest.get(layer, 0.0), search.limits.score(each, search.precision))
    certain = {each.tensor for each in wrong if _is_certain(search, each)}
    origins = _one_a_layer([make_origin(each, search.outline.place(each.tensor)) for each in wrong])
    origins = [origin.replace(is_certain=origin.tensor in certain) for origin in origins]
    least = _HARDLY * max(furthest.values())
    return sorted(origins, key=lambda origin: (not origin.is_certain, furthest[origin.layer] < least))


def _passengers(search: Search, focus: StandardCase, origins: set[str]) -> list[str]:
    return [each.tensor for each in search.out if each.case == focus.name and each.tensor not in origins]


def origins_of_scaler(broken: Sequence[BrokenInvariant]) -> list[Origin]:
    """Return the loss scale as the origin of its broken invariants, with the first of them; none of none."""
    return [
        Origin(
            layer="optimizer",
            phase="update",
            quantity="loss scale",
            tensor=each.tensor,
            case=each.case,
            ratio=math.inf,
            slope=math.nan,
            remark=each.what,
        )
        for each in broken[:1]
    ]


def _states(search: Search, focus: StandardCase) -> tuple[State, State, float]:
    """Return the states before and after a step, and its learning rate."""
    return search.tape.probes[focus.state].state, search.answers.tensors[focus.name], focus.learning_rate


def _of_update(search: Search, focus: StandardCase, out: Sequence[Difference]) -> Origin:
    if search.is_of_first_step(focus):
        return explain_first_step(search, focus, out)
    return explain_update(search, *_states(search, focus), out)


def explain_first_step(search: Search, focus: StandardCase, out: Sequence[Difference]) -> Origin:
    """Return what is wrong in the step of a fresh optimizer alone, with how far it moves the parameters."""
    before, after, _ = _states(search, focus)
    names = [name for name in before if name.startswith("params/")]
    taken, right = (_joined([side[name] - before[name] for name in names]) for side in (after, search.tape.expected(focus)))
    slope = float(taken @ right / (right @ right))
    worst = max(out, key=lambda each: search.limits.score(each, search.precision))
    remark = f"steps from later states are right; that of a fresh optimizer goes {slope:.6g} times as far as is due"
    return make_origin(worst, StepPlace("optimizer", "update", "first step"), slope=slope, remark=remark)


def explain_update(search: Search, before: State, after: State, learning_rate: float, out: Sequence[Difference]) -> Origin:
    """Return what makes the parameters wrong although what the optimizer keeps is right.

    parameter -= learning_rate * direction: another rate shows as one slope in every tensor; a rule that is easily mistaken for
    the recipe's, as a direction that leaves nothing over.
    """
    optimizer, rule = search.optimizer, search.tape.training["optimizer"]
    before, after = ({name: np.asarray(value, np.float64) for name, value in tensors.items()} for tensors in (before, after))
    kept = [each for each in out if not plain(each.tensor).startswith("params/")]
    # What the optimizer keeps comes before the step by it.
    worst = max(kept or out, key=lambda each: search.limits.score(each, search.precision))
    own = search.outline.place(plain(worst.tensor))
    if optimizer.witness is None or kept:
        return make_origin(worst, own)
    slot = f"{optimizer.witness}/"
    parameters = [name.removeprefix(slot) for name in after if name.startswith(slot)]
    taken = _joined([(before[f"params/{name}"] - after[f"params/{name}"]) / learning_rate for name in parameters])

    steps = int(after[COUNTER]) if optimizer.counts_steps else 0

    def along(direction: Direction) -> np.ndarray:
        parts = []
        for name in parameters:
            earlier, later = ({slot: state[f"{slot}/{name}"] for slot in optimizer.slots} for state in (before, after))
            parts.append(direction(rule, before[f"params/{name}"], earlier, later, steps))
        return _joined(parts)

    right = along(optimizer.direction)
    slope = float(taken @ right / (right @ right))
    if _is_explained(taken - slope * right, taken - right):
        given = f"the learning rate {learning_rate:g} gives: the rate used was {slope * learning_rate:.6g}"
        remark = f"the step is {slope:.6g} times what {given}"
        return make_origin(worst, StepPlace("optimizer", "update", "learning rate"), slope=slope, remark=remark)
    for other in optimizer.others:
        if _is_explained(taken - along(other.direction), taken - right):
            return make_origin(worst, StepPlace("optimizer", "update", other.quantity), remark=other.remark)
    return make_origin(worst, own)


def explain_decay(search: Search, focus: StandardCase, out: Sequence[Difference]) -> list[Origin]:
    """Return the parameters whose gradient is off by a share of the parameter itself: their weight decay is another one.

    What the optimizer's state tells as the gradient is that plus all that was added wrongly, where decay is a part of it.
    """
    if focus.kind not in ("step", "accumulate") or not search.optimizer.decays_gradient:
        return []
    state, expected, found = search.tape.probes[focus.state].state, *_gradients(search, focus)
    origins = []
    for each in out:
        off = _joined([found[each.tensor]]) - _joined([expected[each.tensor]])
        parameter = state[each.tensor.replace("parameter_gradient", "params")].ravel()
        share = float(off @ parameter / (parameter @ parameter)) if parameter.any() else 0.0
        if share and _is_explained(off - share * parameter, off):
            decay = decay_of(search.tape.training["optimizer"], expected[each.tensor])
            place = dataclasses.replace(search.outline.place(each.tensor), phase="update", quantity="weight decay")
            remark = f"the parameter is decayed by {decay + share:.3g} where the recipe says {decay:g}"
            origins.append(make_origin(each, place, remark=remark))
    return origins


def explain_clipping(search: Search, focus: StandardCase, out: Sequence[Difference]) -> list[Origin]:
    """Return that gradients are clipped otherwise than the recipe says, if each of them is a multiple of what it should be.

    One multiple of all may be a loss scale, too: it is clipping where it is the one that clipping all together would have undone,
    or where gradients are shortened that are short enough.
    """
    rule = search.tape.training["optimizer"]
    if not out or focus.kind != "step" or not rule.get("clipping"):
        return []
    expected, found = _gradients(search, focus)
    whole = {name: array for name, array in inside(search.tape, focus).items() if name.startswith("parameter_gradient/")}
    names = [each.tensor for each in out]
    slopes, explained = [], True
    for name in names:
        right, wrong = (_joined([side[name]]) for side in (expected, found))
        slopes.append(float(wrong @ right / (right @ right)))
        explained &= _is_explained(wrong - slopes[-1] * right, wrong - right)
    if not explained:
        return []
    length = math.sqrt(sum(float(np.square(array).sum()) for array in whole.values()))
    asked = min(1.0, rule["clipping"]["threshold"] / (length + rule["clipping"]["epsilon"]))
    low, high = min(slopes), max(slopes)
    if math.isclose(low, high, rel_tol=_UNEXPLAINED):
        if not (math.isclose(low * asked, 1.0, rel_tol=_UNEXPLAINED) or (asked == 1.0 and high < 1.0)):
            return []
        remark = f"gradients {length:.4g} long together are left times {low * asked:.4g}, where {asked:.4g} was asked for"
    else:
        remark = f"gradients are {low:.4g} to {high:.4g} times what clipping all of them together leaves"
    worst = max(out, key=lambda each: each.ratio)
    return [make_origin(worst, StepPlace("optimizer", "update", "clipping"), remark=remark)]


def explain_scale(search: Search, focus: StandardCase, out: Sequence[Difference]) -> list[Origin]:
    """Return the one number that explains every gradient, if there is one: a loss scale that was kept, or a wrong mean."""
    if not out or focus.kind not in ("step", "accumulate"):
        return []
    state = search.tape.probes[focus.state].state
    rule, couples = search.tape.training["optimizer"], search.optimizer.decays_gradient
    parameters = {each.tensor: state[each.tensor.replace("parameter_gradient", "params")] for each in out}
    decays = {name: (decay_of(rule, value) if couples else 0.0) * value.ravel() for name, value in parameters.items()}
    nothing = dict.fromkeys(decays, 0.0)
    slopes = (_common_slope(out, *_gradients(search, focus), decayed) for decayed in (nothing, decays))
    slope = next((slope for slope in slopes if slope is not None), None)
    if slope is None:
        return []
    worst = max(out, key=lambda each: each.ratio)
    remark = f"every gradient is {slope:.6g} times what it should be"
    if any(math.isclose(slope, scale, rel_tol=0.02) for scale in (LOSS_SCALE, FIRST_SCALE)):
        remark += ", the loss scale: it was never divided out"
    return [make_origin(worst, StepPlace("optimizer", "update", "loss scale"), slope=slope, remark=remark)]


def _gradients(search: Search, focus: StandardCase) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    """Return what a step's tensors should be and what they are, gradients as the optimizer's state tells of them."""
    state = search.tape.probes[focus.state].state
    return search.tape.expected(focus), derived(search.tape.training, state, search.answers.tensors[focus.name])


def _common_slope(
    out: Sequence[Difference], expected: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray], decayed: Mapping[str, Any]
) -> float | None:
    """Return the one number that makes every parameter gradient what it is, or None where there is none.

    decayed: what weight decay adds to each gradient. It is multiplied with the gradient where it is part of the loss.
    """
    if len(out) < sum(name.startswith("parameter_gradient/") for name in expected):
        return None
    right, wrong = ([_joined([side[each.tensor]]) + decayed[each.tensor] for each in out] for side in (expected, found))
    slope = float(_joined(wrong) @ _joined(right) / (_joined(right) @ _joined(right)))
    # Under low precision the gradient that was multiplied is itself that much off, several percent of its norm.
    rounding = [abs(slope) * each.floor.distance if each.floor else 0.0 for each in out]
    pairs = zip(right, wrong, rounding, strict=True)
    explained = all(_is_explained(wrong - slope * right, wrong - right, rounding=noise) for right, wrong, noise in pairs)
    return slope if explained else None


def _is_explained(rest: np.ndarray, whole: np.ndarray, *, rounding: float = 0.0) -> bool:
    """Is what an explanation leaves little beside what it explains? Or what rounding leaves, if that is not most of it anyway?"""
    left, size = np.linalg.norm(rest), np.linalg.norm(whole)
    return bool(left <= _UNEXPLAINED * size or left <= 2.0 * rounding <= 0.5 * size)


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.asarray(array, np.float64).ravel() for array in arrays])
