"""First and second derivatives of a definition along directions, by differences: what other ways than reverse mode are held to.

All arguments that have a gradient move at once, along lines: d + e and d - e, where each element of d and e is 1 or -1. Of an
output y the derivative along d is half the sum of y' on the two lines, and the second one along d and e is a quarter of the
difference of y''. Both are taken from the definition and not from the framework's own gradient: so a gradient that is wrong
cannot make its derivative right, and what is right is known without the framework. Float64 leaves about nine digits of a second
difference at this step, and a formula that is wrong is rarely right in two.

On each line the definition is evaluated at h, 2h and 4h on both sides. The differences are extrapolated twice (Richardson).
By how much the last extrapolation moves them is their uncertainty. Odd and even differences tell jumps that one alone does not
see: where y' jumps, y'' grows as 1/h; where y'' jumps, and be it at the very middle, y' is off by as much as h. There nothing is
held.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from runners.contract.audit.frame import Question

Arguments = Mapping[str, np.ndarray]
Evaluate = Callable[[Arguments], list[np.ndarray]]
Moved = Callable[[Arguments], dict[str, np.ndarray]]

_STEP = 5e-4
_DRAWS = 2  # of moved arguments and cotangents, for the floor
_UNIT = 1e-11  # as everything in float64 is held to (`vigil.audit.exact.UNITS`)
_SHARE = 0.1  # of the root mean square of floors, or of derivatives, by which an element is held
_JUMP = 1e-3  # of a derivative, by which it may seem to jump
_ROUNDING = 64 * 2.0**-53  # of a value that a definition gives


class Difference(NamedTuple):
    """A derivative by differences, elementwise: its values, by how much they are uncertain, and where it does not jump."""

    values: np.ndarray
    uncertainty: np.ndarray
    is_smooth: np.ndarray


class Derivatives(NamedTuple):
    """What is right of one question. first: of each output along d. second: along d and e. None: of one without a cotangent.

    pulled: the second derivative of all outputs times their cotangents. Floors are of the same shape; NaN where nothing is held.
    """

    first: list[tuple[np.ndarray, np.ndarray] | None]
    second: list[tuple[np.ndarray, np.ndarray] | None]
    pulled: tuple[np.ndarray, np.ndarray]
    jumps: int


def where_smooth(evaluate: Evaluate, arguments: Arguments, names: Sequence[str]) -> np.ndarray:
    """Return at which elements an elementwise function has a second derivative along each line that two directions make."""
    found: np.ndarray = np.asarray(True)
    with np.errstate(all="ignore"):
        middle = evaluate(arguments)
        for signs in itertools.product((-2.0, 0.0, 2.0), repeat=len(names)):
            if next((sign for sign in signs if sign), 0.0) <= 0.0:
                continue  # the same line from its other end, or none

            def moved(step: float, signs: tuple[float, ...] = signs) -> list[np.ndarray]:
                along = {name: arguments[name] + sign * step for name, sign in zip(names, signs, strict=True)}
                return evaluate({**arguments, **along})

            at = {step: (moved(step), moved(-step)) for step in (_STEP, 2 * _STEP, 4 * _STEP)}
            for place, each in enumerate(middle):
                if each.dtype.kind == "f":
                    line = {step: (up[place], down[place]) for step, (up, down) in at.items()}
                    found = found & _on_line(each, line)[1].is_smooth
    return found


def derivatives_of(question: Question, arguments: Arguments, *, evaluate: Evaluate, moved: Moved) -> Derivatives:
    """Return what is right for a question that has directions.

    Args:
        arguments: of the question, in float64.
        evaluate: the definition; of cotangents it knows nothing.
        moved: draws arguments that are moved by as much as their precision rounds.
    """
    places = [place for place, each in enumerate(question.cotangents) if each is not None]
    cotangents = {place: np.asarray(question.cotangents[place], np.float64) for place in places}
    plain = _both(question, arguments, cotangents, evaluate)
    drawn = []
    for _ in range(_DRAWS):
        pulled = moved({str(place): each for place, each in cotangents.items()})
        drawn.append(_both(question, moved(arguments), {place: pulled[str(place)] for place in places}, evaluate))
    held = [
        [_held(differences[key], [draw[order][key] for draw in drawn]) for key in (*places, -1)]
        for order, differences in enumerate(plain)
    ]
    first, second = (dict(zip((*places, -1), order, strict=True)) for order in held)
    # Of a sum nothing is left to hold where one of its terms jumps.
    values, floors = second[-1]
    if any(not plain[1][place].is_smooth.all() for place in places):
        floors = np.full_like(floors, np.nan)
    kept = [*(first[place] for place in places), *(second[place] for place in places), (values, floors)]
    count = len(question.cotangents)
    return Derivatives(
        first=[first.get(place) for place in range(count)],
        second=[second.get(place) for place in range(count)],
        pulled=(values, floors),
        jumps=sum(int(np.isnan(floors).sum()) for _, floors in kept),
    )


def _both(
    question: Question, arguments: Arguments, cotangents: Mapping[int, np.ndarray], evaluate: Evaluate
) -> tuple[dict[int, Difference], dict[int, Difference]]:
    """Return the first and the second derivatives by place; -1: of the sum of all outputs times their cotangents."""
    one, other = question.directions

    def outputs_at(step: float, sign: float) -> dict[int, np.ndarray]:
        moved = {name: arguments[name] + step * (one[name] + sign * other[name]) for name in one}
        outputs = evaluate({**arguments, **moved})
        found = {place: np.asarray(outputs[place], np.float64) for place in cotangents}
        return found | {-1: np.asarray(sum(np.sum(found[place] * each) for place, each in cotangents.items()))}

    with np.errstate(all="ignore"):
        middle = outputs_at(0.0, 1.0)
        lines = []
        for sign in (1.0, -1.0):
            at = {step: (outputs_at(step, sign), outputs_at(-step, sign)) for step in (_STEP, 2 * _STEP, 4 * _STEP)}
            lines.append({key: _on_line(middle[key], {step: (up[key], down[key]) for step, (up, down) in at.items()})
                          for key in middle})  # fmt: skip
        plus, minus = lines
        first = {key: _combined(plus[key][0], minus[key][0], 0.5, 0.5) for key in middle}
        second = {key: _combined(plus[key][1], minus[key][1], 0.25, -0.25) for key in middle}
    return first, second


def _combined(one: Difference, other: Difference, weight: float, more: float) -> Difference:
    uncertainty = np.hypot(weight * one.uncertainty, more * other.uncertainty)
    return Difference(weight * one.values + more * other.values, uncertainty, one.is_smooth & other.is_smooth)


def _on_line(middle: np.ndarray, at: Mapping[float, tuple[np.ndarray, np.ndarray]]) -> tuple[Difference, Difference]:
    """Return the first and the second derivative at the middle of a line, from values on both of its sides."""
    first, coarse_first, again_first = _extrapolated([(up - down) / (2 * step) for step, (up, down) in at.items()])
    second, coarse_second, again_second = _extrapolated(
        [(up - middle - (middle - down)) / step**2 for step, (up, down) in at.items()]
    )
    # What is no number at one place says nothing of the others.
    size = max(float(np.max(np.abs(each), initial=0.0, where=np.isfinite(each))) for pair in at.values() for each in pair)
    noise = _ROUNDING * size / _STEP**2
    of_first, of_second = _sizes(first), _sizes(second)
    is_finite = np.isfinite(first) & np.isfinite(second)
    # By the extrapolations a jump of y' by 1 makes y'' differ by some 1/h, and one of y'' by 1 makes y' differ by h/6.
    gap, own_gap = np.abs(coarse_second - again_second), np.abs(coarse_first - again_first)
    first_is_smooth = (
        is_finite & (_STEP * gap <= _JUMP * of_first + _STEP * noise) & (own_gap <= _JUMP * of_first + _STEP * noise)
    )
    second_is_smooth = is_finite & (gap <= _JUMP * of_second + noise) & (6 * own_gap / _STEP <= _JUMP * of_second + noise)
    return (
        Difference(first, np.abs(first - coarse_first), first_is_smooth),
        Difference(second, np.abs(second - coarse_second), second_is_smooth),
    )


def _extrapolated(rough: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what differences of three steps, each twice the last, come to: of sixth order, and twice of fourth."""
    fine, coarse = (4 * rough[0] - rough[1]) / 3, (4 * rough[1] - rough[2]) / 3
    return (16 * fine - coarse) / 15, fine, coarse


