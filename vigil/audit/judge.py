"""How far what a call gave is from what is right, in floors, and what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from runners.contract.audit.derivatives import (
    FORWARD_OVER_FORWARD,
    PULLED,
    WAYS,
    by_cotangent,
    first_of,
    second_of,
    way_of,
)
from runners.contract.audit.frame import Question
from vigil.audit.derivatives import Derivatives
from vigil.audit.exact import GRADIENT_SHARE, UNITS, Exact, Held, norm_of

# What a row comes to. bits: calls with the same arguments gave other bits. writes: the call changed an argument. moves: what
# it gave changes when it is called again, as memory does that is given back too early. device: a default device that is set, and
# is the same, changes what it gives.
FINE, WRONG, RAISES, BITS, WRITES, MOVES, DEVICE = "fine", "wrong", "raises", "bits", "writes", "moves", "device"
ABSENT, CANNOT = "absent", "cannot"
# Of a derivative by another way than reverse mode: the framework says that it has none, or raises another error.
REFUSED, RAISED = "refused", "raised"
# Of an output: rounding changes what is right of each of its elements, so that nothing is held to it.
UNHELD = "unheld"

# Definitions give a complex result as two real ones, so that one that comes back has been given where a real one is right.
_COMPLEX = "gave complex numbers, not real ones"


class Measured(NamedTuple):
    """How far one output or gradient is off: in floors, at its worst element. place, got, expected: of that element.

    problem: what no distance tells: another shape, a number that is none or should be.
    """

    ratio: float
    place: tuple[int, ...] = ()
    got: float = math.nan
    expected: float = math.nan
    problem: str = ""


def measure(
    question: Question, exact: Exact, arrays: Mapping[str, np.ndarray], *, ways: Collection[str] = WAYS
) -> dict[str, Measured]:
    """Return how far each output and each gradient is off: `outputs/<place>`, `gradients/<argument>`.

    Args:
        ways: those by which the call has further derivatives, where they are asked for.
    """
    found = {}
    for place, held in enumerate(exact.outputs):
        name = f"outputs/{place}"
        found[name] = _element(arrays.get(name), held)
    for argument, held in exact.gradients.items():
        found[f"gradients/{argument}"] = _element(arrays.get(f"gradients/{argument}"), held)
    for argument in exact.directions:
        name = f"gradients/{argument}"
        found[name] = _along(arrays.get(name), question, exact, argument)
    if exact.derivatives:
        found |= {
            quantity: _element(arrays.get(quantity), Held(values, floors, ~np.isnan(floors)))
            for quantity, (values, floors) in _derivatives(exact.derivatives).items()
            if way_of(quantity) in ways
        }
    return found


def apart(exact: Exact, arrays: Mapping[str, np.ndarray], quantity: str) -> Measured:
    """Return how far an output within a default device is from that without, in floors of what is right."""
    held, plain = exact.outputs[int(quantity.partition("/")[2])], arrays[quantity]
    if plain.shape != held.values.shape:
        return Measured(0.0)  # that is wrong anyway
    return _element(arrays[f"elsewhere/{quantity}"], held._replace(values=plain))


def _derivatives(right: Derivatives) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return what is right of each quantity that a way of deriving gives, and its floors."""
    found = {second_of(way): right.pulled for way in PULLED}
    for place, (first, second) in enumerate(zip(right.first, right.second, strict=True)):
        if first and second:
            found |= {first_of(place): first, by_cotangent(place): first, second_of(FORWARD_OVER_FORWARD, place): second}
    return found


def _element(observed: np.ndarray | None, held: Held) -> Measured:
    """Return the worst element of an array."""
    if observed is None or observed.shape != held.values.shape:
        what = "nothing" if observed is None else f"shape {observed.shape}"
        return Measured(math.inf, problem=f"gave {what}, not shape {held.values.shape}")
    if observed.dtype.kind == "c":
        return Measured(math.inf, problem=_COMPLEX)
    if held.floors is None:
        wrong = (observed != held.values) & held.where
        return _at(wrong, observed, held, math.inf, "another choice") if wrong.any() else Measured(0.0)
    observed = np.asarray(observed, np.float64)
    finite = np.isfinite(held.values)
    with np.errstate(invalid="ignore"):
        same = (observed == held.values) | (np.isnan(observed) & np.isnan(held.values))
        other = (finite != np.isfinite(observed)) | (~finite & ~same)
    wrong = other & held.where
    if wrong.any():
        return _at(wrong, observed, held, math.inf, "not finite, or finite where it should not be")
    use = held.where & finite
    if not use.any():
        return Measured(0.0)
    ratio = np.where(use, np.abs(np.where(use, observed, 0.0) - np.where(use, held.values, 0.0)) / held.floors, 0.0)
    worst = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    index = tuple(int(each) for each in worst)
    return Measured(float(ratio[worst]), index, float(observed[worst]), float(held.values[worst]))


def _at(wrong: np.ndarray, observed: np.ndarray, held: Held, ratio: float, problem: str) -> Measured:
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    index = tuple(int(each) for each in first)
    return Measured(ratio, index, float(observed[first]), float(held.values[first]), problem)


def _along(observed: np.ndarray | None, question: Question, exact: Exact, argument: str) -> Measured:
    """Return the worst direction of a gradient."""
    shape = question.arguments[argument].shape
    if observed is None or observed.shape != shape:
        what = "nothing" if observed is None else f"shape {observed.shape}"
        return Measured(math.inf, problem=f"gave {what}, not shape {shape}")
    if observed.dtype.kind == "c":
        return Measured(math.inf, problem=_COMPLEX)
    gradient = np.asarray(observed, np.float64)
    if not np.isfinite(gradient).all():
        first = np.unravel_index(int(np.argmax(~np.isfinite(gradient))), shape)
        return Measured(
            math.inf, tuple(int(each) for each in first), float(gradient[first]), problem="a gradient that is no number"
        )
    worst = Measured(0.0)
    unit = UNITS[question.precision] / math.sqrt(3.0)
    # A direction has no better a floor than the elements of the whole gradient have, each rounded once.
    spread = norm_of(gradient) / math.sqrt(max(1, gradient.size))
    for direction in exact.directions[argument]:
        got = float(np.sum(gradient * direction.vector))
        rounding = unit * norm_of(gradient * direction.vector)
        elements = GRADIENT_SHARE[question.precision] * unit * spread * norm_of(direction.vector)
        floor = math.hypot(direction.floor, rounding, elements) + 1e-30
        ratio = abs(got - direction.derivative) / floor
        if not ratio <= worst.ratio:
            where = np.flatnonzero(direction.vector)
            index = tuple(int(each) for each in np.unravel_index(int(where[0]), shape)) if where.size == 1 else ()
            worst = Measured(ratio, index, got, direction.derivative)
    return worst
