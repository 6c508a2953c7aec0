"""From tensors that are out to the first wrong one: the origin, and what merely inherits it.

First the layers are run alone (layers.py). If all of them are right, the fault lies between or after them: in the update, in
the sum over devices, in a buffer that is used twice, or in what a compiler makes of layers together, which growing segments
narrow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runners.contract.protocol.checkpoint import State
from vigil.verify.ask import Answers, ask
from vigil.verify.cases import REPEATS, Case, derived
from vigil.verify.compare import Difference
from vigil.verify.explain import explain_decay, explain_scale, explain_update
from vigil.verify.layers import Look, Place, arrays_of, differences_of, in_order, line_of, look_at, place_of
from vigil.verify.limits import family
from vigil.verify.oracle import step as oracle
from vigil.verify.search import Origin, Search, make_origin

# A layer this much nearer to its limit than the furthest one hardly counts beside it.
_HARDLY = 1e-3
# Where blocks end, besides the second ReLU of one.
_ENDS = (
    *("stem.relu", "pool", "features", "logits"),
    *(f"stage{stage}.relu1" for stage in (2, 3, 4)),
    *("fpn.output3", "fpn.output4", "rpn.objectness", "rpn.deltas", "box.hidden", "mask.up_relu"),
)


@dataclasses.dataclass(frozen=True)
class Localisation:
    """All origins, the first of them first; tensors that only inherit; what looking at the program did to it."""

    origins: list[Origin]
    passengers: list[str]
    looks: list[dict[str, Any]]
    remarks: list[str]
    failure: dict[str, Any] | None = None


def localise(search: Search) -> Localisation:
    """Return the origin of the tensors that are out."""
    focus = choose_case(search)
    out = [each for each in search.out if each.case == focus.name]
    if any(each.is_absent for each in out):
        return _of_what_is_absent(search, focus, out)
    if focus.kind == "repeat":
        return _of_repetition(search, focus)
    moved = [each for each in out if each.tensor.startswith(("stats/", "params/"))]
    if focus.kind == "predict" or (focus.kind == "alternate" and not moved):
        worst = max(out, key=lambda each: each.ratio)
        place = Place("model", "evaluation", worst.tensor)
        return Localisation([make_origin(worst, place)], _passengers(search, focus, {worst.tensor}), [], [])
    if focus.kind == "alternate":  # what is evaluated after them inherits from statistics that are wrong
        out = moved
    if focus.kind == "choose":
        origins = [make_origin(each, place_of(each.tensor, {})) for each in out]
        return Localisation(origins, [], [], ["nothing rounds here: every comparison must go as it is defined"])
    if all(each.tensor.startswith("params/") for each in out) and focus.kind == "step":
        return Localisation([explain_update(search, focus, out)], [], [], [])
    return _of_layers(search, focus, out)


def choose_case(search: Search) -> Case:
    """Return the case to look into: the sharpest kind that is out, and there the one furthest over its limit."""
    order = {"step": 0, "accumulate": 1, "alternate": 2, "choose": 3, "predict": 4, "repeat": 5}

    def key(difference: Difference) -> tuple:
        case = search.case(difference.case)
        # At step 0 the momentum is zero, and Nesterov's update a larger learning rate.
        says_less = case.is_full, case.state == "init" and difference.tensor.startswith("params/")
        return (order[case.kind], says_less, -search.limits.score(difference, search.precision))

    return search.case(min(search.out, key=key).case)


def _of_what_is_absent(search: Search, focus: Case, out: Sequence[Difference]) -> Localisation:
    """Return the first tensor that is missing or of another shape: whatever explains numbers would need it."""
    absent = [each for each in out if each.is_absent]
    # A gradient is what its momentum buffer tells: without that, the buffer is what is not there.
    told = [each for each in absent if family(each.tensor) != "parameter_gradient"] or absent
    if focus.kind in ("predict", "alternate"):
        first = told[0]
        place = Place("model", "evaluation", first.tensor)
    else:
        readers, by_name = search.readers, {_plain(each.tensor): each for each in reversed(told)}
        named = [dataclasses.replace(each, tensor=name) for name, each in by_name.items()]
        name = in_order(named, list(readers), readers)[0].tensor
        first, place = by_name[name], place_of(name, readers)
    return Localisation([make_origin(first, place)], _passengers(search, focus, {first.tensor}), [], [])


def _of_layers(search: Search, focus: Case, out: list[Difference]) -> Localisation:
    look = look_at(search.tape, focus, precision=search.precision)
    answers = _ask(search, "layers", [look])
    if answers.record["failure"]:
        return _of_the_first(search, focus, out, answers.record["failure"])
    alone = differences_of(look, search.tape, answers.tensors[look.name], precision=search.precision)
    seen = [_looked(look, alone, search)]
    readers, taps = search.readers, list(look.leaves)
    wrong = in_order([each for each in alone if _is_out(search, each)], taps, readers)
    gradients = [each for each in out if each.tensor.startswith("parameter_gradient/")]
    if wrong:
        origins = _first_of_weight(search, wrong, readers)
        if all(origin.place.layer != "loss" for origin in origins):
            # Besides the loss, no layer multiplies every gradient by one number: that is a second fault.
            origins = [*explain_scale(search, focus, gradients), *origins]
        origins, remarks = _of_sum_over_devices(search, look, origins)
        return Localisation(origins, _passengers(search, focus, {origin.tensor for origin in origins}), seen, remarks)
    remarks = ["every layer alone is right"]
    whole = look_at(search.tape, focus, cuts=(), precision=search.precision)
    answers = _ask(search, "tapped", [whole])
    if answers.record["failure"]:
        return Localisation([], [], seen, remarks, failure=answers.record["failure"])
    tapped = differences_of(whole, search.tape, answers.tensors[whole.name], precision=search.precision)
    moved = moved_by_looking(search, focus, answers.tensors[whole.name])
    seen.append({**_looked(whole, tapped, search), "moved": moved})
    tapped_out = {each.tensor for each in tapped if _is_out(search, each)}
    explained = explain_decay(search, focus, gradients) or explain_scale(search, focus, gradients)
    if explained:
        return Localisation(explained, _passengers(search, focus, {each.tensor for each in explained}), seen, remarks)
    names = {each.tensor for each in gradients}
    if gradients and search.setting.context.devices > 1 and not names & tapped_out:
        remarks.append("each device's own contributions add up to the right gradient: it is lost where they are summed")
        places = [dataclasses.replace(place_of(each.tensor, readers), phase="all-reduce") for each in gradients]
        origins = [make_origin(each, place) for each, place in zip(gradients, places, strict=True)]
        origins.sort(key=lambda origin: -origin.ratio)
        return Localisation(origins, _passengers(search, focus, names), seen, remarks)
    if not tapped_out & {each.tensor for each in out}:
        remarks.append("with its taps looked at, the program is right: looking changes it")
    return _of_segments(search, focus, out, seen, remarks)


def _of_the_first(search: Search, focus: Case, out: list[Difference], failure: dict[str, Any]) -> Localisation:
    """Return what the untapped program alone says, when it could not be looked into."""
    readers = search.readers
    first = in_order(out, list(readers), readers)[0]
    remark = "the layers could not be looked at: this is the first tensor that is out in the untapped program"
    origin = make_origin(first, place_of(first.tensor, readers))
    return Localisation([origin], _passengers(search, focus, {first.tensor}), [], [remark], failure)


def _of_sum_over_devices(search: Search, look: Look, origins: list[Origin]) -> tuple[list[Origin], list[str]]:
    """Return the origins with what one device alone has right told apart: that is lost where devices' gradients are summed.

    Where one program is written for all devices, as in JAX, the sum over them is part of every layer.
    """
    suspects = {origin.tensor for origin in origins if origin.tensor.startswith("parameter_gradient/")}
    context = search.setting.context
    if context.devices == 1 or not suspects:
        return origins, []
    one_device = dataclasses.replace(search.setting, context=dataclasses.replace(context, devices=1, shards=None))
    answers = _ask(dataclasses.replace(search, setting=one_device), "one-device", [look])
    if answers.record["failure"]:
        return origins, [f"one device could not be looked at: {answers.record['failure']['message']}"]
    found = differences_of(look, search.tape, answers.tensors[look.name], precision=search.precision)
    right = suspects - {each.tensor for each in found if _is_out(search, each)}
    if not right:
        return origins, []
    told = [
        dataclasses.replace(each, place=dataclasses.replace(each.place, phase="all-reduce")) if each.tensor in right else each
        for each in origins
    ]
    return told, ["on one device the layer alone is right: it is lost where the devices' contributions are summed"]


def moved_by_looking(search: Search, focus: Case, tapped: Mapping[str, np.ndarray]) -> float | None:
    """Return how far the gradients of the tapped program are from the untapped one's, in noise floors: the largest."""
    if focus.kind != "step":
        return None
    state, floors = search.tape.probes[focus.state].state, search.tape.floors[search.precision][focus.name]
    untapped = derived(search.tape.training, state, search.answers.tensors[focus.name])
    distances = [
        float(np.linalg.norm(np.asarray(tapped[name], np.float64) - untapped[name])) / floors[name].distance
        for name in tapped
        if name.startswith("parameter_gradient/")
    ]
    return max(distances)


