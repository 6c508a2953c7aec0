"""What must hold in any correct program, whatever its precision: nothing here needs a floor or a limit.

What the oracle moves has moved, what no training touches has not changed in a bit, devices hold the same, and a detector finds
most of what there is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vigil.documents.verification import BrokenInvariant
from vigil.verify.standard_cases import StandardCase

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
    for name, apart in observed.items():
        if name.startswith("replicas/") and float(apart) != 0.0:
            note(name, f"devices hold different values, up to {float(apart):.3g} apart")
    return broken


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
