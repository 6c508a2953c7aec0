"""What must hold in any correct program, whatever its precision: nothing here needs a floor or a limit.

What the oracle moves has moved, what no training touches has not changed in a bit, devices hold the same, and a detector finds
most of what there is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from vigil.verify.cases import Case
from vigil.verify.found import comparable

Tensors = Mapping[str, np.ndarray]
_VISIBLE = 2.0**-20
_WITHOUT_TRAINING = ("predict", "alternate")
# Of what a detector should find. No clean evaluation misses more than a tenth (bfloat16, 80 detections); limits alone, made from
# few contexts of low precision, passed one that found nothing.
_MOST_MISSED = 0.25


@dataclasses.dataclass(frozen=True)
class Broken:
    """An invariant that does not hold: in which case, of which tensor, and in what way."""

    case: str
    tensor: str
    what: str


def check(case: Case, loaded: Tensors, observed: Tensors, expected: Tensors) -> list[Broken]:
    """Return what is broken in one answer. `loaded`: the state that the case started from; `expected`: the oracle's answer."""
    broken = []
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
            broken.append(Broken(case.name, name, "did not move"))
        # In a step even 0.99 x + 0.01 x need not be x to the last bit: the comparison judges that.
        elif distance == 0 and not same and case.kind in _WITHOUT_TRAINING:
            broken.append(Broken(case.name, name, "moved, although nothing was trained"))
    for name in ("replicas/params", "replicas/momentum", "replicas/stats"):
        if name in observed and float(observed[name]) != 0.0:
            broken.append(Broken(case.name, name, f"devices hold different values, up to {float(observed[name]):.3g} apart"))
    return broken + _of_detections(case, observed, expected)


def _of_detections(case: Case, observed: Tensors, expected: Tensors) -> list[Broken]:
    choices = comparable(observed, expected).get("choices")
    if choices is None or np.shape(choices) != (len(expected["logits"]), 2):
        return []  # no detector's, or told by the comparison
    wanted = int((expected["logits"][..., 0] >= 0).sum())
    # One an image may come or go at a threshold, however few there are.
    most = max(_MOST_MISSED * wanted, len(choices))
    missed, besides = (int(count) for count in choices.sum(axis=0))
    if max(missed, besides) <= most:
        return []
    return [Broken(case.name, "choices", f"of {wanted} detections {missed} are missing, and {besides} are there besides")]