def _of_segments(search: Search, focus: Case, out: list[Difference], seen: list, remarks: list[str]) -> Localisation:
    """Cut the model between blocks only, and let the first segment grow block by block until it shows the fault."""
    model = search.tape.training["model"]
    taps = oracle.MODELS[model["name"]].taps(model)
    ends = [tap for tap in taps if tap.endswith("relu2") or tap in _ENDS]
    looks = [look_at(search.tape, focus, cuts=ends[first:], precision=search.precision) for first in range(len(ends))]
    looks = [dataclasses.replace(look, name=f"{look.name}-{index}") for index, look in enumerate(looks)]
    answers = _ask(search, "segments", looks)
    if answers.record["failure"]:
        return Localisation([], [], seen, remarks, failure=answers.record["failure"])
    readers = search.readers
    for look, first in zip(looks, range(len(ends)), strict=True):
        found = differences_of(look, search.tape, answers.tensors[look.name], precision=search.precision)
        seen.append(_looked(look, found, search))
        wrong = in_order([each for each in found if _is_out(search, each)], taps, readers)
        if wrong:
            before = ends[first - 1] if first else "images"
            remarks.append(f"seen once everything up to {ends[first]} is one program (not when it is cut at {before})")
            origins = _one_a_layer([make_origin(each, place_of(each.tensor, readers)) for each in wrong])
            return Localisation(origins, _passengers(search, focus, {each.tensor for each in origins}), seen, remarks)
    remarks.append("no segment shows it: the origin is the first tensor out in the untapped program")
    first = in_order(out, taps, readers)[0]
    return Localisation(
        [make_origin(first, place_of(first.tensor, readers))], _passengers(search, focus, {first.tensor}), seen, remarks
    )


