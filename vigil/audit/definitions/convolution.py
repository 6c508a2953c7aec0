"""Convolutions: of one to three dimensions, grouped, depthwise, separable, transposed, local, morphological.

Arrays are [batch, channels, *space] and weights [out, channels of a group, *window], as PyTorch has them; the number of groups
follows from the shapes. What neural networks call a convolution does not turn the window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vigil.audit.arguments import Argument, drawn, normal
from vigil.audit.entry import operator
from vigil.audit.windows import Padding, amounts, at, padded, windows

XLA = "https://openxla.org/xla/operation_semantics#conv_convolution"
ARITHMETIC = "https://arxiv.org/abs/1603.07285"
TORCH = "https://docs.pytorch.org/docs/stable/generated/torch.nn.{}.html"
JAX = "https://docs.jax.dev/en/latest/_autosummary/{}.html"
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/nn/{}"
KERAS = "https://keras.io/api/layers/convolution_layers/{}/"

_SPACE = ("d", "h", "w")
_WINDOW = ("kd", "kh", "kw")


def correlated(
    x: np.ndarray,
    weight: np.ndarray,
    strides: Sequence[int],
    pairs: Sequence[Sequence[int]],
    dilation: Sequence[int],
) -> np.ndarray:
    """Return the sums of windows times weights, group by group."""
    window = weight.shape[2:]
    groups = x.shape[1] // weight.shape[1]
    found = windows(padded(x, pairs), window, strides, dilation)
    outputs = []
    width = weight.shape[1]
    for group in range(groups):
        given = np.moveaxis(found[:, group * width : (group + 1) * width], 1, 1 + len(window))
        share = weight.shape[0] // groups
        terms = width * math.prod(window)
        of_group = weight[group * share : (group + 1) * share].reshape(share, terms)
        rows = given.reshape(*given.shape[: 1 + len(window)], terms)
        outputs.append(np.moveaxis(rows @ of_group.T, -1, 1))
    return np.concatenate(outputs, axis=1)


def _each(bias: np.ndarray, rank: int) -> np.ndarray:
    return bias.reshape(-1, *[1] * rank)


def _sizes(rank: int, *rows: Sequence[int]) -> list[Mapping[str, int]]:
    """Return sizes: batch, channels, channels of a group, outputs, space and window."""
    names = ("n", "c", "g", "o", *_SPACE[-rank:], *_WINDOW[-rank:])
    return [dict(zip(names, row, strict=True)) for row in rows]


def _form(strides: list[int], padding: Any, dilation: list[int]) -> dict[str, Any]:
    return {"strides": strides, "padding": padding, "dilation": dilation}


ONE = _sizes(
    1,
    (2, 2, 2, 3, 9, 3), (1, 1, 1, 1, 1, 1), (3, 6, 2, 9, 33, 5), (1, 1027, 1027, 2, 9, 3), (1, 3, 1, 6, 4099, 7),
    (2, 5, 5, 7, 100, 4), (1, 33, 33, 17, 8, 1),
)  # fmt: skip
TWO = _sizes(
    2,
    (1, 2, 2, 3, 6, 5, 3, 2), (1, 1, 1, 1, 1, 1, 1, 1), (2, 6, 3, 4, 9, 11, 3, 3), (1, 1027, 1027, 2, 5, 4, 1, 2),
    (1, 5, 1, 10, 13, 33, 5, 3), (3, 3, 3, 7, 12, 17, 4, 4), (1, 16, 16, 33, 7, 7, 1, 1), (1, 8, 4, 8, 16, 15, 7, 2),
)  # fmt: skip
THREE = _sizes(
    3,
    (1, 2, 2, 2, 3, 3, 3, 2, 1, 2), (1, 1, 1, 1, 1, 1, 1, 1, 1, 1), (2, 4, 2, 6, 5, 7, 4, 3, 3, 3),
    (1, 130, 130, 2, 3, 4, 2, 2, 2, 2), (1, 3, 1, 3, 6, 5, 9, 2, 3, 4),
)  # fmt: skip


FORMS_1 = [
    _form([1], [[0, 0]], [1]),
    _form([2], [[1, 1]], [1]),
    _form([1], [[2, 2]], [2]),
    _form([2], "same", [1]),
    _form([3], [[3, 1]], [1]),
    _form([1], "same", [2]),
    _form([2], [[4, 4]], [2]),
    _form([1], "same", [1]),
]
FORMS_2 = [
    _form([1, 1], [[0, 0], [0, 0]], [1, 1]),
    _form([2, 2], [[1, 1], [0, 0]], [1, 1]),
    _form([1, 1], [[1, 1], [2, 2]], [2, 1]),
    _form([2, 2], "same", [1, 1]),
    _form([2, 2], [[2, 1], [0, 1]], [1, 1]),
    _form([2, 1], [[1, 1], [1, 1]], [1, 2]),
    _form([1, 1], "same", [2, 2]),
    _form([3, 2], [[3, 3], [2, 2]], [2, 1]),
    _form([1, 1], "same", [1, 1]),
]
FORMS_3 = [
    _form([1, 1, 1], [[0, 0]] * 3, [1, 1, 1]),
    _form([2, 2, 2], [[1, 1], [0, 0], [1, 1]], [1, 1, 1]),
    _form([1, 1, 1], [[1, 1]] * 3, [2, 1, 2]),
    _form([2, 2, 2], "same", [1, 1, 1]),
    _form([1, 2, 1], [[1, 1], [2, 2], [1, 1]], [1, 1, 2]),
    _form([1, 1, 1], "same", [1, 1, 1]),
]


def _weights(rank: int, first: str = "o", second: str = "g") -> Argument:
    return normal(first, second, *_WINDOW[-rank:], scale=0.5)


def _input(rank: int) -> Argument:
    return normal("n", "c", *_SPACE[-rank:])


def _biased(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, strides: Any, padding: Padding, dilation: Any) -> np.ndarray:
    pairs = amounts(padding, x.shape[2:], weight.shape[2:], strides, dilation)
    return correlated(x, weight, strides, pairs, dilation) + _each(bias, x.ndim - 2)


@operator(source=ARITHMETIC, sizes=ONE, parameters=FORMS_1, x=_input(1), weight=_weights(1), bias=normal("o"))
def convolution_1d(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    """Sums of windows times weights along one axis, and a bias."""
    return _biased(x, weight, bias, strides, padding, dilation)


@operator(source=ARITHMETIC, sizes=TWO, parameters=FORMS_2, x=_input(2), weight=_weights(2), bias=normal("o"))
def convolution_2d(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    """Sums of windows times weights along two axes, and a bias."""
    return _biased(x, weight, bias, strides, padding, dilation)


@operator(source=ARITHMETIC, sizes=THREE, parameters=FORMS_3, x=_input(3), weight=_weights(3), bias=normal("o"))
def convolution_3d(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    """Sums of windows times weights along three axes, and a bias."""
    return _biased(x, weight, bias, strides, padding, dilation)


MODES = [
    {"mode": mode, "strides": strides, "dilation": dilation}
    for mode, strides, dilation in (
        ("reflect", 1, 1), ("replicate", 1, 1), ("circular", 1, 1), ("circular", 1, 2), ("reflect", 2, 1), ("replicate", 1, 2),
        ("reflect", 1, 1),
    )
]  # fmt: skip
_NUMPY = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _around(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, mode: str, strides: int, dilation: int) -> np.ndarray:
    rank = x.ndim - 2
    half = [dilation * (size - 1) // 2 for size in weight.shape[2:]]
    wide = np.pad(x, [(0, 0), (0, 0), *[(size, size) for size in half]], mode=_NUMPY[mode])
    return correlated(wide, weight, [strides] * rank, [(0, 0)] * rank, [dilation] * rank) + _each(bias, rank)


@operator(
    source=TORCH.format("Conv1d"),
    sizes=_sizes(1, (2, 2, 2, 3, 7, 3), (1, 1, 1, 1, 33, 5), (2, 4, 2, 6, 100, 7)),
    parameters=MODES,
    x=_input(1),
    weight=_weights(1),
    bias=normal("o"),
)
def convolution_1d_around(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, mode: str, strides: int, dilation: int
) -> np.ndarray:
    """A convolution behind a border of half a window that is reflected, replicated or taken from the other side."""
    return _around(x, weight, bias, mode, strides, dilation)


@operator(
    source=TORCH.format("Conv2d"),
    sizes=_sizes(2, (1, 2, 2, 2, 6, 5, 3, 3), (2, 4, 2, 6, 9, 7, 5, 3), (1, 3, 3, 2, 33, 12, 7, 5)),
    parameters=MODES,
    x=_input(2),
    weight=_weights(2),
    bias=normal("o"),
)
def convolution_2d_around(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, mode: str, strides: int, dilation: int
) -> np.ndarray:
    """A convolution behind a border of half a window that is reflected, replicated or taken from the other side."""
    return _around(x, weight, bias, mode, strides, dilation)


@operator(
    source=TORCH.format("Conv3d"),
    sizes=_sizes(3, (1, 1, 1, 2, 5, 3, 4, 3, 1, 3), (2, 2, 1, 4, 5, 6, 7, 3, 3, 5)),
    parameters=MODES[:3],
    x=_input(3),
    weight=_weights(3),
    bias=normal("o"),
)
def convolution_3d_around(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, mode: str, strides: int, dilation: int
) -> np.ndarray:
    """A convolution behind a border of half a window that is reflected, replicated or taken from the other side."""
    return _around(x, weight, bias, mode, strides, dilation)


@operator(
    source=KERAS.format("convolution1d"),
    sizes=ONE[:1] + ONE[2:],
    parameters=[{"strides": 1, "dilation": 1}, {"strides": 2, "dilation": 1}, {"strides": 1, "dilation": 3}],
    x=_input(1),
    weight=_weights(1),
    bias=normal("o"),
)
def convolution_1d_causal(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, strides: int, dilation: int) -> np.ndarray:
    """A convolution of what has been: output t sees no input behind t."""
    before = dilation * (weight.shape[2] - 1)
    return correlated(x, weight, [strides], [(before, 0)], [dilation]) + _each(bias, 1)


def _cut(
    padding: Padding, space: Sequence[int], window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> list[tuple[int, int]]:
    """Return how much is cut off the sums before and behind; less than nothing is more zeros.

    same: size * stride are left, valid: size * stride at least, as https://keras.io/api/ops/nn/ has them.
    """
    if not isinstance(padding, str):
        return [(int(before), int(behind)) for before, behind in padding]
    found = []
    for width, stride, spread in zip(window, strides, dilation, strict=True):
        total = (width - 1) * spread + 1 - stride
        before = max(total, 0) // 2 if padding == "same" else 0
        found.append((before, total - before if padding == "same" else min(total, 0)))
    return found


def scattered(
    x: np.ndarray,
    weight: np.ndarray,
    groups: int,
    strides: Sequence[int],
    pairs: Sequence[Sequence[int]],
    dilation: Sequence[int],
) -> np.ndarray:
    """Return each input times the weights [channels, out of a group, *window], added where its window stands.

    pairs: how much of the sums is cut off before and behind.
    """
    window, space = weight.shape[2:], x.shape[2:]
    share, width = weight.shape[1], x.shape[1] // groups
    more = [max(0, -behind) for _, behind in pairs]
    spans = [
        (size - 1) * stride + (each - 1) * spread + 1 + extra
        for size, stride, each, spread, extra in zip(space, strides, window, dilation, more, strict=True)
    ]
    found = np.zeros((x.shape[0], groups * share, *spans))
    for group in range(groups):
        given, of_group = x[:, group * width : (group + 1) * width], weight[group * width : (group + 1) * width]
        for place in np.ndindex(*window):
            where = tuple(
                slice(at * spread, at * spread + (size - 1) * stride + 1, stride)
                for at, spread, size, stride in zip(place, dilation, space, strides, strict=True)
            )
            part = np.einsum("nc...,co->no...", given, of_group[at(*place)])
            found[at(slice(group * share, (group + 1) * share), *where)] += part
    kept = (slice(before, span - max(0, behind)) for (before, behind), span in zip(pairs, spans, strict=True))
    return found[at(*kept)]


def _transposed(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    pairs = _cut(padding, x.shape[2:], weight.shape[2:], strides, dilation)
    groups = bias.shape[0] // weight.shape[1]
    return scattered(x, weight, groups, strides, pairs, dilation) + _each(bias, x.ndim - 2)


def _back(rank: int, *rows: Sequence[int]) -> list[Mapping[str, int]]:
    """Return sizes: batch, channels, outputs of a group, outputs, space and window."""
    names = ("n", "c", "s", "o", *_SPACE[-rank:], *_WINDOW[-rank:])
    return [dict(zip(names, row, strict=True)) for row in rows]


@operator(
    source=TORCH.format("ConvTranspose1d"),
    sizes=_back(1, (2, 3, 2, 2, 6, 3), (1, 2, 2, 4, 1030, 4), (2, 6, 3, 9, 33, 5), (1, 1027, 2, 2, 5, 3), (1,) * 6),
    parameters=[
        _form([1], [[0, 0]], [1]),
        _form([2], [[1, 1]], [1]),
        _form([2], [[1, 0]], [1]),
        _form([3], [[0, -2]], [2]),
        _form([2], "same", [1]),
        _form([4], "same", [1]),
        _form([1], "same", [2]),
        _form([4], "valid", [1]),
        _form([2], "valid", [1]),
    ],
    x=_input(1),
    weight=_weights(1, "c", "s"),
    bias=normal("o"),
)
def convolution_1d_transposed(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, strides: Any, padding: Any, dilation: Any
) -> np.ndarray:
    """The gradient of a convolution with respect to its input, and a bias."""
    return _transposed(x, weight, bias, strides, padding, dilation)


@operator(
    source=TORCH.format("ConvTranspose2d"),
    sizes=_back(
        2,
        (1, 2, 2, 2, 5, 4, 3, 2), (1, 5, 2, 10, 13, 17, 5, 4), (2, 6, 2, 4, 7, 9, 3, 3), (1, 1027, 1, 1, 3, 4, 2, 3),
        (2, 3, 5, 5, 33, 6, 4, 4), (1, 1, 1, 1, 1, 1, 1, 1),
    ),
    parameters=[
        _form([1, 1], [[0, 0], [0, 0]], [1, 1]),
        _form([2, 2], [[1, 1], [0, 0]], [1, 1]),
        _form([2, 2], [[1, 0], [1, 0]], [1, 1]),
        _form([1, 1], [[2, 2], [1, 1]], [2, 2]),
        _form([3, 3], [[0, -2], [0, -1]], [1, 2]),
        _form([2, 2], "same", [1, 1]),
        _form([3, 3], "valid", [1, 1]),
        _form([2, 1], "same", [1, 1]),
        _form([1, 1], "same", [2, 2]),
        _form([2, 2], "valid", [1, 1]),
    ],
    x=_input(2),
    weight=_weights(2, "c", "s"),
    bias=normal("o"),
)  # fmt: skip
def convolution_2d_transposed(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, strides: Any, padding: Any, dilation: Any
) -> np.ndarray:
    """The gradient of a convolution with respect to its input, and a bias."""
    return _transposed(x, weight, bias, strides, padding, dilation)


@operator(
    source=TORCH.format("ConvTranspose3d"),
    sizes=_back(3, (1, 2, 2, 2, 2, 3, 4, 2, 3, 2), (1, 3, 1, 3, 4, 3, 7, 2, 4, 3), (2, 4, 2, 4, 3, 5, 4, 3, 3, 3), (1,) * 10),
    parameters=[
        _form([1, 1, 1], [[0, 0]] * 3, [1, 1, 1]),
        _form([2, 2, 2], [[1, 0], [1, 1], [0, 0]], [1, 1, 1]),
        _form([1, 1, 1], [[1, 1], [0, 0], [0, 0]], [2, 2, 2]),
        _form([2, 2, 2], "same", [1, 1, 1]),
        _form([2, 2, 2], "valid", [1, 1, 1]),
    ],
    x=_input(3),
    weight=_weights(3, "c", "s"),
    bias=normal("o"),
)
def convolution_3d_transposed(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, strides: Any, padding: Any, dilation: Any
) -> np.ndarray:
    """The gradient of a convolution with respect to its input, and a bias."""
    return _transposed(x, weight, bias, strides, padding, dilation)


def _depthwise(x: np.ndarray, weight: np.ndarray, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    """Return each channel's convolutions, with weights [channels, multiplier, *window]."""
    pairs = amounts(padding, x.shape[2:], weight.shape[2:], strides, dilation)
    return correlated(x, weight.reshape(-1, 1, *weight.shape[2:]), strides, pairs, dilation)


