"""Random relative rounding of a precision, put on every intermediate of the oracle: its spread is a tensor's noise floor.

Parker 1997, Monte Carlo arithmetic (UCLA CSD-970002), is the method; Stott Parker's virtual precision is `units` here.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from runners.contract.data import streams


@dataclasses.dataclass(frozen=True)
class Units:
    """Unit roundoffs of a context: of activations and their gradients, of what stays in the parameters' type, and of a
    weight when a layer casts it (0: it does not)."""

    activation: float
    master: float
    cast: float


# 2**-p for a significand of p bits: fp64 53, fp32 24, tf32 and fp16 11, bf16 8.
UNITS = {
    "fp64": Units(2.0**-53, 2.0**-53, 0.0),
    "fp32": Units(2.0**-24, 2.0**-24, 0.0),
    "tf32": Units(2.0**-11, 2.0**-24, 2.0**-11),
    "fp16": Units(2.0**-11, 2.0**-24, 2.0**-11),
    "bf16": Units(2.0**-8, 2.0**-24, 2.0**-8),
}


# What is rounded by such a unit is computed in float32, whose own is less by 2**-13: it adds 1e-8 to a floor's square, and takes
# half of the time.
_COARSE = 2.0**-11

# So many numbers, with what is made of them, stay in the cache of a core.
_IN_CACHE = 2**14


class Rounding:
    """Rounds at random, from a stream named by draw. Units of None leave all exact.

    An element is multiplied by 1 + unit * u, u uniform in (-1, 1). An element that is a sum has as many intermediates as it
    has terms: rounded one after the other, at the unit of the parameters' type in which products are added up, they leave an
    error of sqrt(terms) / 3 units of a sum whose terms have one sign, and about as much of the tensor's root mean square
    where they cancel (Higham 2002, Accuracy and Stability of Numerical Algorithms, chapter 4, for the statistical bound).
    Sums in blocks or pairs err less.

    Under a coarse unit activations, their gradients and weights that are cast are float32, and so is what is computed of them.
    What is kept in the parameters' type stays float64.

    Args:
        times: how many units stand for one.
    """

    def __init__(self, units: Units | None, *, seed: int = 0, draw: int = 0, times: float = 1.0) -> None:
        if units:
            units = Units(*(times * unit for unit in dataclasses.astuple(units)))
        self.is_coarse = units is not None and units.activation >= _COARSE
        self._type = np.float32 if self.is_coarse else np.float64
        self._units, self._seed, self._draw = units, seed, draw
        self._calls = self._numbers = 0

    def activation(self, x: np.ndarray, terms: int = 1) -> np.ndarray:
        """Round what a layer hands on, forward or backward; each element is a sum of so many terms."""
        return self._round(x, self._units, self._units.activation, terms, self._type) if self._units else x

    def master(self, x: np.ndarray, terms: int = 1) -> np.ndarray:
        """Round what is kept in the parameters' type: statistics, gradients of batch norm, the loss, the update."""
        return self._round(x, self._units, self._units.master, terms, np.float64) if self._units else x

    def cast(self, x: np.ndarray) -> np.ndarray:
        """Round a weight or an image that a layer casts before it uses it."""
        return self._round(x, self._units, self._units.cast, 1, self._type) if self._units and self._units.cast else x

    def number(self, value: float) -> float:
        """Round a number by which all of a tensor is scaled alike: the parameters' type may not have it, as it has no 0.99."""
        if not self._units:
            return value
        self._numbers += 1
        [share] = streams.uniform(self._seed, f"verify/rounding/{self._draw}/number/{self._numbers}", count=1)
        return value * (1.0 + self._units.master * (2.0 * float(share) - 1.0))

    def _round(self, x: np.ndarray, units: Units, unit: float, terms: int, dtype: type[np.floating]) -> np.ndarray:
        self._calls += 1
        name = f"verify/rounding/{self._draw}/{self._calls}"
        flat = np.ravel(x)
        result = np.empty(flat.shape, dtype)
        size = _root_mean_square(flat) if terms > 1 else 0.0
        of_odd, of_terms = unit / 2**15, (units.master / unit) ** 2 * terms / 3.0  # the largest odd number is 2**15
        # How large an error may be is known well enough in float32, whatever it is an error of.
        errors, larger = np.empty((2, min(flat.size, _IN_CACHE)), np.float32)
        pieces = streams.odd_pieces(self._seed, name, count=flat.size, size=_IN_CACHE)
        for first, odd in zip(range(0, flat.size, _IN_CACHE), pieces, strict=True):
            part, there = flat[first : first + _IN_CACHE], result[first : first + _IN_CACHE]
            if not size:  # of one term, or zeros
                np.copyto(there, odd)
                there *= of_odd
                there += 1.0
                there *= part
                continue
            # In units, of parts of the tensor's size: squares of small gradients are no float32 numbers.
            error, of_sum = errors[: part.size], larger[: part.size]
            np.multiply(part, 1.0 / size, out=error, casting="same_kind")
            error *= error
            np.maximum(error, 1.0, out=of_sum)
            of_sum *= of_terms
            error += of_sum
            np.sqrt(error, out=error)
            np.copyto(of_sum, odd)
            error *= of_sum
            np.copyto(there, error)
            there *= size * of_odd
            there += part
        return result.reshape(np.shape(x))


def _root_mean_square(flat: np.ndarray) -> float:
    pieces = (flat[first : first + _IN_CACHE].astype(np.float64, copy=False) for first in range(0, flat.size, _IN_CACHE))
    return math.sqrt(sum(float(piece @ piece) for piece in pieces) / flat.size)
