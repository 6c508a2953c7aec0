"""What an operator is asked: sizes, parameters, precisions, layouts, and numbers that are none."""

from __future__ import annotations

import json
import math
import warnings
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from runners.contract.audit.frame import CUT, Question
from runners.contract.operators.trials import rounded
from vigil.audit.derivatives import where_smooth
from vigil.audit.entry import COLLECTIVES, Entry

LAYOUTS = ("transposed", "strided", "offset", "channels_last")
PLAIN = "plain"
GIVEN, ANY, EQUAL = "given", "nan and infinities", "zeros, ones and equal numbers"
SMOOTH = f"second derivatives, {EQUAL}"  # those of EQUAL where there are any: one that is none would leave no sum to hold
EMPTY = "an empty axis"
# No denormal numbers: TensorFlow and XLA take them as zero on CPUs.
_ANY = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-37, -1e-37, 1e30, -1e30, 1.0, -1.0)
# Groups must divide channels, and what is done around an image may be defined for windows with a middle alone.
_OF_KERNELS = ("c", "g", "o", "kd", "kh", "kw")
OFTEN = 60  # calls
# Families whose calls are loops: steps, batches, draws. What goes wrong now and then shows within one.
_LOOPS = ("fitting", "metrics", "optimizers", "schedules", "statistics")
_QUICK_SIZES = 3  # the least, one that no vector divides, and the first beyond a thousand


class Trial(NamedTuple):
    """One set of arguments of an operator: `draw` makes them, and the same ones each time.

    derives: derivatives by other ways than reverse mode are asked for. calls: how often each call is made.
    threads: how many the framework has, unless an audit says otherwise.
    """

    entry: Entry
    number: int
    sizes: Mapping[str, int]
    parameters: Mapping[str, Any]
    precision: str
    layout: str = PLAIN
    values: str = GIVEN
    derives: bool = False
    calls: int = 2
    threads: int = 1

    @property
    def id(self) -> str:
        return f"{self.entry.name}-{self.number}"

    @property
    def form(self) -> str:
        """Return what is tried, in words."""
        said = [f"{name}={size}" for name, size in self.sizes.items()]
        said += [f"{name}={value}" for name, value in self.parameters.items()]
        said += [self.precision] + [each for each in (self.layout, self.values) if each not in (PLAIN, GIVEN)]
        return ", ".join(said)

    def arguments(self, seed: int) -> dict[str, np.ndarray]:
        """Return arguments in float64: numbers that the precision has, which depend on the seed and on what is tried."""
        return {name: self._rounded(name, each) for name, each in self.unrounded(seed).items()}

    def unrounded(self, seed: int) -> dict[str, np.ndarray]:
        """Return the arguments as they were before the precision rounded them: numbers are equal where they are meant to be."""
        values = EQUAL if self.values == SMOOTH else self.values
        key = json.dumps([self.entry.name, sorted(self.sizes.items()), self.parameters, values], sort_keys=True)
        random = np.random.default_rng((seed, zlib.crc32(key.encode())))
        found = self.entry.draw(random, self.sizes)
        if self.values == ANY:
            found = {name: _with_any(random, each) if each.dtype.kind == "f" else each for name, each in found.items()}
        if values == EQUAL:
            equal = _with_equal(random, found)
            outputs = self.entry.evaluate(equal, self.parameters)
            kept = np.logical_and.reduce([np.isfinite(each) for each in outputs])
            drawn, found = found, _where(kept, equal, found)
            # What jumps is told by the size of the others, among which are none that jump only in the end.
            while self.values == SMOOTH and (kept & ~(smooth := self._where_smooth(found))).any():
                kept &= smooth
                found = _where(kept, equal, drawn)
        return found

    def _where_smooth(self, arguments: Mapping[str, np.ndarray]) -> np.ndarray:
        return where_smooth(lambda some: self.entry.evaluate(some, self.parameters), arguments, self.entry.differentiated)

    def _rounded(self, name: str, array: np.ndarray) -> np.ndarray:
        if array.dtype.kind != "f" or self.precision == "fp64":
            return array
        precision = "fp32" if name in self.entry.kept else self.precision
        with np.errstate(over="ignore"):
            return rounded(array, precision).astype(np.float64)

    def question(self, seed: int) -> Question:
        """Return what a runner is asked."""
        arguments, kind = self.arguments(seed), np.float64 if self.precision == "fp64" else np.float32
        differentiated = self.entry.differentiated if self.values != ANY else ()
        outputs = self.entry.evaluate(arguments, self.parameters)
        random = np.random.default_rng((seed, zlib.crc32(self.id.encode()), 1))
        cotangents = tuple(
            rounded(random.standard_normal(each.shape), self.precision).astype(kind)
            if each.dtype.kind == "f" and differentiated
            else None
            for each in outputs
        )
        return Question(
            id=self.id,
            operator=self.entry.name,
            parameters=dict(self.parameters),
            arguments={name: each.astype(kind) if each.dtype.kind == "f" else each for name, each in arguments.items()},
            differentiated=differentiated,
            kept=self.entry.kept,
            cotangents=cotangents,
            precision=self.precision,
            layout=self.layout,
            is_program=self.entry.is_program,
            calls=self.calls,
            directions=self._directions(seed, arguments, differentiated) if any(each is not None for each in cotangents) else (),
        )

    def _directions(
        self, seed: int, arguments: Mapping[str, np.ndarray], differentiated: Sequence[str]
    ) -> tuple[dict[str, np.ndarray], ...]:
        """Return two directions, in each of which every element moves; none where nothing is asked along them."""
        if not self.derives or not sum(arguments[name].size for name in differentiated):
            return ()
        random = np.random.default_rng((seed, zlib.crc32(self.id.encode()), 4))
        return tuple({name: random.choice((-1.0, 1.0), arguments[name].shape) for name in differentiated} for _ in range(2))


