"""What one number explains when every layer is right: another learning rate, momentum, decay, or a factor in all gradients."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vigil.verify.ask import LOSS_SCALE
from vigil.verify.cases import Case, derived
from vigil.verify.compare import Difference
from vigil.verify.layers import Place, place_of
from vigil.verify.search import Origin, Search, make_origin

# A one-parameter explanation of an update must leave less than this part of what it explains.
_UNEXPLAINED = 0.05


def explain_update(search: Search, focus: Case, out: Sequence[Difference]) -> Origin:
    """Return what makes the parameters wrong although the momentum buffers are right.

    parameter -= learning_rate * buffer: another rate shows as one slope in every tensor; Nesterov's update,
    gradient + momentum * buffer in the buffer's place (Sutskever et al. 2013), as what is left over.
    """
    found = search.answers.tensors[focus.name]
    state = search.tape.probes[focus.state].state
    worst = max(out, key=lambda each: search.limits.score(each, search.precision))
    names = [name.removeprefix("momentum/") for name in found if name.startswith("momentum/")]
    taken = _joined([(state[f"params/{name}"] - found[f"params/{name}"]) / focus.learning_rate for name in names])
    buffer = _joined([found[f"momentum/{name}"] for name in names])
    slope = float(taken @ buffer / (buffer @ buffer))
    if _is_explained(taken - slope * buffer, taken - buffer):
        asked = focus.learning_rate
        remark = f"the step is {slope:.6g} times what the learning rate {asked:g} gives: the rate used was {slope * asked:.6g}"
        return Origin(Place("optimizer", "update", "learning rate"), worst.tensor, focus.name, worst.ratio, slope, remark)
    before = _joined([state[f"momentum/{name}"] for name in names])
    momentum = search.tape.training["optimizer"]["momentum"]
    nesterov = buffer - momentum * before + momentum * buffer
    if _is_explained(taken - nesterov, taken - buffer):
        remark = "the step is gradient + momentum * buffer, Nesterov's, where buffer was asked for"
        return Origin(Place("optimizer", "update", "momentum"), worst.tensor, focus.name, worst.ratio, worst.slope, remark)
    return make_origin(worst, place_of(worst.tensor, search.readers))


def explain_decay(search: Search, focus: Case, out: Sequence[Difference]) -> list[Origin]:
    """Return the parameters whose gradient is off by a share of the parameter itself: their weight decay is another one.

    What the momentum buffer shows as the gradient is that plus all that the optimizer added wrongly.
    """
    if focus.kind not in ("step", "accumulate"):
        return []
    state, expected, found = search.tape.probes[focus.state].state, *_gradients(search, focus)
    origins = []
    for each in out:
        off = _joined([found[each.tensor]]) - _joined([expected[each.tensor]])
        parameter = state[each.tensor.replace("parameter_gradient", "params")].ravel()
        share = float(off @ parameter / (parameter @ parameter)) if parameter.any() else 0.0
        if share and _is_explained(off - share * parameter, off):
            decay = search.tape.training["optimizer"]["weight_decay"]
            place = dataclasses.replace(place_of(each.tensor, search.readers), phase="update", quantity="weight decay")
            remark = f"the parameter is decayed by {decay + share:.3g} where the recipe says {decay:g}"
            origins.append(dataclasses.replace(make_origin(each, place), remark=remark))
    return origins


def explain_scale(search: Search, focus: Case, out: Sequence[Difference]) -> list[Origin]:
    """Return the one number that explains every gradient, if there is one: a loss scale that was kept, or a wrong mean."""
    if not out or focus.kind not in ("step", "accumulate"):
        return []
    state, decay = search.tape.probes[focus.state].state, search.tape.training["optimizer"]["weight_decay"]
    decays = {each.tensor: decay * state[each.tensor.replace("parameter_gradient", "params")].ravel() for each in out}
    nothing = dict.fromkeys(decays, 0.0)
    slopes = (_common_slope(out, *_gradients(search, focus), decayed) for decayed in (nothing, decays))
    slope = next((slope for slope in slopes if slope is not None), None)
    if slope is None:
        return []
    worst = max(out, key=lambda each: each.ratio)
    remark = f"every gradient is {slope:.6g} times what it should be"
    if math.isclose(slope, LOSS_SCALE, rel_tol=0.02):
        remark += ", the loss scale: it was never divided out"
    return [Origin(Place("optimizer", "update", "loss scale"), worst.tensor, focus.name, worst.ratio, slope, remark)]


def _gradients(search: Search, focus: Case) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    """Return what a step's tensors should be and what they are, gradients as the momentum buffers show them."""
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
