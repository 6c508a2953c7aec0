"""Pooling: the largest, the mean or a norm of each window, of windows of all sizes, and of everything.

Arrays are [batch, channels, *space]. Values that are compared differ by a quarter within any window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vigil.audit.arguments import Argument, drawn, normal, permutation, twice, uniform
from vigil.audit.entry import operator
from vigil.audit.windows import Padding, amounts, at, padded, windows

TORCH = "https://docs.pytorch.org/docs/stable/generated/torch.nn.{}.html"
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/nn/{}"
KERAS = "https://keras.io/api/layers/pooling_layers/{}/"

_SPACE = ("d", "h", "w")
_PERIOD = {1: (128,), 2: (13, 15), 3: (5, 6, 6)}


def different(random: np.random.Generator, shape: tuple[int, ...], rank: int) -> np.ndarray:
    """Return values that differ by a quarter where they are less than a period apart along the last axes, bfloat16's too."""
    period = _PERIOD[rank]
    count = int(np.prod(period))
    places = np.ix_(*(np.arange(size) % wide for size, wide in zip(shape[-rank:], period, strict=True)))
    rows = [(random.permutation(count).reshape(period)[places] - count // 2) * 0.25 for _ in range(int(np.prod(shape[:-rank])))]
    return np.array(rows).reshape(shape)


def _different(rank: int) -> Argument:
    return drawn(lambda random, shape, sizes: different(random, shape, rank), "n", "c", *_SPACE[-rank:])


def _sizes(rank: int, *rows: Sequence[int]) -> list[Mapping[str, int]]:
    return [dict(zip(("n", "c", *_SPACE[-rank:]), row, strict=True)) for row in rows]


ONE = _sizes(1, (2, 2, 11), (1, 1, 1027), (3, 5, 33), (1, 2, 4099), (2, 33, 7), (1, 1, 5))
TWO = _sizes(2, (1, 2, 6, 5), (1, 1, 40, 33), (2, 5, 9, 11), (1, 33, 7, 8), (2, 3, 13, 64), (1, 1, 5, 5))
THREE = _sizes(3, (1, 1, 4, 3, 5), (1, 2, 9, 8, 7), (2, 3, 5, 6, 7), (1, 17, 5, 5, 6))


def _form(window: list[int], strides: list[int], padding: Any, dilation: list[int], ceil: bool = False) -> dict[str, Any]:
    return {"window": window, "strides": strides, "padding": padding, "dilation": dilation, "ceil": ceil}


MAX_1 = [
    _form([2], [2], "valid", [1]),
    _form([3], [2], [[1, 1]], [1]),
    _form([3], [1], "same", [1]),
    _form([3], [2], "valid", [2]),
    _form([3], [3], "valid", [1], True),
    _form([4], [3], [[2, 2]], [1], True),
    _form([3], [2], "same", [1]),
]
MAX_2 = [
    _form([2, 2], [2, 2], "valid", [1, 1]),
    _form([3, 2], [2, 1], [[1, 1], [1, 1]], [1, 1]),
    _form([3, 3], [1, 1], "same", [1, 1]),
    _form([2, 2], [1, 1], "valid", [2, 3]),
    _form([3, 3], [2, 2], "valid", [1, 1], True),
    _form([4, 3], [3, 2], [[2, 2], [1, 1]], [1, 1], True),
    _form([2, 2], [2, 2], [[1, 0], [0, 1]], [1, 1]),
    _form([3, 3], [2, 2], "same", [1, 1]),
]
MAX_3 = [
    _form([2, 2, 2], [2, 2, 2], "valid", [1, 1, 1]),
    _form([3, 2, 2], [2, 1, 2], [[1, 1], [1, 1], [0, 0]], [1, 1, 1]),
    _form([2, 2, 3], [1, 1, 1], "same", [1, 1, 1]),
    _form([2, 2, 2], [1, 1, 1], "valid", [1, 2, 2]),
    _form([3, 2, 3], [2, 2, 2], "valid", [1, 1, 1], True),
    _form([2, 2, 2], [2, 2, 2], "same", [1, 1, 1]),
]


def _borders(x: np.ndarray, form: Mapping[str, Any]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return what is added around, and that and what a last window that does not fit needs behind it (ceil).

    A last window must begin within the input or the border before it (torch.nn.MaxPool1d's documentation).
    """
    pairs = amounts(form["padding"], x.shape[2:], form["window"], form["strides"], form["dilation"])
    if not form["ceil"]:
        return pairs, pairs
    more = []
    for size, (before, behind), width, stride, spread in zip(
        x.shape[2:], pairs, form["window"], form["strides"], form["dilation"], strict=True
    ):
        span = (width - 1) * spread + 1
        count = -(-(size + before + behind - span) // stride) + 1
        if (count - 1) * stride >= size + before:
            count -= 1
        more.append((before, max(behind, (count - 1) * stride + span - size - before)))
    return pairs, more


def _seen(x: np.ndarray, form: Mapping[str, Any], value: float) -> np.ndarray:
    """Return all windows, [batch, channels, *places, elements]."""
    rank = x.ndim - 2
    _, pairs = _borders(x, form)
    found = windows(padded(x, pairs, value), form["window"], form["strides"], form["dilation"])
    return found.reshape(*found.shape[: 2 + rank], math.prod(form["window"]))


def _largest(x: np.ndarray, **form: Any) -> np.ndarray:
    return _seen(x, form, -np.inf).max(-1)


@operator(source=TORCH.format("MaxPool1d"), sizes=ONE, parameters=MAX_1, takes_any=True, x=_different(1))
def max_pool_1d(x: np.ndarray, window: Any, strides: Any, padding: Padding, dilation: Any, ceil: bool) -> np.ndarray:
    """The largest of each window."""
    return _largest(x, window=window, strides=strides, padding=padding, dilation=dilation, ceil=ceil)


@operator(source=TORCH.format("MaxPool2d"), sizes=TWO, parameters=MAX_2, takes_any=True, x=_different(2))
def max_pool_2d(x: np.ndarray, window: Any, strides: Any, padding: Padding, dilation: Any, ceil: bool) -> np.ndarray:
    """The largest of each window."""
    return _largest(x, window=window, strides=strides, padding=padding, dilation=dilation, ceil=ceil)


@operator(source=TORCH.format("MaxPool3d"), sizes=THREE, parameters=MAX_3, takes_any=True, x=_different(3))
def max_pool_3d(x: np.ndarray, window: Any, strides: Any, padding: Padding, dilation: Any, ceil: bool) -> np.ndarray:
    """The largest of each window."""
    return _largest(x, window=window, strides=strides, padding=padding, dilation=dilation, ceil=ceil)


_EQUAL = ("fp32", "bf16")


def _largest_of_equals(x: np.ndarray, **form: Any) -> np.ndarray:
    return _largest(twice(x, range(2, x.ndim)), **form)


@operator(source=TORCH.format("MaxPool1d"), sizes=ONE[:3:2], parameters=MAX_1[:3], precisions=_EQUAL, x=_different(1))
def max_pool_1d_of_equals(x: np.ndarray, window: Any, strides: Any, padding: Padding, dilation: Any, ceil: bool) -> np.ndarray:
    """The largest of each window, of numbers that stand there twice along each axis: however they share a gradient, it is one."""
    return _largest_of_equals(x, window=window, strides=strides, padding=padding, dilation=dilation, ceil=ceil)


@operator(source=TORCH.format("MaxPool2d"), sizes=TWO[:3:2], parameters=MAX_2[:3], precisions=_EQUAL, x=_different(2))
def max_pool_2d_of_equals(x: np.ndarray, window: Any, strides: Any, padding: Padding, dilation: Any, ceil: bool) -> np.ndarray:
    """The largest of each window, of numbers that stand there twice along each axis: however they share a gradient, it is one."""
    return _largest_of_equals(x, window=window, strides=strides, padding=padding, dilation=dilation, ceil=ceil)


@operator(source=TORCH.format("MaxPool3d"), sizes=THREE[:3:2], parameters=MAX_3[:3], precisions=_EQUAL, x=_different(3))
def max_pool_3d_of_equals(x: np.ndarray, window: Any, strides: Any, padding: Padding, dilation: Any, ceil: bool) -> np.ndarray:
    """The largest of each window, of numbers that stand there twice along each axis: however they share a gradient, it is one."""
    return _largest_of_equals(x, window=window, strides=strides, padding=padding, dilation=dilation, ceil=ceil)


@operator(
    source="https://flax.readthedocs.io/en/latest/api_reference/flax.linen/layers.html#flax.linen.min_pool",
    sizes=TWO,
    parameters=[{"window": [2, 2], "strides": [2, 2]}, {"window": [3, 2], "strides": [1, 2]}],
    x=_different(2),
)
def min_pool_2d(x: np.ndarray, window: Any, strides: Any) -> np.ndarray:
    """The smallest of each window."""
    return -_largest(-x, window=window, strides=strides, padding="valid", dilation=[1, 1], ceil=False)


def _where(x: np.ndarray, **form: Any) -> tuple[np.ndarray, np.ndarray]:
    places = np.broadcast_to(np.arange(np.prod(x.shape[2:])).reshape(x.shape[2:]), x.shape)
    seen, found = _seen(x, form, -np.inf), _seen(places, form, -1)
    best = seen.argmax(-1)[..., None]
    return np.take_along_axis(seen, best, -1)[..., 0], np.take_along_axis(found, best, -1)[..., 0].astype(np.int64)


@operator(source=TORCH.format("MaxPool1d"), sizes=ONE, parameters=MAX_1, x=_different(1).fixed())
def max_pool_1d_where(
    x: np.ndarray, window: Any, strides: Any, padding: Padding, dilation: Any, ceil: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The largest of each window, and its place in the channel."""
    return _where(x, window=window, strides=strides, padding=padding, dilation=dilation, ceil=ceil)


@operator(source=TORCH.format("MaxPool2d"), sizes=TWO, parameters=MAX_2, x=_different(2).fixed())
def max_pool_2d_where(
    x: np.ndarray, window: Any, strides: Any, padding: Padding, dilation: Any, ceil: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The largest of each window, and its place in the channel."""
    return _where(x, window=window, strides=strides, padding=padding, dilation=dilation, ceil=ceil)


@operator(source=TORCH.format("MaxPool3d"), sizes=THREE, parameters=MAX_3, x=_different(3).fixed())
def max_pool_3d_where(
    x: np.ndarray, window: Any, strides: Any, padding: Padding, dilation: Any, ceil: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The largest of each window, and its place in the channel."""
    return _where(x, window=window, strides=strides, padding=padding, dilation=dilation, ceil=ceil)


def _mean(x: np.ndarray, counts_border: bool, divisor: int | None, **form: Any) -> np.ndarray:
    """Return sums of windows by the number of their elements; those that only `ceil` adds never count."""
    form["dilation"] = [1] * (x.ndim - 2)
    sums = _seen(x, form, 0.0).sum(-1)
    if divisor is not None:
        return sums / divisor
    pairs, more = _borders(x, form)
    counted = np.ones(x.shape[2:])
    counted = padded(counted, pairs, float(counts_border))
    rest = [(0, behind - before) for (_, before), (_, behind) in zip(pairs, more, strict=True)]
    seen = windows(padded(counted, rest), form["window"], form["strides"], form["dilation"])
    return sums / seen.sum(tuple(range(x.ndim - 2, seen.ndim)))


def _mean_form(
    window: list[int], strides: list[int], padding: Any, ceil: bool, counts_border: bool, divisor: int | None = None
) -> dict[str, Any]:
    return {
        "window": window, "strides": strides, "padding": padding, "ceil": ceil, "counts_border": counts_border, "divisor": divisor
    }  # fmt: skip


MEAN_1 = [
    _mean_form([2], [2], "valid", False, True),
    _mean_form([3], [2], [[1, 1]], False, True),
    _mean_form([3], [2], [[1, 1]], False, False),
    _mean_form([3], [3], "valid", True, True),
    _mean_form([4], [3], [[2, 2]], True, True),
    _mean_form([4], [3], [[2, 2]], True, False),
    _mean_form([3], [2], "same", False, False),
]
MEAN_2 = [
    _mean_form([2, 2], [2, 2], "valid", False, True),
    _mean_form([3, 2], [2, 1], [[1, 1], [1, 1]], False, True),
    _mean_form([3, 3], [2, 2], [[1, 1], [1, 1]], False, False),
    _mean_form([3, 3], [2, 2], "valid", True, True),
    _mean_form([4, 3], [3, 2], [[2, 2], [1, 1]], True, True),
    _mean_form([4, 3], [3, 2], [[2, 2], [1, 1]], True, False),
    _mean_form([2, 3], [2, 2], [[1, 1], [0, 0]], False, True, 5),
    _mean_form([3, 3], [1, 2], "same", False, False),
]
MEAN_3 = [
    _mean_form([2, 2, 2], [2, 2, 2], "valid", False, True),
    _mean_form([3, 2, 2], [2, 1, 2], [[1, 1], [1, 1], [0, 0]], False, True),
    _mean_form([3, 2, 3], [2, 2, 2], [[1, 1], [1, 1], [1, 1]], True, False),
    _mean_form([3, 2, 3], [2, 2, 2], [[1, 1], [0, 0], [1, 1]], True, True),
    _mean_form([2, 2, 2], [1, 2, 1], [[1, 1], [0, 0], [1, 1]], False, True, 3),
    _mean_form([2, 2, 2], [2, 2, 2], "same", False, False),
]


def _plain(rank: int) -> Argument:
    return normal("n", "c", *_SPACE[-rank:])


@operator(source=TORCH.format("AvgPool1d"), sizes=ONE, parameters=MEAN_1, takes_any=True, x=_plain(1))
def average_pool_1d(
    x: np.ndarray, window: Any, strides: Any, padding: Padding, ceil: bool, counts_border: bool, divisor: int | None
) -> np.ndarray:
    """The mean of each window, with or without the border that is added."""
    return _mean(x, counts_border, divisor, window=window, strides=strides, padding=padding, ceil=ceil)


@operator(source=TORCH.format("AvgPool2d"), sizes=TWO, parameters=MEAN_2, takes_any=True, x=_plain(2))
def average_pool_2d(
    x: np.ndarray, window: Any, strides: Any, padding: Padding, ceil: bool, counts_border: bool, divisor: int | None
) -> np.ndarray:
    """The mean of each window, with or without the border that is added."""
    return _mean(x, counts_border, divisor, window=window, strides=strides, padding=padding, ceil=ceil)


@operator(source=TORCH.format("AvgPool3d"), sizes=THREE, parameters=MEAN_3, takes_any=True, x=_plain(3))
def average_pool_3d(
    x: np.ndarray, window: Any, strides: Any, padding: Padding, ceil: bool, counts_border: bool, divisor: int | None
) -> np.ndarray:
    """The mean of each window, with or without the border that is added."""
    return _mean(x, counts_border, divisor, window=window, strides=strides, padding=padding, ceil=ceil)


def _norm(x: np.ndarray, power: float, **form: Any) -> np.ndarray:
    form |= {"padding": "valid", "dilation": [1] * (x.ndim - 2)}
    return (_seen(x, form, 0.0) ** power).sum(-1) ** (1.0 / power)


def _positive(rank: int) -> Argument:
    return uniform(0.25, 2.0, "n", "c", *_SPACE[-rank:])


def _norms(rank: int) -> list[dict[str, Any]]:
    forms = (((2,) * rank, (2,) * rank), ((3,) + (2,) * (rank - 1), (1,) * rank))
    return [
        {"power": power, "window": list(window), "strides": list(strides), "ceil": ceil}
        for (window, strides), power, ceil in zip((*forms, *forms), (2, 3, 1, 2.5), (False, False, True, False), strict=True)
    ]


@operator(source=TORCH.format("LPPool1d"), sizes=ONE, parameters=_norms(1), x=_positive(1))
def norm_pool_1d(x: np.ndarray, power: float, window: Any, strides: Any, ceil: bool) -> np.ndarray:
    """The norm of each window, of any power."""
    return _norm(x, power, window=window, strides=strides, ceil=ceil)


@operator(source=TORCH.format("LPPool2d"), sizes=TWO, parameters=_norms(2), x=_positive(2))
def norm_pool_2d(x: np.ndarray, power: float, window: Any, strides: Any, ceil: bool) -> np.ndarray:
    """The norm of each window, of any power."""
    return _norm(x, power, window=window, strides=strides, ceil=ceil)


@operator(source=TORCH.format("LPPool3d"), sizes=THREE, parameters=_norms(3), x=_positive(3))
def norm_pool_3d(x: np.ndarray, power: float, window: Any, strides: Any, ceil: bool) -> np.ndarray:
    """The norm of each window, of any power."""
    return _norm(x, power, window=window, strides=strides, ceil=ceil)


def _adaptive(x: np.ndarray, output: Sequence[int], function: Any) -> np.ndarray:
    """Return a function of parts that cover the input: part i of n from floor(i * size / n) to ceil((i + 1) * size / n)."""
    found = np.empty((*x.shape[:2], *output))
    for place in np.ndindex(*output):
        part = tuple(
            slice(at * size // count, -(-(at + 1) * size // count))
            for at, size, count in zip(place, x.shape[2:], output, strict=True)
        )
        found[at(*place)] = function(x[at(*part)], axis=tuple(range(2, x.ndim)))
    return found


OUTPUTS = {
    1: [{"output": [3]}, {"output": [1]}, {"output": [4]}, {"output": [5]}],
    2: [{"output": [2, 3]}, {"output": [1, 1]}, {"output": [4, 3]}, {"output": [3, 5]}],
    3: [{"output": [2, 3, 2]}, {"output": [1, 1, 1]}, {"output": [3, 2, 4]}],
}


@operator(source=TORCH.format("AdaptiveAvgPool1d"), sizes=ONE, parameters=OUTPUTS[1], x=_plain(1))
def adaptive_average_pool_1d(x: np.ndarray, output: Any) -> np.ndarray:
    """The means of as many parts as are asked for."""
    return _adaptive(x, output, np.mean)


@operator(source=TORCH.format("AdaptiveAvgPool2d"), sizes=TWO, parameters=OUTPUTS[2], x=_plain(2))
def adaptive_average_pool_2d(x: np.ndarray, output: Any) -> np.ndarray:
    """The means of as many parts as are asked for."""
    return _adaptive(x, output, np.mean)


@operator(source=TORCH.format("AdaptiveAvgPool3d"), sizes=THREE, parameters=OUTPUTS[3], x=_plain(3))
def adaptive_average_pool_3d(x: np.ndarray, output: Any) -> np.ndarray:
    """The means of as many parts as are asked for."""
    return _adaptive(x, output, np.mean)


SMALL_1, SMALL_2 = [ONE[0], ONE[2], ONE[4], ONE[5]], [TWO[0], TWO[2], TWO[3], TWO[5]]
SMALL_3 = [THREE[0], *_sizes(3, (2, 3, 5, 6, 5), (1, 17, 5, 5, 6))]


@operator(source=TORCH.format("AdaptiveMaxPool1d"), sizes=SMALL_1, parameters=OUTPUTS[1], x=_different(1))
def adaptive_max_pool_1d(x: np.ndarray, output: Any) -> np.ndarray:
    """The largest of as many parts as are asked for."""
    return _adaptive(x, output, np.max)


@operator(source=TORCH.format("AdaptiveMaxPool2d"), sizes=SMALL_2, parameters=OUTPUTS[2], x=_different(2))
def adaptive_max_pool_2d(x: np.ndarray, output: Any) -> np.ndarray:
    """The largest of as many parts as are asked for."""
    return _adaptive(x, output, np.max)


@operator(source=TORCH.format("AdaptiveMaxPool3d"), sizes=SMALL_3, parameters=OUTPUTS[3], x=_different(3))
def adaptive_max_pool_3d(x: np.ndarray, output: Any) -> np.ndarray:
    """The largest of as many parts as are asked for."""
    return _adaptive(x, output, np.max)


@operator(source=KERAS.format("global_average_pooling1d"), sizes=ONE, takes_any=True, x=_plain(1))
def global_average_pool_1d(x: np.ndarray) -> np.ndarray:
    """The mean of each channel."""
    return x.mean(axis=2)


@operator(source=KERAS.format("global_average_pooling2d"), sizes=TWO, takes_any=True, x=_plain(2))
def global_average_pool_2d(x: np.ndarray) -> np.ndarray:
    """The mean of each channel."""
    return x.mean(axis=(2, 3))


@operator(source=KERAS.format("global_average_pooling3d"), sizes=THREE, takes_any=True, x=_plain(3))
def global_average_pool_3d(x: np.ndarray) -> np.ndarray:
    """The mean of each channel."""
    return x.mean(axis=(2, 3, 4))


@operator(source=KERAS.format("global_max_pooling1d"), sizes=SMALL_1, takes_any=True, x=_different(1))
def global_max_pool_1d(x: np.ndarray) -> np.ndarray:
    """The largest of each channel."""
    return x.max(axis=2)


@operator(source=KERAS.format("global_max_pooling2d"), sizes=SMALL_2, takes_any=True, x=_different(2))
def global_max_pool_2d(x: np.ndarray) -> np.ndarray:
    """The largest of each channel."""
    return x.max(axis=(2, 3))


@operator(source=KERAS.format("global_max_pooling3d"), sizes=SMALL_3, takes_any=True, x=_different(3))
def global_max_pool_3d(x: np.ndarray) -> np.ndarray:
    """The largest of each channel."""
    return x.max(axis=(2, 3, 4))


@operator(
    source=TORCH.format("MaxUnpool1d"),
    sizes=[{"w": 7}, {"w": 1}, {"w": 33}, {"w": 1027}],
    x=normal(1, 1, "w"),
    places=permutation("w"),
)
def max_unpool_1d(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Zeros, twice as many as there are values, with each value at a place of its own."""
    found = np.zeros((1, 1, 2 * x.shape[2]))
    found[..., 2 * places] = x
    return found


@operator(
    source=TENSORFLOW.format("dilation2d"),
    sizes=TWO[:1] + TWO[2:4],
    parameters=[
        {"strides": [1, 1], "padding": "valid", "dilation": [1, 1]},
        {"strides": [2, 1], "padding": "same", "dilation": [1, 1]},
        {"strides": [1, 1], "padding": "same", "dilation": [2, 1]},
    ],
    precisions=("fp32", "fp64"),
    x=normal("n", "c", "h", "w"),
    weight=normal("c", 3, 2),
)
def dilation_2d(x: np.ndarray, weight: np.ndarray, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    """The largest of each window plus weights: dilation in grayscale morphology."""
    pairs = amounts(padding, x.shape[2:], weight.shape[1:], strides, dilation)
    found = windows(padded(x, pairs, -np.inf), weight.shape[1:], strides, dilation)
    return (found + weight[None, :, None, None]).max((-2, -1))


@operator(
    source=TENSORFLOW.format("erosion2d"),
    sizes=TWO[:1] + TWO[2:4],
    parameters=[
        {"strides": [1, 1], "padding": "valid", "dilation": [1, 1]},
        {"strides": [2, 1], "padding": "same", "dilation": [1, 1]},
        {"strides": [1, 1], "padding": "same", "dilation": [2, 1]},
    ],
    precisions=("fp32", "fp64"),
    x=normal("n", "c", "h", "w"),
    weight=normal("c", 3, 2),
)
def erosion_2d(x: np.ndarray, weight: np.ndarray, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    """The negative of the dilation of the negative by turned weights: erosion in grayscale morphology."""
    return -dilation_2d(-x, weight[:, ::-1, ::-1], strides, padding, dilation)
