"""What is right for a question, in float64, and how far rounding may take a correct operator from it.

The floor of an element is what it moves by when each argument is moved by as much as its precision rounds, root mean square over
draws, and the rounding of the element itself: what a backward stable operator is allowed (Higham 2002,
https://doi.org/10.1137/1.9780898718027, section 1.5).

Gradients are held to differences of the definition, not to a derivative that anyone wrote down: along directions, by central
differences of fourth order. Each element of a direction is 1 or -1, so that an error of any element moves it. Elementwise
operators are held in each element. Where two steps of the difference disagree, the derivative jumps, and nothing is held to it.
At numbers that are equal or zero on purpose a jump may lie in the very middle: there the differences of both sides must agree.

Outputs that are not floating are choices, and held exactly where rounding changes none. Equal numbers are moved alike for them: a
tie that is there on purpose stays one, and what is right of it is told by the definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from runners.contract.audit.frame import Question
from vigil.audit.derivatives import Derivatives, derivatives_of, typical_of
from vigil.audit.entry import Entry
from vigil.audit.plan import EMPTY, EQUAL, Trial

# Half of the distance from 1 to the next number. Float64 is held to what float32 within it would miss by far: the definition
# itself is computed in no more than that.
UNITS = {"fp32": 2.0**-24, "bf16": 2.0**-8, "fp16": 2.0**-11, "fp64": 1e-11}
LEAST = {"fp32": 2.0**-126, "bf16": 2.0**-126, "fp16": 2.0**-24, "fp64": 2.0**-1022}
_LARGEST = {"fp32": 3.4e38, "bf16": 3.38e38, "fp16": 6.5e4, "fp64": math.inf}
_DRAWS = 6
_FEW_DRAWS = 3
_STEPS = (1e-3, 1e-4)
_FEW = 8  # elements of which each is a direction of its own
OPTIMIZERS = "optimizers"  # the family whose outputs are weights after steps
# Of the floors of earlier weights, of which most of an error stays: LARS at a weight of 0.019 is 31 floors off so, and was 362
# without, where its rows with other seeds say 40 at most.
_WALKED = 0.1
# Of the root mean square of floors: an element is held to no less. In low precision sums are rounded on their way, so that one
# which cancels, or that a ReLU leaves at 0 by less than rounding, is off by about as much as others: with 0.01 a recurrent cell
# was 45 floors off (rnn of PyTorch, seed 3).
_SHARE = {"fp32": 0.01, "fp64": 0.01, "bf16": 0.1, "fp16": 0.1}
# The same of gradients, which are often made from a result that has been rounded, as tanh's, 1 - y * y.
GRADIENT_SHARE = {"fp32": 0.1, "fp64": 0.1, "bf16": 1.0, "fp16": 1.0}
# Of the size that a gradient has where nothing cancels, by which one is rounded where all cancels: attention over one key has
# a gradient of 0 for its query, as the difference of two sums that a framework rounds each by itself. With it JAX's
# are at most 35 floors off (seeds 2 and 3), and were 44 million.
_CANCELLED = 0.1
# The least root mean square that an argument is taken to have for it: results do not grow with 1 / argument. Corners of boxes as
# shares of an image have 0.3, and are 19 floors off (boxes_read of PyTorch, seed 4); with 1 they were 35, of 32 allowed.
_SMALL = 0.25
_KINK = 1e-7  # of a derivative, by which two steps may disagree
# Of a derivative, by which that of one side, of third order at a step of 1e-3, may differ from that of the other. Of 7,006
# derivatives of 149 functions at equal numbers none differs by 1.8e-5 to 0.034 (NumPy in float64, seed 0, 2026-11-27).
_SIDES = 1e-3


class Held(NamedTuple):
    """An output, or the gradient of an elementwise operator: values and floors. where: which elements are held to them."""

    values: np.ndarray
    floors: np.ndarray | None
    where: np.ndarray


class Direction(NamedTuple):
    """The derivative along a direction, and what rounding makes of it; None: it jumps there."""

    vector: np.ndarray
    derivative: float
    floor: float


class Exact(NamedTuple):
    """What is right for one question. kinks: directions, and elements of outputs and gradients, that nothing is held to.

    derivatives: those by other ways than reverse mode, where they are asked for.
    """

    outputs: list[Held]
    gradients: dict[str, Held]
    directions: dict[str, list[Direction]]
    kinks: int
    derivatives: Derivatives | None = None

    def without_gradients(self) -> Exact:
        """Return what is right of the outputs alone."""
        return self._replace(gradients={}, directions={}, derivatives=None)


Vectors = Callable[[np.ndarray, np.random.Generator], list[np.ndarray]]


def norm_of(numbers: np.ndarray) -> float:
    """Return the root of the sum of squares, also of numbers whose squares float64 cannot hold."""
    largest = float(np.max(np.abs(numbers), initial=0.0))
    return largest * math.sqrt(float(np.sum(np.square(numbers / largest)))) if largest > 0.0 else 0.0


def exact_of(trial: Trial, question: Question, seed: int, *, vectors: Vectors | None = None) -> Exact:
    """Return what is right for a question.

    Args:
        vectors: the directions along which the gradient of an argument is held; None: as audits choose them.
    """
    vectors = vectors or _vectors
    entry = trial.entry
    arguments = trial.arguments(seed)
    random = np.random.default_rng((seed, trial.number, 2))
    outputs = entry.evaluate(arguments, trial.parameters)
    moved = [entry.evaluate(_moved(arguments, question, random), trial.parameters) for _ in range(_DRAWS)]
    alike = moved
    if any(each.dtype.kind != "f" for each in outputs):
        alike = [entry.evaluate(each, trial.parameters) for each in _moved_alike(trial, question, seed)]
    held = [
        _held(each, [draw[place] for draw in (moved if each.dtype.kind == "f" else alike)], question, entry)
        for place, each in enumerate(outputs)
    ]
    if entry.family == OPTIMIZERS:
        held = _along_a_walk(held)
    if trial.values == EMPTY:  # what is NaN of nothing, as the mean of no numbers, is nobody's to say
        held = [each._replace(where=each.where & ~np.isnan(each.values)) for each in held]
    gradients: dict[str, Held] = {}
    directions: dict[str, list[Direction]] = {}
    kinks = sum(int((~each.where).sum()) for each in held)
    for name in question.differentiated:
        if entry.is_elementwise:
            gradients[name] = _elements_gradient(trial, arguments, question, name, random)
            kinks += int((~gradients[name].where).sum())
        else:
            least = _CANCELLED * UNITS[question.precision] * _uncancelled(outputs, question, arguments[name])
            along = vectors(arguments[name], random)
            found = [_derivative(trial, arguments, question, name, vector, random, least) for vector in along]
            directions[name] = [each for each in found if each is not None]
            kinks += len(found) - len(directions[name])
    derivatives = None
    if question.directions:
        derivatives = derivatives_of(
            question, arguments, evaluate=lambda some: entry.evaluate(some, trial.parameters),
            moved=lambda some: _moved(some, question, random),
        )  # fmt: skip
        kinks += derivatives.jumps
    return Exact(held, gradients, directions, kinks, derivatives)


def _moved(arguments: Mapping[str, np.ndarray], question: Question, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Return arguments with each floating number moved by up to a unit of rounding."""
    found = {}
    for name, array in arguments.items():
        if array.dtype.kind == "f":
            array = array * (1.0 + _unit_of(name, question) * random.uniform(-1.0, 1.0, array.shape))
        found[name] = array
    return found