def _multiplied(rank: int, *rows: Sequence[int]) -> list[Mapping[str, int]]:
    """Return sizes: batch, channels, multiplier, outputs, space and window."""
    names = ("n", "c", "m", "o", *_SPACE[-rank:], *_WINDOW[-rank:])
    return [dict(zip(names, row, strict=True)) for row in rows]


DEPTH_1 = _multiplied(
    1, (2, 3, 2, 4, 7, 3), (1, 1, 1, 1, 1, 1), (2, 33, 1, 5, 33, 4), (1, 3, 3, 2, 1027, 5), (1, 130, 2, 3, 12, 7)
)
DEPTH_2 = _multiplied(
    2, (1, 2, 2, 3, 6, 5, 3, 2), (1, 1, 1, 1, 1, 1, 1, 1), (2, 33, 1, 4, 7, 9, 3, 3), (1, 5, 3, 2, 17, 33, 5, 4),
    (1, 130, 2, 3, 6, 5, 3, 3),
)  # fmt: skip
DEPTH_FORMS_1 = [
    _form([1], "valid", [1]), _form([2], "same", [1]), _form([1], "same", [2]), _form([3], "valid", [1]), _form([1], "same", [1])
]  # fmt: skip
DEPTH_FORMS_2 = [
    _form([1, 1], "valid", [1, 1]),
    _form([2, 2], "same", [1, 1]),
    _form([1, 1], "same", [2, 2]),
    _form([1, 1], [[1, 1], [2, 2]], [1, 1]),
    _form([2, 2], [[1, 0], [0, 1]], [1, 1]),
    _form([1, 1], "same", [1, 1]),
]


