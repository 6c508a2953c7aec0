"""What gathers numbers along axes: sums, extremes, moments, norms, softmax, running sums, quantiles, counts.

Sizes reduce a last axis that no vector divides, a middle one and a first one beyond a thousand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vigil.audit.arguments import Argument, drawn, integers, mask, normal, positive, spread, twice
from vigil.audit.entry import ROWS, operator

NUMPY = "https://numpy.org/doc/stable/reference/generated/numpy."
TORCH = "https://docs.pytorch.org/docs/stable/generated/torch."
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/"
JAX = "https://docs.jax.dev/en/latest/_autosummary/jax."
SCIPY = "https://docs.scipy.org/doc/scipy/reference/generated/scipy."

Axis = int | list[int] | None
_NAMES = ("m", "n", "k")
CUBES = tuple(
    dict(zip(_NAMES, each, strict=True))
    for each in ((2, 3, 5), (1, 1, 1), (3, 7, 33), (2, 3, 1027), (2, 1027, 3), (1027, 2, 2), (1, 2, 4099))
)
# The same where values must differ in bfloat16.
_ORDERED = (*CUBES[:3], {"m": 1, "n": 1, "k": 1027}, *CUBES[4:6], CUBES[3])
# The sizes from the fourth on take the parameters from the fourth on: each long axis is the one that is reduced.
AXES: tuple[Mapping[str, Any], ...] = tuple(
    {"axis": axis, "keepdims": keepdims}
    for axis, keepdims in ((-1, False), (1, True), (None, False), (2, True), (1, False), ([0, 2], False))
)
ONE_AXIS: tuple[Mapping[str, Any], ...] = tuple({"axis": axis} for axis in (-1, 1, 0, 2, 1, 0))
_ONE_KEPT = tuple({"axis": axis, "keepdims": keepdims} for axis, keepdims in ((-1, False), (1, True), (0, False)) * 2)
_WIDE = ("fp32", "fp64")


def along(axis: Axis) -> int | tuple[int, ...] | None:
    """Return an axis as NumPy takes it: several in a tuple."""
    return tuple(axis) if isinstance(axis, list) else axis


def _near_one(*dims: int | str) -> Argument:
    """Return an argument whose products neither vanish nor overflow, in float16 and over a thousand numbers."""
    return drawn(
        lambda random, shape, sizes: np.exp2(random.uniform(-0.1, 0.1, shape)) * random.choice((-1.0, 1.0), shape), *dims
    )


def _with_zeros(*dims: int | str, count: int = 1) -> Argument:
    """Return an argument like `_near_one` with zeros, up to a count of them along the last axis."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = np.exp2(random.uniform(-0.1, 0.1, shape))
        for _ in range(count):
            np.put_along_axis(found, random.integers(0, shape[-1], (*shape[:-1], 1)), 0.0, axis=-1)
        return found

    return drawn(draw, *dims)


def _with_nans(*dims: int | str, share: float = 0.3) -> Argument:
    """Return an argument of which a share is NaN, and the first along each axis never."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = spread(*dims).draw(random, shape, sizes)
        absent = random.random(shape) < share
        for axis in range(len(shape)):
            absent[(slice(None),) * axis + (0,)] = False
        return np.where(absent, np.nan, found)

    return drawn(draw, *dims, is_differentiated=False)


def _with_infinities(*dims: int | str) -> Argument:
    """Return an argument with a row of minus infinities, a row with one infinity, and rows with some minus infinities."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = random.standard_normal(shape)
        found[random.random(shape) < 0.2] = -np.inf
        found[0] = -np.inf
        found[-1, -1] = np.inf
        return found

    return drawn(draw, *dims, is_differentiated=False)


