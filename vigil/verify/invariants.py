"""What must hold in any correct program, whatever its precision: nothing here needs a floor or a limit.

A training step moves every parameter and statistic, what does not train moves nothing, and devices hold the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from vigil.verify.cases import Case

Tensors = Mapping[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Broken:
    """An invariant that does not hold: in which case, of which tensor, and in what way."""

    case: str
    tensor: str
    what: str


def check(case: Case, loaded: Tensors, observed: Tensors) -> list[Broken]:
    """Return what is broken in one answer. `loaded`: the state that the case started from."""
    broken = []
    for name, tensor in observed.items():
        if name not in loaded or not name.startswith(("params/", "momentum/", "stats/")):
            continue
        if tensor.shape != np.shape(loaded[name]):
            continue  # told by the comparison
        same = bool(np.array_equal(tensor, np.asarray(loaded[name]).astype(tensor.dtype), equal_nan=False))
        moves = case.kind in ("step", "accumulate") or (case.kind == "alternate" and name.startswith("stats/"))
        if moves and same:
            broken.append(Broken(case.name, name, "did not move"))
        elif not moves and not same:
            broken.append(Broken(case.name, name, "moved, although nothing was trained"))
    for name in ("replicas/params", "replicas/momentum", "replicas/stats"):
        if name in observed and float(observed[name]) != 0.0:
            broken.append(Broken(case.name, name, f"devices hold different values, up to {float(observed[name]):.3g} apart"))
    return broken