@operator(
    source=KERAS.format("depthwise_convolution1d"),
    sizes=DEPTH_1,
    parameters=DEPTH_FORMS_1,
    x=_input(1),
    weight=_weights(1, "c", "m"),
)
def convolution_1d_depthwise(x: np.ndarray, weight: np.ndarray, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    """Convolutions of each channel alone."""
    return _depthwise(x, weight, strides, padding, dilation)


@operator(
    source=TENSORFLOW.format("depthwise_conv2d"),
    sizes=DEPTH_2,
    parameters=DEPTH_FORMS_2,
    x=_input(2),
    weight=_weights(2, "c", "m"),
)
def convolution_2d_depthwise(x: np.ndarray, weight: np.ndarray, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    """Convolutions of each channel alone."""
    return _depthwise(x, weight, strides, padding, dilation)


def _mixed(x: np.ndarray, weight: np.ndarray, pointwise: np.ndarray, strides: Any, padding: Any, dilation: Any) -> np.ndarray:
    return np.einsum("nc...,oc->no...", _depthwise(x, weight, strides, padding, dilation), pointwise)


def _pointwise() -> Argument:
    return drawn(lambda random, shape, sizes: 0.5 * random.standard_normal((sizes["o"], sizes["c"] * sizes["m"])))


@operator(
    source=KERAS.format("separable_convolution1d"),
    sizes=DEPTH_1,
    parameters=DEPTH_FORMS_1,
    x=_input(1),
    weight=_weights(1, "c", "m"),
    pointwise=_pointwise(),
)
def convolution_1d_separable(
    x: np.ndarray, weight: np.ndarray, pointwise: np.ndarray, strides: Any, padding: Any, dilation: Any
) -> np.ndarray:
    """Convolutions of each channel alone, and then a mixture of them at each place."""
    return _mixed(x, weight, pointwise, strides, padding, dilation)


@operator(
    source=TENSORFLOW.format("separable_conv2d"),
    sizes=DEPTH_2,
    parameters=DEPTH_FORMS_2,
    x=_input(2),
    weight=_weights(2, "c", "m"),
    pointwise=_pointwise(),
)
def convolution_2d_separable(
    x: np.ndarray, weight: np.ndarray, pointwise: np.ndarray, strides: Any, padding: Any, dilation: Any
) -> np.ndarray:
    """Convolutions of each channel alone, and then a mixture of them at each place."""
    return _mixed(x, weight, pointwise, strides, padding, dilation)


@operator(
    source=XLA,
    sizes=TWO[:1] + TWO[2:5],
    parameters=[
        {"strides": [1, 1], "pairs": [[0, 0], [0, 0]], "input_dilation": [2, 2], "dilation": [1, 1]},
        {"strides": [2, 1], "pairs": [[1, 2], [0, 1]], "input_dilation": [2, 3], "dilation": [1, 2]},
        {"strides": [1, 1], "pairs": [[3, -1], [-1, 2]], "input_dilation": [1, 2], "dilation": [1, 1]},
    ],
    x=_input(2),
    weight=_weights(2),
)
def convolution_2d_dilated_input(
    x: np.ndarray, weight: np.ndarray, strides: Any, pairs: Any, input_dilation: Any, dilation: Any
) -> np.ndarray:
    """A convolution of an input with zeros between its elements; a border below zero is cut off."""
    space = [(size - 1) * each + 1 for size, each in zip(x.shape[2:], input_dilation, strict=True)]
    wide = np.zeros((*x.shape[:2], *space))
    wide[at(*(slice(None, None, each) for each in input_dilation))] = x
    cut = tuple(
        slice(max(0, -before), size - max(0, -behind)) for (before, behind), size in zip(pairs, wide.shape[2:], strict=True)
    )
    border = [(max(0, before), max(0, behind)) for before, behind in pairs]
    return correlated(wide[at(*cut)], weight, strides, border, dilation)


@operator(
    source=XLA,
    sizes=[
        dict(zip(("n", "c", "o", "h", "w", "kh", "kw"), row, strict=True))
        for row in ((4, 2, 2, 3, 2, 2, 2), (6, 3, 4, 7, 5, 3, 2), (2, 33, 6, 9, 12, 3, 3))
    ],
    parameters=[{"groups": 2, "strides": [1, 1]}, {"groups": 2, "strides": [2, 1]}],
    x=normal("n", "c", "h", "w"),
    weight=normal("o", "c", "kh", "kw", scale=0.5),
)
def convolution_2d_batch_groups(x: np.ndarray, weight: np.ndarray, groups: int, strides: Any) -> np.ndarray:
    """Convolutions of groups of a batch, each with its own part of the weights; the groups become channels."""
    parts = zip(np.split(x, groups), np.split(weight, groups), strict=True)
    return np.concatenate([correlated(each, part, strides, [(0, 0)] * 2, [1, 1]) for each, part in parts], axis=1)


def _local(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return windows times weights [*places, out, channels, *window], which each place has of its own."""
    rank = x.ndim - 2
    window, ones = weight.shape[2 + rank :], [1] * rank
    found = windows(x, window, ones, ones)
    terms = x.shape[1] * math.prod(window)
    rows = np.moveaxis(found, 1, 1 + rank).reshape(x.shape[0], *found.shape[2 : 2 + rank], terms)
    sums = np.einsum("n...i,...oi->n...o", rows, weight.reshape(*weight.shape[: rank + 1], terms))
    return np.moveaxis(sums, -1, 1)


def _own(rank: int) -> Argument:
    """Return weights of each place of a valid convolution of stride 1."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        window = [sizes[name] for name in _WINDOW[-rank:]]
        places = [sizes[name] - width + 1 for name, width in zip(_SPACE[-rank:], window, strict=True)]
        return 0.5 * random.standard_normal((*places, sizes["o"], sizes["c"], *window))

    return drawn(draw)


@operator(source=JAX.format("jax.lax.conv_general_dilated_local"), sizes=[ONE[0], ONE[2]], x=_input(1), weight=_own(1))
def convolution_1d_local(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """A convolution whose weights differ from place to place."""
    return _local(x, weight)


@operator(source=JAX.format("jax.lax.conv_general_dilated_local"), sizes=[TWO[0], TWO[2]], x=_input(2), weight=_own(2))
def convolution_2d_local(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """A convolution whose weights differ from place to place."""
    return _local(x, weight)


def _pulled(rank: int) -> Argument:
    """Return the cotangent of a convolution of stride 1 with a border of one."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        pairs = zip(_SPACE[-rank:], _WINDOW[-rank:], strict=True)
        return random.standard_normal((sizes["n"], sizes["o"], *(sizes[space] + 3 - sizes[window] for space, window in pairs)))

    return drawn(draw)


def _by_weight(x: np.ndarray, weight: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    rank, groups = x.ndim - 2, x.shape[1] // weight.shape[1]
    found = windows(padded(x, [(1, 1)] * rank), weight.shape[2:], [1] * rank, [1] * rank)
    outputs = []
    for given, pulled in zip(np.split(found, groups, 1), np.split(cotangent, groups, 1), strict=True):
        columns = np.moveaxis(pulled, 1, -1).reshape(-1, pulled.shape[1])
        rows = np.moveaxis(given, 1, 1 + rank).reshape(columns.shape[0], math.prod(weight.shape[1:]))
        outputs.append(columns.T @ rows)
    return np.concatenate(outputs).reshape(weight.shape)


def _by_input(weight: np.ndarray, cotangent: np.ndarray, x: np.ndarray) -> np.ndarray:
    rank, groups = x.ndim - 2, x.shape[1] // weight.shape[1]
    return scattered(cotangent, weight, groups, [1] * rank, [(1, 1)] * rank, [1] * rank)


GRADIENTS = "https://docs.pytorch.org/docs/stable/_modules/torch/nn/grad.html"
_NOT_ONE = {1: [ONE[0], *ONE[2:5]], 2: [TWO[0], *TWO[2:6]], 3: [THREE[0], *THREE[2:4]]}


@operator(source=GRADIENTS, sizes=_NOT_ONE[1], x=_input(1), weight=_weights(1).fixed(), cotangent=_pulled(1))
def convolution_1d_by_weight(x: np.ndarray, weight: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    """The gradient of a convolution with a border of one with respect to its weights."""
    return _by_weight(x, weight, cotangent)


@operator(source=GRADIENTS, sizes=_NOT_ONE[2], x=_input(2), weight=_weights(2).fixed(), cotangent=_pulled(2))
def convolution_2d_by_weight(x: np.ndarray, weight: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    """The gradient of a convolution with a border of one with respect to its weights."""
    return _by_weight(x, weight, cotangent)


@operator(source=GRADIENTS, sizes=_NOT_ONE[3], x=_input(3), weight=_weights(3).fixed(), cotangent=_pulled(3))
def convolution_3d_by_weight(x: np.ndarray, weight: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    """The gradient of a convolution with a border of one with respect to its weights."""
    return _by_weight(x, weight, cotangent)


@operator(source=GRADIENTS, sizes=_NOT_ONE[1], weight=_weights(1), cotangent=_pulled(1), x=_input(1).fixed())
def convolution_1d_by_input(weight: np.ndarray, cotangent: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The gradient of a convolution with a border of one with respect to its input."""
    return _by_input(weight, cotangent, x)


@operator(source=GRADIENTS, sizes=_NOT_ONE[2], weight=_weights(2), cotangent=_pulled(2), x=_input(2).fixed())
def convolution_2d_by_input(weight: np.ndarray, cotangent: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The gradient of a convolution with a border of one with respect to its input."""
    return _by_input(weight, cotangent, x)


@operator(source=GRADIENTS, sizes=_NOT_ONE[3], weight=_weights(3), cotangent=_pulled(3), x=_input(3).fixed())
def convolution_3d_by_input(weight: np.ndarray, cotangent: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The gradient of a convolution with a border of one with respect to its input."""
    return _by_input(weight, cotangent, x)


@operator(
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.conv_tbc.html",
    sizes=[
        dict(zip(("t", "n", "c", "o", "k"), row, strict=True))
        for row in ((7, 2, 3, 4, 3), (1, 1, 1, 1, 1), (33, 5, 7, 3, 4), (9, 1, 1027, 2, 2))
    ],
    parameters=[{"border": 0}, {"border": 2}, {"border": 1}],
    x=normal("t", "n", "c"),
    weight=normal("k", "c", "o", scale=0.5),
    bias=normal("o"),
)
def convolution_time_first(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, border: int) -> np.ndarray:
    """A convolution along the first axis of [time, batch, channels]."""
    found = correlated(x.transpose(1, 2, 0), weight.transpose(2, 1, 0), [1], [(border, border)], [1])
    return found.transpose(2, 0, 1) + bias