def _moved_alike(trial: Trial, question: Question, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield arguments as `_moved` does, but with one factor for all numbers that were drawn of one size, in any argument."""
    arguments, random = trial.arguments(seed), np.random.default_rng((seed, trial.number, 5))
    drawn = {name: np.abs(each) for name, each in trial.unrounded(seed).items() if each.dtype.kind == "f"}
    numbers, places = np.unique(np.concatenate([np.zeros(0), *(each.ravel() for each in drawn.values())]), return_inverse=True)
    ends = np.cumsum([each.size for each in drawn.values()])
    for _ in range(_DRAWS):
        shares = np.split(random.uniform(-1.0, 1.0, numbers.size)[places], ends[:-1])
        yield arguments | {
            name: arguments[name] * (1.0 + _unit_of(name, question) * share.reshape(each.shape))
            for (name, each), share in zip(drawn.items(), shares, strict=False)
        }


def _unit_of(name: str, question: Question) -> float:
    return UNITS["fp32" if name in question.kept and question.precision != "fp64" else question.precision]


def _held(values: np.ndarray, moved: list[np.ndarray], question: Question, entry: Entry) -> Held:
    same = [each for each in moved if each.shape == values.shape]
    if values.dtype.kind != "f":
        # A choice that rounding changes, as that between two numbers that it makes equal, is held to nothing.
        where = np.logical_and.reduce([each == values for each in same]) if same else np.ones(values.shape, bool)
        return Held(values, None, where)
    finite = np.isfinite(values)
    with np.errstate(invalid="ignore", over="ignore"):
        squares = [np.square(np.where(np.isfinite(each) & finite, each - values, 0.0)) for each in same]
        spread = np.sqrt(np.mean(squares, axis=0)) if squares else np.zeros(values.shape)
        own = UNITS[question.precision] / math.sqrt(3.0) * np.maximum(np.abs(np.where(finite, values, 0.0)), entry.rounded_as)
        floors = np.sqrt(spread**2 + own**2) + LEAST[question.precision]
        if not entry.is_elementwise and floors.size:
            floors = np.maximum(floors, _SHARE[question.precision] * math.sqrt(float(np.mean(np.square(floors)))))
        # Numbers near the largest one that there is may or may not be infinite.
        where = ~(finite & (np.abs(np.where(finite, values, 0.0)) > _LARGEST[question.precision] / 4))
        stays = np.logical_and.reduce([np.isfinite(each) == finite for each in same]) if same else np.ones(values.shape, bool)
    return Held(values, floors, where & stays)


def _along_a_walk(held: list[Held]) -> list[Held]:
    """Return weights after steps with wider floors: what was rounded while they were large is there when they are small."""
    found, widest = [], np.zeros(())
    for each in held:
        if each.floors is not None and widest.shape in ((), each.floors.shape):
            floors = np.maximum(each.floors, _WALKED * widest)
            widest = np.maximum(widest, np.where(np.isfinite(floors), floors, 0.0))
            each = each._replace(floors=floors)
        found.append(each)
    return found


def _vectors(array: np.ndarray, random: np.random.Generator) -> list[np.ndarray]:
    """Return directions: each element where there are few, else two of all, one of the last ones and one element."""
    if array.size <= _FEW:
        return [each.reshape(array.shape) for each in np.eye(array.size)]
    signs = [random.choice((-1.0, 1.0), array.size) for _ in range(3)]
    signs[2][: array.size - max(1, array.size // 16)] = 0.0
    one = np.zeros(array.size)
    one[random.integers(array.size)] = 1.0
    return [each.reshape(array.shape) for each in (*signs, one)]


def _weighted(trial: Trial, question: Question, cotangents: list[np.ndarray | None]) -> Callable[[dict[str, np.ndarray]], float]:
    def evaluate(arguments: dict[str, np.ndarray]) -> float:
        outputs = trial.entry.evaluate(arguments, trial.parameters)
        pairs = [(each, cotangent) for each, cotangent in zip(outputs, cotangents, strict=True) if cotangent is not None]
        return float(sum(np.sum(each * cotangent) for each, cotangent in pairs))

    return evaluate


def _mean_of_known(squares: np.ndarray) -> np.ndarray:
    """Return the mean over the first axis of what is not NaN; NaN where all is."""
    known = ~np.isnan(squares)
    return np.asarray(np.where(known, squares, 0.0).sum(0) / np.where(known.any(0), known.sum(0), np.nan))


def _uncancelled(outputs: list[np.ndarray], question: Question, argument: np.ndarray) -> float:
    """Return the root mean square that the elements of a gradient have where nothing cancels.

    An element times its gradient is its part in the pulled sum of outputs, and parts of random sign add by their squares.
    """
    pairs = zip(outputs, question.cotangents, strict=True)
    parts = [np.where(np.isfinite(each), each, 0.0) * pulled.astype(np.float64) for each, pulled in pairs if pulled is not None]
    numbers = np.where(np.isfinite(argument), argument, 0.0)
    size = max(norm_of(numbers), _SMALL * math.sqrt(argument.size))
    return math.hypot(*(norm_of(each) for each in parts)) / size if size > 0.0 else 0.0


def _fourth_order(function: Callable[[float], np.ndarray | float], step: float) -> np.ndarray | float:
    """Return the derivative at 0 by the central difference of fourth order."""
    return (8.0 * (function(step) - function(-step)) - (function(2.0 * step) - function(-2.0 * step))) / (12.0 * step)


def _one_sided(function: Callable[[float], np.ndarray], step: float) -> np.ndarray:
    """Return the derivative at 0 by the difference of third order to one side; to the other one of a negative step."""
    differences = 18.0 * function(step) - 9.0 * function(2.0 * step) + 2.0 * function(3.0 * step) - 11.0 * function(0.0)
    return differences / (6.0 * step)


def _derivative(
    trial: Trial,
    arguments: dict[str, np.ndarray],
    question: Question,
    name: str,
    vector: np.ndarray,
    random: np.random.Generator,
    least: float,
) -> Direction | None:
    """Return the derivative along a direction. least: what rounding makes of each element of the gradient, at least."""
    cotangents = [None if each is None else each.astype(np.float64) for each in question.cotangents]

    def along(arguments: dict[str, np.ndarray], cotangents: list[np.ndarray | None]) -> Callable[[float], float]:
        weighted = _weighted(trial, question, cotangents)
        return lambda step: weighted(arguments | {name: arguments[name] + step * vector})

    plain = along(arguments, cotangents)
    found = [float(_fourth_order(plain, step)) for step in _STEPS]
    size = max(abs(found[0]), abs(found[1]), 1e-30)
    uncertainty = abs(found[0] - found[1])
    if not math.isfinite(uncertainty):
        return None
    # The larger step has less rounding, the smaller one fewer kinks: they agree where there are none.
    scale = max(size, 1e-3 * math.sqrt(float(np.sum(vector**2))))
    if uncertainty > _KINK * scale:
        return None
    squares = []
    unit = UNITS[question.precision]
    for _ in range(_FEW_DRAWS):
        pulled = [None if each is None else each * (1.0 + unit * random.uniform(-1.0, 1.0, each.shape)) for each in cotangents]
        drawn = float(_fourth_order(along(_moved(arguments, question, random), pulled), _STEPS[0]))
        if math.isfinite(drawn):
            squares.append((drawn - found[0]) ** 2)
    floor = math.sqrt(sum(squares) / len(squares)) if squares else 0.0
    return Direction(vector, found[0], math.hypot(floor, uncertainty, least * norm_of(vector)))


def _elements_gradient(
    trial: Trial, arguments: dict[str, np.ndarray], question: Question, name: str, random: np.random.Generator
) -> Held:
    """Return the gradient of an elementwise operator: all elements are moved at once."""
    cotangents = [None if each is None else each.astype(np.float64) for each in question.cotangents]

    def of(arguments: dict[str, np.ndarray], cotangents: list[np.ndarray | None]) -> Callable[[float], np.ndarray]:
        def along(step: float) -> np.ndarray:
            outputs = trial.entry.evaluate(arguments | {name: arguments[name] + step}, trial.parameters)
            pairs = [(each, cotangent) for each, cotangent in zip(outputs, cotangents, strict=True) if cotangent is not None]
            return np.asarray(sum(each * cotangent for each, cotangent in pairs))

        return along

    with np.errstate(all="ignore"):
        plain = of(arguments, cotangents)
        coarse, fine = (np.asarray(_fourth_order(plain, step)) for step in _STEPS)
        uncertainty = np.abs(coarse - fine)
        unit = UNITS[question.precision]
        squares = []
        for _ in range(_FEW_DRAWS):
            pulled = [
                None if each is None else each * (1.0 + unit * random.uniform(-1.0, 1.0, each.shape)) for each in cotangents
            ]
            squares.append(
                np.square(np.asarray(_fourth_order(of(_moved(arguments, question, random), pulled), _STEPS[0])) - coarse)
            )
        spread = np.sqrt(_mean_of_known(np.array(squares)))
        values = np.asarray(coarse)
        floors = np.sqrt(spread**2 + uncertainty**2 + (unit / math.sqrt(3.0) * np.abs(values)) ** 2) + LEAST[question.precision]
        where = np.isfinite(values) & np.isfinite(floors)
        for _ in range(2):  # a jump is a difference as large as one over the step, and tells nothing of how large the others are
            size = max(1e-30, typical_of(values[where]))
            where &= uncertainty <= _KINK * np.maximum(np.abs(values), size)
        pulled_by = max((float(np.mean(np.square(each))) for each in cotangents if each is not None and each.size), default=0.0)
        typical = max(typical_of(floors[where]), unit * math.sqrt(pulled_by))
        floors = np.maximum(floors, GRADIENT_SHARE[question.precision] * typical)
        where &= np.abs(np.where(np.isfinite(values), values, 0.0)) < _LARGEST[question.precision] / 4
        if trial.values == EQUAL:
            sides = np.abs(_one_sided(plain, _STEPS[0]) - _one_sided(plain, -_STEPS[0]))
            # A jump is as small as what pulls it.
            pulled = np.max([np.abs(each) for each in cotangents if each is not None], axis=0)
            where &= sides <= _SIDES * np.maximum(np.abs(values), np.minimum(size, pulled))
    return Held(values, floors, where)