def _sizes(values: np.ndarray) -> np.ndarray:
    """Return how large each element is, and no smaller than a typical one."""
    return np.maximum(np.abs(np.where(np.isfinite(values), values, 0.0)), typical_of(values))


def typical_of(values: np.ndarray) -> float:
    """Return the root mean square of what is finite."""
    known = values[np.isfinite(values)]
    return math.sqrt(float(np.mean(np.square(known)))) if known.size else 0.0


def _held(plain: Difference, drawn: list[Difference]) -> tuple[np.ndarray, np.ndarray]:
    """Return values and floors: uncertainty, what rounded arguments do, and the rounding of the values themselves."""
    sizes = _sizes(plain.values)
    # Where all is zero, nothing says how large the terms were that cancel: arguments are numbers about one, and so are these.
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    with np.errstate(all="ignore"):
        moves = np.sqrt(np.mean([np.square(np.nan_to_num(each.values - plain.values)) for each in drawn], axis=0))
        floors = np.sqrt(plain.uncertainty**2 + moves**2 + (_UNIT * sizes) ** 2)
        floors = np.maximum(floors, _SHARE * typical_of(np.where(plain.is_smooth, floors, np.nan)))
    return plain.values, np.where(plain.is_smooth & np.isfinite(floors), floors + 1e-300, np.nan)