def _of_repetition(search: Search, focus: Case) -> Localisation:
    """The same call gave something else once: run the layers as often, and see whose output changes."""
    look = look_at(search.tape, focus, precision=search.precision, times=REPEATS)
    answers = _ask(search, "repetition", [look])
    if answers.record["failure"]:
        return Localisation([], [], [], [], failure=answers.record["failure"])
    found = answers.tensors[look.name]
    worst = max((each for each in search.out if each.case == focus.name), key=lambda each: each.ratio)
    remarks = []
    for tap in look.leaves:
        calls = found[f"changed/{tap}"]
        if len(calls):
            place = place_of(f"output/{tap}", search.readers)
            place = dataclasses.replace(place, phase="repetition")
            remark = f"call {int(calls[0]) + 1} of {REPEATS} on the same input has another output"
            origin = Origin(place, f"output/{tap}", look.name, worst.ratio, worst.slope, remark)
            return Localisation([origin], _passengers(search, focus, {worst.tensor}), [], remarks)
    remarks.append("every layer alone repeats itself")
    origin = make_origin(worst, dataclasses.replace(place_of(_plain(worst.tensor), search.readers), phase="repetition"))
    return Localisation([origin], _passengers(search, focus, {worst.tensor}), [], remarks)


def _ask(search: Search, name: str, looks: Sequence[Look]) -> Answers:
    setting = dataclasses.replace(search.setting, directory=search.setting.directory.parent / name)
    more: State = {}
    for look in looks:
        more |= arrays_of(look)
    lines = [line_of(look, setting.context) for look in looks]
    return ask(setting, search.tape, lines, more=more, on_event=search.on_event)


def _looked(look: Look, found: Sequence[Difference], search: Search) -> dict[str, Any]:
    worst = max(found, key=lambda each: search.limits.score(each, search.precision))
    out = sum(_is_out(search, each) for each in found)
    return {"name": look.name, "tensors": len(found), "out": out, "worst": worst.tensor, "ratio": worst.ratio}


def _is_out(search: Search, difference: Difference) -> bool:
    return search.limits.score(difference, search.precision) > 1.0


def _one_a_layer(origins: list[Origin]) -> list[Origin]:
    """Return the first origin of each layer: what a layer does wrong forward, its gradients show as well."""
    first: dict[str, Origin] = {}
    for origin in origins:
        first.setdefault(origin.place.layer, origin)
    return list(first.values())


def _first_of_weight(search: Search, wrong: Sequence[Difference], readers: Mapping[str, Sequence[str]]) -> list[Origin]:
    """Return the origins of layers that were run alone, in the order of a step; those that hardly count beside others come last.

    Such layers are wrong independently of each other: one just beyond its limit must not hide one that is far beyond, nor one
    that may be chance one that is not.
    """
    furthest: dict[str, float] = {}
    for each in wrong:
        layer = place_of(each.tensor, readers).layer
        furthest[layer] = max(furthest.get(layer, 0.0), search.limits.score(each, search.precision))
    certain = {each.tensor for each in wrong if search.limits.score(each, search.precision, is_verdict=True) > 1.0}
    origins = _one_a_layer([make_origin(each, place_of(each.tensor, readers)) for each in wrong])
    origins = [dataclasses.replace(origin, is_certain=origin.tensor in certain) for origin in origins]
    least = _HARDLY * max(furthest.values())
    return sorted(origins, key=lambda origin: (not origin.is_certain, furthest[origin.place.layer] < least))


def _passengers(search: Search, focus: Case, origins: set[str]) -> list[str]:
    return [each.tensor for each in search.out if each.case == focus.name and each.tensor not in origins]


def _plain(tensor: str) -> str:
    """Return the name of a repeated call's tensor without the call's number."""
    return tensor.split("/", 1)[1] if tensor.split("/")[0].isdigit() else tensor