def _where(kept: np.ndarray, arguments: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.where(kept, arguments[name], each) for name, each in others.items()}


def _with_any(random: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Return an array with numbers that are none, and the smallest and largest, at half of its places."""
    flat = array.ravel().copy()
    places = random.permutation(flat.size)[: max(1, flat.size // 2)]
    flat[places] = [_ANY[place % len(_ANY)] for place in range(len(places))]
    return flat.reshape(array.shape)


def _with_equal(random: np.random.Generator, arguments: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return arguments with numbers where formulas branch: 0, 1 and -1, and what equals the first argument, or minus it.

    Of one or two arguments each combination is there, in random order: what is wrong at one shows with any seed. What would lie
    beyond the numbers drawn stays as it was, but for 0 and 1: a function of positive numbers is asked for no negative one.
    """
    names = [name for name, array in arguments.items() if array.dtype.kind == "f" and array.size]
    if not names:
        return dict(arguments)
    first, *others = names
    shape = arguments[first].shape
    counts = (4, *(6 for _ in others))
    combinations = random.permutation(math.prod(counts))
    chosen = np.unravel_index(random.permutation(np.resize(combinations, arguments[first].size)), counts)
    found = dict(arguments)
    for name, choice in zip(names, chosen, strict=True):
        array = arguments[name]
        values = [array, np.zeros(shape), np.ones(shape), -np.ones(shape)]
        values += [] if name == first else [found[first], -found[first]]
        equal = np.choose(choice.reshape(shape), values)
        found[name] = np.where((equal >= min(array.min(), 0.0)) & (equal <= max(array.max(), 1.0)), equal, array)
    return found


def plan(
    entry: Entry, *, is_quick: bool = False, has_layouts: bool = False, derives_largely: bool = False,
    precisions: Sequence[str] = (), devices: int = 1,
) -> list[Trial]:  # fmt: skip
    """Return what is tried, the smallest first.

    Args:
        is_quick: the sizes that find most, in fp32, without layouts.
        derives_largely: further derivatives are asked for beyond the least sizes too.
        precisions: those that are asked for; empty: all of the entry's.
        devices: over several of them the arguments are cut, along each axis in turn, in fp32 alone: how a program is parted
            depends on shapes and parameters, and a wrong part is far off in every precision.
    """
    allowed = [each for each in entry.precisions if not precisions or each in precisions]
    if devices > 1:
        return _cut(entry, is_quick=is_quick) if "fp32" in allowed and not entry.is_program else []
    first = entry.sizes[0]
    forms: list[tuple[Mapping[str, int], Mapping[str, Any]]] = [(first, each) for each in entry.parameters]
    forms += [(size, entry.parameters[place % len(entry.parameters)]) for place, size in enumerate(entry.sizes) if place]
    tried: list[tuple[Mapping[str, int], Mapping[str, Any], str, str, str, bool]] = []
    if "fp32" in allowed:
        kept = _quick(entry, forms) if is_quick else forms
        tried += [(size, parameters, "fp32", PLAIN, GIVEN, False) for size, parameters in kept]
        if entry.takes_any:
            tried.append((entry.sizes[min(2, len(entry.sizes) - 1)], entry.parameters[0], "fp32", PLAIN, ANY, False))
    if not is_quick:
        middle, large = (entry.sizes[min(place, len(entry.sizes) - 1)] for place in (2, 3))
        if has_layouts and "fp32" in allowed and not entry.is_program:
            tried += [(middle, entry.parameters[0], "fp32", each, GIVEN, False) for each in LAYOUTS]
        for precision in allowed:
            if precision == "fp64":
                # In float64 nothing of a derivative's formula hides behind rounding; each set of parameters may have its own.
                tried += [(first, each, precision, PLAIN, GIVEN, True) for each in entry.parameters]
                tried.append((middle, entry.parameters[-1], precision, PLAIN, GIVEN, derives_largely))
            elif precision != "fp32":
                tried += [(size, entry.parameters[-1], precision, PLAIN, GIVEN, False) for size in (middle, large)]
        if entry.is_elementwise and entry.takes_equal and entry.differentiated and "fp64" in allowed:
            tried += [(middle, each, "fp64", PLAIN, EQUAL, False) for each in entry.parameters]
            tried += [(middle, each, "fp64", PLAIN, SMOOTH, True) for each in entry.parameters]
        if "fp32" in allowed and not entry.is_program and entry.family not in _LOOPS:
            tried += [(each, entry.parameters[0], "fp32", PLAIN, EMPTY, False) for each in _empty(entry)]
    return _often([Trial(entry, number, *each) for number, each in enumerate(tried)], is_quick=is_quick)


def _empty(entry: Entry) -> list[Mapping[str, int]]:
    """Return the least sizes with one of them 0, as far as the definition says what is right of it, and that is something."""
    found: list[Mapping[str, int]] = []
    for name in entry.sizes[0]:
        sizes = {**entry.sizes[0], name: 0}
        try:
            arguments = entry.draw(np.random.default_rng(0), sizes)
            outputs = entry.evaluate(arguments, entry.parameters[0])
        except Exception:  # sizes that do not go together: whatever the definition raises
            continue
        if all(each.size for each in arguments.values()):  # a bound of what is drawn, and no axis
            continue
        # What is NaN of nothing, as the mean of no numbers, is nobody's to say.
        is_held = any(each.size and not np.isnan(each).all() for each in outputs)
        is_pulled = any(arguments[name].size for name in entry.differentiated) and not any(
            np.isnan(each).any() for each in outputs
        )
        if is_held or is_pulled:
            found.append(sizes)
    return found


def _often(trials: Sequence[Trial], *, is_quick: bool) -> list[Trial]:
    """Return what is tried, with many calls where something may go wrong now and then.

    Those are what devices tell each other, with all arguments. Of others they are the least arguments, and the largest, which two
    threads share.
    """
    if any(each.entry.family == COLLECTIVES for each in trials):
        return [each._replace(calls=OFTEN) for each in trials]
    plain = [each for each in trials if (each.precision, each.layout, each.values) == ("fp32", PLAIN, GIVEN)]
    if is_quick or not plain or plain[0].entry.family in _LOOPS:
        return list(trials)
    least, *others = plain
    often = {least.number: least._replace(calls=OFTEN)}
    if others:
        largest = max(others, key=lambda each: sum(math.prod(of.shape(each.sizes)) for of in each.entry.arguments.values()))
        often[largest.number] = largest._replace(calls=OFTEN, threads=2)
    return [often.get(each.number, each) for each in trials]


def _cut(entry: Entry, *, is_quick: bool) -> list[Trial]:
    """Return what is tried over several devices: every axis cut that an argument has.

    Sizes are even, as they are mostly where arrays are cut: the middle ones, and the least for each set of parameters. The
    middle ones as they are, which two do not divide, come to it.
    """
    middle, usual = entry.sizes[min(2, len(entry.sizes) - 1)], entry.parameters[0]
    forms = [] if is_quick else [(_even(entry, entry.sizes[0], each), each) for each in entry.parameters]
    forms.append((_even(entry, middle, usual), usual))
    if not is_quick and forms[-1][0] != middle:
        forms.append((middle, usual))
    tried = []
    for sizes, parameters in forms:
        shapes = [each.shape(sizes) for each in entry.arguments.values()]
        for axis in range(max(map(len, shapes), default=0)):
            if any(len(shape) > axis and shape[axis] > 1 for shape in shapes):
                tried.append((sizes, parameters, "fp32", f"{CUT}{axis}"))
    return [Trial(entry, number, *each) for number, each in enumerate(tried)]


def _even(entry: Entry, sizes: Mapping[str, int], parameters: Mapping[str, Any]) -> Mapping[str, int]:
    """Return sizes of which each is even, if the operator has such ones; else these. Of a convolution only images are."""
    kept = _OF_KERNELS if "kw" in sizes else ()
    even = {name: size if name in kept else size + size % 2 for name, size in sizes.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            entry.evaluate(entry.draw(np.random.default_rng(0), even), parameters)
    except Exception:  # sizes that do not go together: whatever the definition raises
        return sizes
    return even


def _quick(entry: Entry, forms: Sequence[Any]) -> list[Any]:
    """Return a part of the forms: all parameters at the least sizes, and two larger ones."""
    count = len(entry.parameters)
    return [*forms[:count], *[form for form in forms[count:] if form[0] in entry.sizes[2 : 1 + _QUICK_SIZES]]]
