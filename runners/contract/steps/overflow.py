"""Numbers that a program's type cannot hold, where the program in float64 goes on.

A model may leave the range of float16 by itself: rsqrt has a derivative of x**-1.5, and 1e-4 is enough. That a context comes to
infinity there is no fault of its framework. So each oracle notes what leaves its type, and can go on with infinity as well.
At its other end float16 has zero: 1e-8 is none, which keeps the logarithm of a probability finite in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

# From these on a number rounds to infinity: the largest and half of its last place.
LEAST_INFINITE = {"float16": 65520.0, "bfloat16": (2.0 - 2.0**-8) * 2.0**127, "float32": (2.0 - 2.0**-24) * 2.0**127}
# Up to these a number rounds to zero, of which a logarithm makes infinity. Other types have numbers enough.
MOST_ZERO = {"float16": 2.0**-25}
_MOVED = 2.0**-11  # of a tensor's norm: what half a place of float16 is


class Overflow(NamedTuple):
    """One number that left its type: the operator that computed it, the type, and how large it is in float64."""

    where: str
    dtype: str
    value: float

    @property
    def text(self) -> str:
        return f"{self.where} computes {self.value:.3g}, which {self.dtype} cannot hold"


def without_numbers(overflowed: Mapping[str, np.ndarray], exact: Mapping[str, np.ndarray]) -> list[str]:
    """Return the tensors that are not finite where what leaves its type does, and are in float64."""
    return [name for name, right in exact.items() if not np.isfinite(overflowed[name][np.isfinite(right)]).all()]


def moved_by(overflowed: Mapping[str, np.ndarray], exact: Mapping[str, np.ndarray]) -> list[str]:
    """Return the tensors that are others where what leaves its type becomes infinite."""
    moved = []
    for name, right in exact.items():
        is_number = np.isfinite(right)
        apart = np.where(is_number, overflowed[name], 0.0) - np.where(is_number, right, 0.0)
        if not np.linalg.norm(apart) <= _MOVED * np.linalg.norm(np.where(is_number, right, 0.0)):
            moved.append(name)
    return moved
