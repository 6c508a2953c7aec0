"""What must hold in any correct program, whatever its precision: nothing here needs a floor or a limit.

What the oracle moves has moved, what no training touches has not changed in a bit, devices hold the same, a loss scale is kept,
doubled and halved when it is due, and a detector finds most of what there is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vigil.documents.verification import BrokenInvariant
from vigil.verify.distance import plain
from vigil.verify.standard_cases import FIRST_SCALE, GOOD_STEPS, TOO_LARGE, StandardCase
from vigil.verify.trajectory import step_of

Tensors = Mapping[str, np.ndarray]
_VISIBLE = 2.0**-20
_WITHOUT_TRAINING = ("predict", "alternate")
# Of what a detector should find. No clean evaluation misses more than a tenth (bfloat16, 80 detections); limits alone, made from
# few contexts of low precision, passed one that found nothing.
_MOST_MISSED = 0.25


def check(case: StandardCase, loaded: Tensors, observed: Tensors, expected: Tensors) -> list[BrokenInvariant]:
    """Return what is broken in one answer. `loaded`: the state that the case started from; `expected`: the oracle's answer."""
    broken: list[BrokenInvariant] = []

    def note(tensor: str, what: str) -> None:
        broken.append(BrokenInvariant(case=case.name, tensor=tensor, what=what))

    for name, tensor in observed.items():
        if name not in loaded or name not in expected:
            continue
        if tensor.shape != np.shape(loaded[name]):
            continue  # told by the comparison
        same = bool(np.array_equal(tensor, np.asarray(loaded[name]).astype(tensor.dtype), equal_nan=False))
        distance = np.abs(expected[name] - loaded[name]).max()
        # By more than the parameters' type can fail to show.
        moves = distance > _VISIBLE * np.abs(loaded[name]).max()
        if moves and same:
            note(name, "did not move")
        # In a step even 0.99 x + 0.01 x need not be x to the last bit: the comparison judges that.
        elif distance == 0 and not same and case.kind in _WITHOUT_TRAINING:
            note(name, "moved, although nothing was trained")
    return broken + check_replicas(case, observed)


def check_replicas(case: StandardCase, observed: Tensors) -> list[BrokenInvariant]:
    """Return where devices do not hold the same, in any call of an answer."""
    apart = {name: float(value) for name, value in observed.items() if plain(name).startswith("replicas/")}
    return [
        BrokenInvariant(case=case.name, tensor=name, what=f"devices hold different values, up to {distance:.3g} apart")
        for name, distance in apart.items()
        if distance != 0.0
    ]


def check_scaler(case: StandardCase, loaded: Tensors, observed: Tensors, *, is_fresh: bool) -> list[BrokenInvariant]:
    """Return what is broken of the loss scaler in one answer of float16.

    A step whose gradients are finite keeps the scale and counts; the last of 2,000 such doubles it. One whose gradients are
    not is skipped, and halves it.

    Args:
        is_fresh: nothing was loaded into the scaler.
    """
    broken: list[BrokenInvariant] = []
    if case.kind not in ("step", "accumulate", "repeat", "trajectory"):
        return broken
    scale, good_steps = (FIRST_SCALE, 0) if is_fresh else (case.scale, case.good_steps)
    is_skipped = scale == TOO_LARGE
    # Of the calls of one answer, those that were whole steps; taken again, the scaler begins from what was kept.
    names = [name for name in observed if plain(name) == "scaler/good_steps" and not name.startswith("again/")]
    for name in names or ["scaler/good_steps"]:
        taken = step_of(name) if names and case.kind == "trajectory" else 1
        count, wanted, after = good_steps + taken, scale, "a step whose gradients are finite"
        if is_skipped:
            count, wanted, after = 0, scale / 2, "a step whose gradients are not finite"
        elif count == GOOD_STEPS:
            count, wanted, after = 0, scale * 2, f"{GOOD_STEPS} steps in a row whose gradients are finite"
        dues = (name.replace("good_steps", "scale"), wanted, "loss scale"), (name, count, "count of good steps")
        for tensor, due, quantity in dues:
            found = observed.get(tensor)
            if found is None or float(found) != due:
                said = "missing" if found is None else f"{float(found):.10g}"
                what = f"the {quantity} is {said} after {after}, where {due:.10g} is due"
                broken.append(BrokenInvariant(case=case.name, tensor=tensor, what=what))
    # The forward pass moves statistics, whatever becomes of its gradients.
    for name in (name for name in loaded if is_skipped and not name.startswith("stats/")):
        found = observed.get(name)
        if found is None or not np.array_equal(found, np.asarray(loaded[name]).astype(found.dtype)):
            what = "missing" if found is None else "moved, although the gradients are not finite and the step is to be skipped"
            broken.append(BrokenInvariant(case=case.name, tensor=name, what=what))
    return broken


def check_determinism(case: StandardCase, observed: Tensors) -> list[BrokenInvariant]:
    """Return where a trajectory did not come to the same bits the second time, in a context that promises it."""
    differing = observed["differing"].tolist() if case.kind == "trajectory" and "differing" in observed else []
    what = f"taken again from kept states, {len(differing)} pieces ended in other bits, the first of them before this step"
    return [BrokenInvariant(case=case.name, tensor=f"again/{step}", what=what) for step in differing[:1]]


def check_choices(case: StandardCase, choices: np.ndarray, expected: Tensors) -> list[BrokenInvariant]:
    """Return what is broken in detections. `choices`: how many are missing and besides, of each image, as they were paired."""
    if np.shape(choices) != (len(expected["logits"]), 2):
        return []  # told by the comparison
    wanted = int((expected["logits"][..., 0] >= 0).sum())
    # One an image may come or go at a threshold, however few there are.
    most = max(_MOST_MISSED * wanted, len(choices))
    missed, besides = (int(count) for count in choices.sum(axis=0))
    if max(missed, besides) <= most:
        return []
    what = f"of {wanted} detections {missed} are missing, and {besides} are there besides"
    return [BrokenInvariant(case=case.name, tensor="choices", what=what)]
