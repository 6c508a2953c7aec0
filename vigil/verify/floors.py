"""Noise floors: how far rounding alone moves each tensor, from random rounding of every intermediate of the oracle.

A floor is the root mean square, over draws, of the distance to the exact tensor. The draws also give what rounding does to slope
and intercept of the regression of observed on expected, which have no direction in a correct program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from runners.contract.steps.measure import Line, line_of
from vigil.statistics.quantiles import chi2_ppf, student_ppf
from vigil.verify.oracle.rounding import UNITS, Rounding

MARGIN_DRAWS = 32
FULL_DRAWS = 12
_SEED = 1997
# A full batch has gates that rounding flips, and a flip moves a gradient by up to 1e-3. A program that is right may be at
# several floors (to 6 in the clean fp32 runs on margin batches, where no gate flips), and then flips gates that draws of one
# floor hardly ever do. So draws on full batches round by more, and the floor there is for size, not for sharpness.
_FLIPPING = 8.0

Tensors = Mapping[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Floor:
    """What rounding does to one tensor.

    distance, distance_error: a norm and its standard error. slope (less 1), intercept: mean and standard deviation.
    draws: how many it was made from.
    """

    distance: float
    distance_error: float
    slope: tuple[float, float]
    intercept: tuple[float, float]
    draws: int

    def reach(self, false_alarms: float) -> dict[str, float]:
        """Return what rounding alone exceeds with this probability: distance in floors, slope and intercept in deviations.

        The squared distance is held to be chi-squared; its degrees of freedom, 1 for a single number and many for a large
        tensor, are what its scatter over the draws says. Deviations were estimated from the draws: Student's t.
        """
        line = student_ppf(1.0 - false_alarms / 2, self.draws - 1)
        if not self.distance > 0:
            return {"distance": 0.0, "slope": line, "intercept": line}
        scatter = 2.0 * self.distance_error * np.sqrt(self.draws) / self.distance
        freedom = max(1.0, 2.0 / scatter**2) if scatter > 0 else 1e6
        distance = float(np.sqrt(chi2_ppf(1.0 - false_alarms, freedom) / freedom))
        return {"distance": distance, "slope": line, "intercept": line}


def make_floors(
    exact: Tensors,
    draw: Callable[[Rounding], Tensors],
    *,
    precision: str,
    draws: int,
    has_flips: bool = False,
) -> dict[str, Floor]:
    """Return the floor of every tensor in `exact`. `draw` gives the tensors once more, with this rounding.

    Args:
        has_flips: gates may flip, as in a step on a full batch. Under low precision they do in every draw.
    """
    units = UNITS[precision]
    times = _FLIPPING if has_flips and units.activation == units.master else 1.0
    roundings = (Rounding(units, seed=_SEED, draw=number, times=times) for number in range(draws))
    return floors_of((exact, draw(rounding)) for rounding in roundings)


def floors_of(pairs: Iterable[tuple[Tensors, Tensors]]) -> dict[str, Floor]:
    """Return the floor of every tensor from (exact, rounded) pairs, one a draw; they may be of several steps that are alike."""
    lines: dict[str, list[Line]] = {}
    for exact, rounded in pairs:
        for name, tensor in exact.items():
            lines.setdefault(name, []).append(line_of(rounded[name], tensor))
    return {name: floor_of(found) for name, found in lines.items()}


def floor_of(lines: Sequence[Line]) -> Floor:
    """Return the floor of a tensor from what draws of rounding made of it, at least two."""
    draws, found = len(lines), np.array(lines, np.float64)
    squares, line = np.square(found[:, 0]), found[:, 1:]
    mean = float(np.sqrt(squares.mean()))
    error = float(squares.std(ddof=1) / np.sqrt(draws) / (2 * mean)) if mean else 0.0
    (slope, intercept), (slope_sd, intercept_sd) = line.mean(axis=0), line.std(axis=0, ddof=1)
    return Floor(mean, error, (float(slope), float(slope_sd)), (float(intercept), float(intercept_sd)), draws)