def _apart(*dims: int | str) -> Argument:
    """Return an argument of which all values differ by a 64th at least; up to 1,792 of them in bfloat16 as well."""
    exponents = np.exp2(np.arange(1, 8))[:, None] * (1.0 + np.arange(128) / 128.0)
    few = np.concatenate([exponents.ravel(), -exponents.ravel()])
    few = few[np.argsort(np.abs(few), kind="stable")]

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        count = int(np.prod(shape))
        values = few[:count] if count <= few.size else (np.arange(count) - count // 2) / 64.0
        return random.permutation(values).reshape(shape)

    return drawn(draw, *dims)


@operator(source=NUMPY + "sum.html", sizes=CUBES, parameters=AXES, x=normal("m", "n", "k"), takes_any=True)
def sum_(x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    """Sums."""
    return np.sum(x, axis=along(axis), keepdims=keepdims)


@operator(source=NUMPY + "sum.html", sizes=({"n": 7}, {"n": 1}, {"n": 65537}), x=normal("n"))
def sum_of_all(x: np.ndarray) -> np.ndarray:
    """The sum of all numbers of a long vector."""
    return np.sum(x)


@operator(source=NUMPY + "sum.html", sizes=CUBES[:5], parameters=ONE_AXIS[:5], x=normal("m", "n", "k"), where=mask("m", "n", "k"))
def sum_where(x: np.ndarray, where: np.ndarray, axis: int) -> np.ndarray:
    """Sums of the numbers that a mask has true."""
    return np.sum(np.where(where, x, 0.0), axis=axis)


@operator(source=NUMPY + "mean.html", sizes=CUBES, parameters=AXES, x=normal("m", "n", "k", mean=1.0))
def mean(x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    """Means."""
    return np.mean(x, axis=along(axis), keepdims=keepdims)


@operator(
    source=NUMPY + "mean.html", sizes=CUBES[:4], parameters=ONE_AXIS[:4], x=normal("m", "n", "k"), where=mask("m", "n", "k")
)
def mean_where(x: np.ndarray, where: np.ndarray, axis: int) -> np.ndarray:
    """Means of the numbers that a mask has true; NaN where there are none."""
    return np.sum(np.where(where, x, 0.0), axis=axis) / np.sum(where, axis=axis)


@operator(source=NUMPY + "prod.html", sizes=CUBES, parameters=AXES, x=_near_one("m", "n", "k"))
def prod(x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    """Products."""
    return np.prod(x, axis=along(axis), keepdims=keepdims)


@operator(
    source=NUMPY + "prod.html",
    sizes=ROWS[:4],
    parameters=[{"axis": -1}, {"axis": 0}, {"axis": None}, {"axis": 1}],
    x=_with_zeros("m", "n"),
)
def prod_with_a_zero(x: np.ndarray, axis: int | None) -> np.ndarray:
    """Products of numbers one of which is zero in each row: the gradient of that one alone is not zero."""
    return np.prod(x, axis=axis)


@operator(source=NUMPY + "prod.html", sizes=ROWS[:4], parameters=[{"axis": -1}], x=_with_zeros("m", "n", count=2))
def prod_with_two_zeros(x: np.ndarray, axis: int | None) -> np.ndarray:
    """Products of numbers up to two of which are zero in each row."""
    return np.prod(x, axis=axis)


@operator(source=NUMPY + "max.html", sizes=_ORDERED, parameters=AXES, x=_apart("m", "n", "k"), takes_any=True)
def max_(x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    """The largest numbers; NaN where there is one."""
    return np.max(x, axis=along(axis), keepdims=keepdims)


@operator(
    source=NUMPY + "max.html", sizes=_ORDERED[:4], parameters=AXES[:4], precisions=("fp32", "bf16"), x=_apart("m", "n", "k")
)
def max_of_equals(x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    """The largest of numbers that stand there twice along each axis: however they share a gradient, it is one."""
    return np.max(twice(x, range(3)), axis=along(axis), keepdims=keepdims)


@operator(source=NUMPY + "min.html", sizes=_ORDERED, parameters=AXES, x=_apart("m", "n", "k"), takes_any=True)
def min_(x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    """The smallest numbers; NaN where there is one."""
    return np.min(x, axis=along(axis), keepdims=keepdims)


@operator(
    source=TORCH + "aminmax.html",
    sizes=_ORDERED[:5],
    parameters=ONE_AXIS[:5],
    x=_apart("m", "n", "k"),
    precisions=("fp32", "bf16"),
)
def aminmax(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest numbers."""
    return np.min(x, axis=axis), np.max(x, axis=axis)


@operator(source=NUMPY + "ptp.html", sizes=_ORDERED[:5], parameters=_ONE_KEPT[:5], x=_apart("m", "n", "k"))
def ptp(x: np.ndarray, axis: int, keepdims: bool) -> np.ndarray:
    """The largest number less the smallest."""
    return np.max(x, axis=axis, keepdims=keepdims) - np.min(x, axis=axis, keepdims=keepdims)


@operator(
    source=NUMPY + "max.html", sizes=_ORDERED[:4], parameters=ONE_AXIS[:4], x=_apart("m", "n", "k"), where=mask("m", "n", "k")
)
def max_where(x: np.ndarray, where: np.ndarray, axis: int) -> np.ndarray:
    """The largest numbers, and -100 at least, of those that a mask has true."""
    return np.max(np.where(where, x, -100.0), axis=axis)


_FOUND = [{"axis": axis} for axis in (-1, 1, 0, 2, 1, 0)]


@operator(source=NUMPY + "argmax.html", sizes=_ORDERED, parameters=_FOUND, x=_apart("m", "n", "k").fixed())
def argmax(x: np.ndarray, axis: int) -> np.ndarray:
    """Where the largest number is."""
    return np.argmax(x, axis=axis)


@operator(source=NUMPY + "argmin.html", sizes=_ORDERED, parameters=_FOUND, x=_apart("m", "n", "k").fixed())
def argmin(x: np.ndarray, axis: int) -> np.ndarray:
    """Where the smallest number is."""
    return np.argmin(x, axis=axis)


@operator(
    source=NUMPY + "argmax.html",
    sizes=ROWS[:5],
    parameters=[{"axis": -1}],
    x=drawn(lambda random, shape, sizes: random.integers(0, 4, shape) * 1.0, "m", "n", is_differentiated=False),
)
def argmax_of_equals(x: np.ndarray, axis: int) -> np.ndarray:
    """Where the largest number is first, of numbers many of which are equal."""
    return np.argmax(x, axis=axis)


@operator(source=NUMPY + "any.html", sizes=CUBES, parameters=AXES, precisions=("fp32",), x=mask("m", "n", "k", share=0.1))
def any_(x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    """Is one of them true?"""
    return np.any(x, axis=along(axis), keepdims=keepdims)


@operator(source=NUMPY + "all.html", sizes=CUBES, parameters=AXES, precisions=("fp32",), x=mask("m", "n", "k", share=0.9))
def all_(x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    """Are all of them true?"""
    return np.all(x, axis=along(axis), keepdims=keepdims)


@operator(
    source=NUMPY + "count_nonzero.html",
    sizes=CUBES[:5],
    parameters=ONE_AXIS[:5],
    x=drawn(lambda random, shape, sizes: np.round(random.standard_normal(shape)), "m", "n", "k", is_differentiated=False),
)
def count_nonzero(x: np.ndarray, axis: int) -> np.ndarray:
    """How many numbers are not zero."""
    return np.count_nonzero(x, axis=axis)


_MOMENTS = [
    {"axis": axis, "correction": correction, "keepdims": keepdims}
    for axis, correction, keepdims in ((-1, 0, False), (1, 1, True), (None, 0, False), (2, 1, False), ([0, 1], 0, False),
        ([0, 2], 1, False))
]  # fmt: skip
_MOMENT_SIZES = (CUBES[0], {"m": 2, "n": 2, "k": 2}, *CUBES[2:])


@operator(source=NUMPY + "var.html", sizes=_MOMENT_SIZES, parameters=_MOMENTS, x=normal("m", "n", "k", mean=1.0))
def var(x: np.ndarray, axis: Axis, correction: int, keepdims: bool) -> np.ndarray:
    """Variances: sums of squares of what differs from the mean, over the count less a correction."""
    return np.var(x, axis=along(axis), ddof=correction, keepdims=keepdims)


@operator(source=NUMPY + "var.html", sizes=ROWS[2:5], x=normal("m", "n", mean=300.0), precisions=_WIDE)
def var_far_from_zero(x: np.ndarray) -> np.ndarray:
    """Variances along the last axis of numbers whose mean is 300 standard deviations."""
    return np.var(x, axis=-1)


@operator(source=NUMPY + "std.html", sizes=_MOMENT_SIZES, parameters=_MOMENTS, x=normal("m", "n", "k", mean=1.0))
def std(x: np.ndarray, axis: Axis, correction: int, keepdims: bool) -> np.ndarray:
    """Standard deviations: roots of variances."""
    return np.std(x, axis=along(axis), ddof=correction, keepdims=keepdims)


@operator(source=TORCH + "var_mean.html", sizes=_MOMENT_SIZES[:5], parameters=_MOMENTS[:5], x=normal("m", "n", "k", mean=1.0))
def var_mean(x: np.ndarray, axis: Axis, correction: int, keepdims: bool) -> tuple[np.ndarray, np.ndarray]:
    """Variances and means."""
    how = {"axis": along(axis), "keepdims": keepdims}
    return np.var(x, ddof=correction, **how), np.mean(x, **how)


@operator(source=TORCH + "std_mean.html", sizes=_MOMENT_SIZES[:4], parameters=_MOMENTS[:4], x=normal("m", "n", "k", mean=1.0))
def std_mean(x: np.ndarray, axis: Axis, correction: int, keepdims: bool) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations and means."""
    how = {"axis": along(axis), "keepdims": keepdims}
    return np.std(x, ddof=correction, **how), np.mean(x, **how)


@operator(
    source=NUMPY + "average.html",
    sizes=ROWS[:4],
    parameters=[{"axis": 1}, {"axis": 0}, {"axis": None}, {"axis": -1}],
    x=normal("m", "n"),
    weights=positive("m", "n"),
)
def average(x: np.ndarray, weights: np.ndarray, axis: int | None) -> np.ndarray:
    """Weighted means."""
    return np.sum(x * weights, axis=axis) / np.sum(weights, axis=axis)


@operator(source=NUMPY + "cov.html", sizes=({"m": 3, "n": 7}, {"m": 2, "n": 33}, {"m": 5, "n": 1027}), x=normal("m", "n"))
def cov(x: np.ndarray) -> np.ndarray:
    """Covariances of rows, over the count less 1."""
    return np.cov(x)


@operator(source=NUMPY + "corrcoef.html", sizes=({"m": 3, "n": 7}, {"m": 2, "n": 33}, {"m": 5, "n": 1027}), x=normal("m", "n"))
def corrcoef(x: np.ndarray) -> np.ndarray:
    """Correlations of rows."""
    return np.corrcoef(x)


def _away_from_zero(*dims: int | str) -> Argument:
    """Return an argument whose magnitudes differ all and keep away from zero."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        count = int(np.prod(shape))
        sizes_of = 0.5 + random.permutation(count) % 128 / 16.0 + random.permutation(count) / (64.0 * count)
        return (sizes_of * random.choice((-1.0, 1.0), count)).reshape(shape)

    return drawn(draw, *dims)


_ORDERS = [
    {"order": order, "axis": axis, "keepdims": keepdims}
    for order, axis, keepdims in (
        (2.0, -1, False), (1.0, 1, True), (3.0, 0, False), (2.0, 2, False), (1.0, 1, False), (2.0, [0, 2], False),
        (0.5, -1, False), (3.5, -1, True),
    )
]  # fmt: skip


@operator(
    source=TORCH.replace("torch.", "") + "torch.linalg.vector_norm.html",
    sizes=CUBES,
    parameters=_ORDERS,
    x=_away_from_zero("m", "n", "k"),
)
def vector_norm(x: np.ndarray, order: float, axis: Axis, keepdims: bool) -> np.ndarray:
    """The root of an order of the sum of powers of that order of magnitudes."""
    return np.sum(np.abs(x) ** order, axis=along(axis), keepdims=keepdims) ** (1.0 / order)


@operator(
    source=TORCH + "linalg.vector_norm.html",
    sizes=CUBES[:5],
    parameters=_FOUND[:5],
    precisions=("fp32", "fp64"),
    x=drawn(lambda random, shape, sizes: spread(*shape, axis=None).draw(random, shape, sizes) + 0.07, "m", "n", "k"),
)
def vector_norm_infinity(x: np.ndarray, axis: int) -> np.ndarray:
    """The largest magnitudes."""
    return np.max(np.abs(x), axis=axis)


@operator(
    source=TORCH + "linalg.vector_norm.html",
    sizes=_ORDERED[:4],
    parameters=_FOUND[:4],
    precisions=("fp32",),
    x=_apart("m", "n", "k"),
)
def vector_norm_infinity_of_equals(x: np.ndarray, axis: int) -> np.ndarray:
    """The largest magnitudes of numbers that stand there twice along each axis: however they share a gradient, it is one."""
    return np.max(np.abs(twice(x, range(3))), axis=axis)


@operator(source=TORCH + "linalg.vector_norm.html", sizes=ROWS[:4], precisions=("fp32", "fp64"), x=_with_zeros("m", "n").fixed())
def vector_norm_zero(x: np.ndarray) -> np.ndarray:
    """How many numbers of a row are not zero, as a floating number."""
    return np.sum(x != 0, axis=-1).astype(np.float64)


@operator(
    source=TORCH + "nn.functional.normalize.html",
    sizes=ROWS,
    parameters=[{"axis": -1}, {"axis": 0}, {"axis": 1}],
    x=normal("m", "n"),
)
def l2_normalize(x: np.ndarray, axis: int) -> np.ndarray:
    """Numbers over the root of the sum of their squares."""
    return x / np.sqrt(np.sum(x**2, axis=axis, keepdims=True))


@operator(source=SCIPY + "special.logsumexp.html", sizes=CUBES, parameters=AXES, x=normal("m", "n", "k", scale=3.0))
def logsumexp(x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    """Logarithms of sums of exponentials."""
    top = np.max(x, axis=along(axis), keepdims=True)
    found = np.log(np.sum(np.exp(x - top), axis=along(axis), keepdims=True)) + top
    return found if keepdims else np.squeeze(found, along(axis))


@operator(
    source=SCIPY + "special.logsumexp.html",
    sizes=({"m": 4, "n": 7}, {"m": 5, "n": 33}, {"m": 3, "n": 1027}),
    x=_with_infinities("m", "n"),
)
def logsumexp_of_infinities(x: np.ndarray) -> np.ndarray:
    """Logarithms of sums of exponentials along the last axis: -inf of nothing but -inf, inf where there is one."""
    return np.logaddexp.reduce(x, axis=-1)


@operator(
    source=SCIPY + "special.logsumexp.html",
    sizes=ROWS[:4],
    parameters=[{"axis": -1}, {"axis": 0}],
    x=normal("m", "n", scale=3.0),
    weights=positive("m", "n"),
)
def logsumexp_weighted(x: np.ndarray, weights: np.ndarray, axis: int) -> np.ndarray:
    """Logarithms of weighted sums of exponentials."""
    return np.log(np.sum(weights * np.exp(x), axis=axis))


@operator(source=JAX + "nn.logmeanexp.html", sizes=CUBES[:5], parameters=ONE_AXIS[:5], x=normal("m", "n", "k", scale=3.0))
def logmeanexp(x: np.ndarray, axis: int) -> np.ndarray:
    """Logarithms of means of exponentials."""
    return np.log(np.mean(np.exp(x), axis=axis))


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


# The last axis beyond a thousand: one that four does not divide, one that it does, one beyond 65,536, and the first axis long.
_CLASSES = (*ROWS, {"m": 3, "n": 1025}, {"m": 2, "n": 2048}, {"m": 1027, "n": 3}, {"m": 1030, "n": 17}, {"m": 4, "n": 1})
_LAST = [{"axis": -1}, {"axis": 0}, {"axis": 1}, {"axis": -1}, {"axis": -1}, {"axis": 1}]
_SOFTMAX = [{"axis": axis} for axis in (-1, 0, 1, -1, -1, 1, -1, 1, 0, 0, -1)]


@operator(source=SCIPY + "special.softmax.html", sizes=_CLASSES, parameters=_SOFTMAX, x=normal("m", "n"))
def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """Exponentials over their sums."""
    return _softmax(x, axis)


@operator(source=SCIPY + "special.softmax.html", sizes=CUBES[:6], parameters=ONE_AXIS, x=normal("m", "n", "k"))
def softmax_of_three_axes(x: np.ndarray, axis: int) -> np.ndarray:
    """Exponentials over their sums, along one of three axes."""
    return _softmax(x, axis)


@operator(
    source=SCIPY + "special.softmax.html",
    sizes=({"m": 3, "n": 7}, {"m": 5, "n": 33}, {"m": 3, "n": 1027}),
    x=normal("m", "n", mean=200.0),
)
def softmax_of_large_numbers(x: np.ndarray) -> np.ndarray:
    """Exponentials over their sums along the last axis, of numbers whose exponentials overflow."""
    return _softmax(x, -1)


@operator(
    source=SCIPY + "special.softmax.html",
    sizes=({"m": 3, "n": 7}, {"m": 5, "n": 33}, {"m": 3, "n": 1027}),
    x=drawn(
        lambda random, shape, sizes: np.where(mask(*shape).draw(random, shape, sizes), random.standard_normal(shape), -np.inf),
        "m", "n", is_differentiated=False,
    ),
)  # fmt: skip
def softmax_of_infinities(x: np.ndarray) -> np.ndarray:
    """Exponentials over their sums along the last axis, of numbers some of which are minus infinity."""
    return _softmax(x, -1)


@operator(source=SCIPY + "special.log_softmax.html", sizes=_CLASSES, parameters=_SOFTMAX, x=normal("m", "n"))
def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """Numbers less the logarithms of the sums of exponentials."""
    top = x - np.max(x, axis=axis, keepdims=True)
    return top - np.log(np.sum(np.exp(top), axis=axis, keepdims=True))


@operator(source=TORCH + "nn.functional.softmin.html", sizes=_CLASSES[:6], parameters=_LAST, x=normal("m", "n"))
def softmin(x: np.ndarray, axis: int) -> np.ndarray:
    """The softmax of the negative."""
    return _softmax(-x, axis)


@operator(source=JAX + "nn.softmax.html", sizes=ROWS[:5], parameters=_LAST[:3], x=normal("m", "n"), where=mask("m", "n"))
def softmax_where(x: np.ndarray, where: np.ndarray, axis: int) -> np.ndarray:
    """Exponentials over their sums, of the numbers that a mask has true; zero elsewhere, and where it has none."""
    powers = np.where(where, np.exp(x), 0.0)
    total = np.sum(powers, axis=axis, keepdims=True)
    return powers / np.where(total == 0.0, 1.0, total)


_RUNS = (
    {"m": 2, "n": 3, "k": 5},
    {"m": 1, "n": 1, "k": 1},
    {"m": 3, "n": 7, "k": 33},
    {"m": 2, "n": 2, "k": 1027},
    {"m": 2, "n": 259, "k": 3},
)
_RUN_AXES = tuple({"axis": axis} for axis in (-1, 1, 0, 2, 1))


@operator(source=NUMPY + "cumsum.html", sizes=_RUNS, parameters=_RUN_AXES, x=normal("m", "n", "k"))
def cumsum(x: np.ndarray, axis: int) -> np.ndarray:
    """Running sums."""
    return np.cumsum(x, axis=axis)


@operator(
    source=TENSORFLOW + "math/cumsum",
    sizes=({"m": 3, "n": 7}, {"m": 2, "n": 1}, {"m": 5, "n": 33}, {"m": 2, "n": 259}),
    parameters=[
        {"axis": axis, "exclusive": exclusive, "reverse": reverse}
        for axis, exclusive, reverse in ((1, True, True), (1, False, True), (0, True, False), (-1, True, False), (0, False, True))
    ],
    x=normal("m", "n"),
)
def cumsum_directed(x: np.ndarray, axis: int, exclusive: bool, reverse: bool) -> np.ndarray:
    """Running sums from either end, with or without the number itself."""
    turned = np.flip(x, axis) if reverse else x
    found = np.cumsum(turned, axis=axis) - (turned if exclusive else 0.0)
    return np.flip(found, axis) if reverse else found


@operator(source=NUMPY + "cumulative_sum.html", sizes=ROWS[:4], parameters=[{"axis": 1}, {"axis": 0}], x=normal("m", "n"))
def cumulative_sum_with_initial(x: np.ndarray, axis: int) -> np.ndarray:
    """Running sums, with a zero before the first."""
    return np.concatenate([np.zeros_like(np.take(x, [0], axis=axis)), np.cumsum(x, axis=axis)], axis=axis)


@operator(source=NUMPY + "cumprod.html", sizes=_RUNS, parameters=_RUN_AXES, x=_near_one("m", "n", "k"))
def cumprod(x: np.ndarray, axis: int) -> np.ndarray:
    """Running products."""
    return np.cumprod(x, axis=axis)


@operator(
    source=NUMPY + "cumprod.html",
    sizes=({"m": 3, "n": 7}, {"m": 2, "n": 1}, {"m": 5, "n": 33}),
    parameters=[{"axis": -1}, {"axis": 0}],
    x=_with_zeros("m", "n"),
)
def cumprod_with_a_zero(x: np.ndarray, axis: int) -> np.ndarray:
    """Running products of numbers one of which is zero in each row."""
    return np.cumprod(x, axis=axis)


@operator(source=TORCH + "cummax.html", sizes=_RUNS, parameters=_RUN_AXES, x=spread("m", "n", "k", axis=None))
def cummax(x: np.ndarray, axis: int) -> np.ndarray:
    """Running maxima."""
    return np.maximum.accumulate(x, axis=axis)


@operator(source=TORCH + "cummin.html", sizes=_RUNS, parameters=_RUN_AXES, x=spread("m", "n", "k", axis=None))
def cummin(x: np.ndarray, axis: int) -> np.ndarray:
    """Running minima."""
    return np.minimum.accumulate(x, axis=axis)


@operator(source=TORCH + "cummax.html", sizes=_RUNS, parameters=_RUN_AXES, x=spread("m", "n", "k", axis=None).fixed())
def cummax_with_places(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Running maxima, and where each of them is."""
    found = np.maximum.accumulate(x, axis=axis)
    places = np.arange(x.shape[axis]).reshape([-1 if each == axis % x.ndim else 1 for each in range(x.ndim)])
    return found, np.maximum.accumulate(np.where(x == found, places, 0), axis=axis)


@operator(source=TORCH + "cummin.html", sizes=_RUNS, parameters=_RUN_AXES, x=spread("m", "n", "k", axis=None).fixed())
def cummin_with_places(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Running minima, and where each of them is."""
    found = np.minimum.accumulate(x, axis=axis)
    places = np.arange(x.shape[axis]).reshape([-1 if each == axis % x.ndim else 1 for each in range(x.ndim)])
    return found, np.maximum.accumulate(np.where(x == found, places, 0), axis=axis)


@operator(source=TORCH + "logcumsumexp.html", sizes=_RUNS, parameters=_RUN_AXES, x=normal("m", "n", "k", scale=3.0))
def logcumsumexp(x: np.ndarray, axis: int) -> np.ndarray:
    """Logarithms of running sums of exponentials."""
    return np.logaddexp.accumulate(x, axis=axis)


@operator(source=NUMPY + "median.html", sizes=_ORDERED[:6], parameters=_ONE_KEPT, x=_apart("m", "n", "k"), precisions=_WIDE)
def median(x: np.ndarray, axis: int, keepdims: bool) -> np.ndarray:
    """The number in the middle, or the mean of the two there."""
    return np.median(x, axis=axis, keepdims=keepdims)


@operator(source=TORCH + "median.html", sizes=_ORDERED[:6], parameters=_ONE_KEPT, x=_apart("m", "n", "k"))
def median_lower(x: np.ndarray, axis: int, keepdims: bool) -> np.ndarray:
    """The number in the middle, or the lower of the two there."""
    return np.take(np.sort(x, axis=axis), [(x.shape[axis] - 1) // 2], axis=axis) if keepdims else np.take(
        np.sort(x, axis=axis), (x.shape[axis] - 1) // 2, axis=axis
    )  # fmt: skip


# What four bytes hold, and the product with a count as well: a rounded place between two numbers is another quantile.
_QUANTILES = [
    {"q": q, "axis": axis, "method": method, "keepdims": keepdims}
    for q, axis, method, keepdims in (
        (0.328125, -1, "linear", False), ([0.109375, 0.578125, 0.890625], 1, "linear", False), (0.71875, 0, "lower", True),
        ([0.0, 1.0], -1, "linear", True),
        (0.40625, 1, "higher", False), (0.609375, 0, "midpoint", False), (0.34375, -1, "nearest", False),
    )
]  # fmt: skip


@operator(source=NUMPY + "quantile.html", sizes=_ORDERED[:6], parameters=_QUANTILES, x=_apart("m", "n", "k"), precisions=_WIDE)
def quantile(x: np.ndarray, q: float | list[float], axis: int, method: str, keepdims: bool) -> np.ndarray:
    """Quantiles, between two numbers as the method says."""
    return np.quantile(x, q, axis=axis, method=method, keepdims=keepdims)


@operator(
    source=TORCH + "kthvalue.html",
    sizes=_ORDERED[:5],
    parameters=[
        {"k_th": 1, "axis": -1},
        {"k_th": 2, "axis": 1},
        {"k_th": 1, "axis": 0},
        {"k_th": 5, "axis": -1},
        {"k_th": 3, "axis": 1},
    ],
    x=_apart("m", "n", "k"),
)
def kthvalue(x: np.ndarray, k_th: int, axis: int) -> np.ndarray:
    """The smallest number but so many less one."""
    return np.take(np.sort(x, axis=axis), min(k_th, x.shape[axis]) - 1, axis=axis)


def _nan_entry(name: str, function: Any, *, lowest: bool = False, **more: Any) -> None:
    """Enter what NumPy has of numbers without NaN."""

    def definition(x: np.ndarray, axis: int, keepdims: bool) -> np.ndarray:
        return function(x, axis=axis, keepdims=keepdims)

    definition.__name__ = name
    operator(source=NUMPY + f"{name}.html", sizes=CUBES[:6], parameters=_ONE_KEPT, x=_with_nans("m", "n", "k"), **more)(
        definition
    )


_nan_entry("nansum", np.nansum)
_nan_entry("nanmean", np.nanmean)
_nan_entry("nanmax", np.nanmax)
_nan_entry("nanmin", np.nanmin)
_nan_entry("nanvar", np.nanvar, precisions=_WIDE)
_nan_entry("nanstd", np.nanstd, precisions=_WIDE)
_nan_entry("nanmedian", np.nanmedian, precisions=_WIDE)


@operator(
    source=NUMPY + "nanprod.html",
    sizes=ROWS[:3],
    parameters=[{"axis": -1}, {"axis": 0}],
    x=_with_nans("m", "n"),
    precisions=_WIDE,
)
def nanprod(x: np.ndarray, axis: int) -> np.ndarray:
    """Products of numbers without NaN."""
    return np.nanprod(x, axis=axis)


@operator(source=NUMPY + "nancumsum.html", sizes=ROWS[:4], parameters=[{"axis": -1}, {"axis": 0}], x=_with_nans("m", "n"))
def nancumsum(x: np.ndarray, axis: int) -> np.ndarray:
    """Running sums of numbers without NaN."""
    return np.nancumsum(x, axis=axis)


def _near_one_with_nans(*dims: int | str) -> Argument:
    """Return an argument like `_near_one` with NaN at three in ten places."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        return np.where(random.random(shape) < 0.3, np.nan, np.exp2(random.uniform(-0.1, 0.1, shape)))

    return drawn(draw, *dims, is_differentiated=False)


@operator(
    source=NUMPY + "nancumprod.html", sizes=ROWS[:3], parameters=[{"axis": -1}, {"axis": 0}], x=_near_one_with_nans("m", "n")
)
def nancumprod(x: np.ndarray, axis: int) -> np.ndarray:
    """Running products of numbers without NaN."""
    return np.nancumprod(x, axis=axis)


@operator(source=NUMPY + "nanargmax.html", sizes=ROWS[:4], parameters=[{"axis": -1}, {"axis": 0}], x=_with_nans("m", "n"))
def nanargmax(x: np.ndarray, axis: int) -> np.ndarray:
    """Where the largest number but NaN is."""
    return np.nanargmax(x, axis=axis)


@operator(source=NUMPY + "nanargmin.html", sizes=ROWS[:4], parameters=[{"axis": -1}, {"axis": 0}], x=_with_nans("m", "n"))
def nanargmin(x: np.ndarray, axis: int) -> np.ndarray:
    """Where the smallest number but NaN is."""
    return np.nanargmin(x, axis=axis)


@operator(
    source=NUMPY + "nanquantile.html",
    sizes=ROWS[:4],
    parameters=[{"q": 0.328125, "axis": -1}, {"q": 0.734375, "axis": 0}],
    x=_with_nans("m", "n"),
    precisions=_WIDE,
)
def nanquantile(x: np.ndarray, q: float, axis: int) -> np.ndarray:
    """Quantiles of numbers without NaN, linear between two of them."""
    return np.nanquantile(x, q, axis=axis)


@operator(
    source=NUMPY + "diff.html",
    sizes=({"m": 4, "n": 7}, {"m": 3, "n": 4}, {"m": 5, "n": 33}, {"m": 4, "n": 1027}),
    parameters=[{"order": 1, "axis": -1}, {"order": 2, "axis": 0}, {"order": 3, "axis": 1}],
    x=normal("m", "n"),
)
def diff(x: np.ndarray, order: int, axis: int) -> np.ndarray:
    """Differences of neighbours, several times."""
    return np.diff(x, n=order, axis=axis)


@operator(
    source=NUMPY + "trapezoid.html",
    sizes=({"m": 4, "n": 7}, {"m": 3, "n": 2}, {"m": 5, "n": 33}, {"m": 4, "n": 1027}),
    parameters=[{"spacing": 1.0, "axis": -1}, {"spacing": 0.3, "axis": 0}, {"spacing": 2.0, "axis": 1}],
    y=normal("m", "n"),
)
def trapezoid(y: np.ndarray, spacing: float, axis: int) -> np.ndarray:
    """Integrals by the trapezoidal rule, of numbers at even distances."""
    return np.trapezoid(y, dx=spacing, axis=axis)


@operator(
    source=NUMPY + "trapezoid.html",
    sizes=({"m": 4, "n": 7}, {"m": 3, "n": 2}, {"m": 5, "n": 33}, {"m": 4, "n": 1027}),
    y=normal("m", "n"),
    x=drawn(lambda random, shape, sizes: np.cumsum(random.uniform(0.1, 1.0, shape), axis=-1), "n"),
)
def trapezoid_at_places(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Integrals by the trapezoidal rule along the last axis, of numbers at given places."""
    return np.trapezoid(y, x)


@operator(
    source=TORCH + "cumulative_trapezoid.html",
    sizes=({"m": 4, "n": 7}, {"m": 3, "n": 2}, {"m": 5, "n": 33}, {"m": 4, "n": 259}),
    parameters=[{"axis": -1}, {"axis": 0}],
    y=normal("m", "n"),
)
def cumulative_trapezoid(y: np.ndarray, axis: int) -> np.ndarray:
    """Running integrals by the trapezoidal rule."""
    moved = np.moveaxis(y, axis, -1)
    return np.moveaxis(np.cumsum((moved[..., 1:] + moved[..., :-1]) / 2.0, axis=-1), -1, axis)


def _between_bins(*dims: int | str) -> Argument:
    """Return an argument of numbers from -4 to 4 that keep away from the edges of bins of width 0.5."""
    return drawn(
        lambda random, shape, sizes: random.integers(-8, 8, shape) / 2.0 + random.integers(1, 4, shape) / 8.0, *dims,
        is_differentiated=False,
    )  # fmt: skip


@operator(
    source=NUMPY + "histogram.html",
    sizes=({"n": 7}, {"n": 1}, {"n": 33}, {"n": 1027}, {"n": 65537}),
    parameters=[
        {"bins": 16, "low": -4.0, "high": 4.0},
        {"bins": 8, "low": -2.0, "high": 2.0},
        {"bins": 1, "low": -4.0, "high": 4.0},
    ],
    precisions=_WIDE,
    x=_between_bins("n"),
)
def histogram(x: np.ndarray, bins: int, low: float, high: float) -> np.ndarray:
    """How many numbers fall into each of equal bins; those outside fall into none."""
    return np.histogram(x, bins=bins, range=(low, high))[0].astype(np.float64)


@operator(
    source=NUMPY + "histogram.html",
    sizes=({"n": 7}, {"n": 1}, {"n": 33}, {"n": 1027}),
    parameters=[{"density": False}, {"density": True}],
    precisions=_WIDE,
    x=_between_bins("n"),
    weights=positive("n").fixed(),
)
def histogram_weighted(x: np.ndarray, weights: np.ndarray, density: bool) -> np.ndarray:
    """Sums of the weights of what falls into each of 16 bins from -4 to 4; a density integrates to one."""
    return np.histogram(x, bins=16, range=(-4.0, 4.0), weights=weights, density=density)[0].astype(np.float64)


_COUNTED = ({"n": 7}, {"n": 1}, {"n": 33}, {"n": 1027}, {"n": 65537})


@operator(source=NUMPY + "bincount.html", sizes=_COUNTED, precisions=("fp32",), x=integers(0, 9, "n"))
def bincount(x: np.ndarray) -> np.ndarray:
    """How often each of ten whole numbers is there."""
    return np.bincount(x, minlength=10)


@operator(
    source=NUMPY + "bincount.html", sizes=_COUNTED[:4], precisions=_WIDE, x=integers(0, 9, "n"), weights=normal("n").fixed()
)
def bincount_weighted(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The sum of the weights of each of ten whole numbers."""
    return np.bincount(x, weights=weights, minlength=10)


@operator(source=TENSORFLOW + "math/zero_fraction", sizes=ROWS[:4], precisions=_WIDE, x=_with_zeros("m", "n").fixed())
def zero_fraction(x: np.ndarray) -> np.ndarray:
    """The share of numbers that are zero."""
    return np.mean(x == 0)


@operator(
    source=NUMPY + "gradient.html",
    sizes=({"m": 4, "n": 7}, {"m": 3, "n": 3}, {"m": 5, "n": 33}, {"m": 4, "n": 1027}),
    parameters=[{"spacing": 1.0, "axis": 1}, {"spacing": 0.3, "axis": 0}],
    x=normal("m", "n"),
)
def gradient_along(x: np.ndarray, spacing: float, axis: int) -> np.ndarray:
    """Half of the difference of the two neighbours, over the spacing; at the ends the difference of one."""
    return np.gradient(x, spacing, axis=axis)


@operator(
    source=NUMPY + "linalg.norm.html",
    sizes=({"n": 7}, {"n": 1}, {"n": 33}, {"n": 1027}),
    parameters=[{"limit": 1.5}, {"limit": 100.0}],
    x=normal("n"),
)
def clip_by_norm(x: np.ndarray, limit: float) -> np.ndarray:
    """Numbers scaled down so that the root of the sum of their squares is at most the limit."""
    size = np.sqrt(np.sum(x**2))
    return x * limit / np.maximum(size, limit)


# Not in fp64: PyTorch adds 1e-7 to the norm.
@operator(
    source=TORCH + "renorm.html",
    sizes=({"m": 3, "n": 7}, {"m": 5, "n": 33}, {"m": 3, "n": 1027}),
    parameters=[{"order": 2.0, "limit": 1.5, "axis": 0}, {"order": 1.0, "limit": 2.0, "axis": 1}],
    x=_away_from_zero("m", "n"),
    precisions=("fp32",),
)
def renorm(x: np.ndarray, order: float, limit: float, axis: int) -> np.ndarray:
    """Slices along an axis, each scaled down so that its norm is at most the limit."""
    size = np.sum(np.abs(x) ** order, axis=1 - axis, keepdims=True) ** (1.0 / order)
    return np.where(size > limit, x * limit / size, x)
