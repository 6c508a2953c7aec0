"""What lies between layers: merging, reshaping, padding, encoding, and arithmetic of trees of parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vigil.audit.arguments import Argument, drawn, integers, mask, normal, positive, spread, uniform
from vigil.audit.entry import ROWS, operator

KERAS = "https://keras.io/api/layers/"
TORCH = "https://docs.pytorch.org/docs/stable/nn.html"
OPTAX = "https://optax.readthedocs.io/en/latest/api/utilities.html"
_SIZES = ROWS[:5]
WIDE = ("fp32", "fp64")


def _merged(name: str, function: Any, *, kinks: bool = False) -> None:
    """Enter a way to make one of three."""

    def definition(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return function(x, y, z)

    definition.__name__ = name
    apart = {"x": uniform(-2, -1, "m", "n"), "y": uniform(-0.9, 0.9, "m", "n"), "z": uniform(1, 2, "m", "n")}
    plain = {"x": normal("m", "n"), "y": normal("m", "n"), "z": normal("m", "n")}
    operator(**(apart if kinks else plain), source=KERAS + "merging_layers/", sizes=_SIZES)(definition)


_merged("merged_sum", lambda x, y, z: x + y + z)
_merged("merged_mean", lambda x, y, z: (x + y + z) / 3)
_merged("merged_product", lambda x, y, z: x * y * z)
_merged("merged_largest", lambda x, y, z: np.maximum(np.maximum(x, y), z), kinks=True)
_merged("merged_least", lambda x, y, z: np.minimum(np.minimum(x, y), z), kinks=True)


@operator(x=normal("m", "n"), y=normal("m", "n"), source=KERAS + "merging_layers/subtract/", sizes=_SIZES)
def merged_difference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the first less the second."""
    return x - y


@operator(
    x=normal(2, "m", "n"),
    y=normal(2, "m", "n"),
    source=KERAS + "merging_layers/concatenate/",
    sizes=_SIZES,
    parameters=[{"axis": axis} for axis in (-1, 1, 2)],
)
def merged_beside(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """Return one behind the other along an axis."""
    return np.concatenate([x, y], axis)


@operator(
    x=normal(2, "m", "n"),
    y=normal(2, "k", "n"),
    source=KERAS + "merging_layers/dot/",
    precisions=WIDE,
    parameters=[
        {"axes": 2, "normalize": False},
        {"axes": [2, 2], "normalize": True},
    ],
    sizes=({"m": 3, "n": 4, "k": 2}, {"m": 1, "n": 2, "k": 1}, {"m": 7, "n": 33, "k": 5}, {"m": 2, "n": 1027, "k": 3}),
)
def merged_dot(x: np.ndarray, y: np.ndarray, axes: Any, normalize: bool) -> np.ndarray:
    """Return the products along the last axis of each, of vectors of length one if so told."""
    if normalize:
        x, y = (each / np.sqrt(np.sum(each**2, -1, keepdims=True)) for each in (x, y))
    return np.einsum("bmn,bkn->bmk", x, y)


_BLOCK = normal(2, "m", "n", 3)
_BLOCKS = tuple({"m": rows, "n": columns} for rows, columns in ((4, 6), (2, 2), (8, 34), (6, 130)))


@operator(
    x=_BLOCK,
    source=KERAS + "reshaping_layers/reshape/",
    sizes=_BLOCKS,
    parameters=[{"shape": [-1, 2]}, {"shape": [3, -1]}, {"shape": [-1]}],
)
def reshaped(x: np.ndarray, shape: list[int]) -> np.ndarray:
    """Return the same numbers in another shape but for the first axis."""
    return x.reshape(x.shape[0], *shape)


@operator(
    x=_BLOCK, source=KERAS + "reshaping_layers/permute/", sizes=_BLOCKS, parameters=[{"order": [2, 1, 3]}, {"order": [3, 1, 2]}]
)
def reordered(x: np.ndarray, order: list[int]) -> np.ndarray:
    """Return axes in another order, counted from 1 behind the first."""
    return np.transpose(x, (0, *order))


@operator(
    x=normal("m", "n"), source=KERAS + "reshaping_layers/repeat_vector/", sizes=_SIZES, parameters=[{"count": 3}, {"count": 1}]
)
def repeated(x: np.ndarray, count: int) -> np.ndarray:
    """Return each row a count of times [row, time, column]."""
    return np.repeat(x[:, None], count, 1)


@operator(x=_BLOCK, source=KERAS + "reshaping_layers/flatten/", sizes=_BLOCKS)
def flattened(x: np.ndarray) -> np.ndarray:
    """Return each of the first axis as one row."""
    return x.reshape(len(x), -1)


_SIDES = [{"rows": rows, "columns": columns} for rows, columns in (([1, 1], [0, 1]), ([0, 0], [2, 0]), ([1, 2], [0, 0]))]


@operator(x=_BLOCK, source=KERAS + "reshaping_layers/zero_padding2d/", sizes=_BLOCKS, parameters=_SIDES)
def surrounded(x: np.ndarray, rows: list[int], columns: list[int]) -> np.ndarray:
    """Return planes [image, row, column, channel] with zeros around."""
    return np.pad(x, ((0, 0), rows, columns, (0, 0)))


@operator(
    x=normal(2, "m", "n", 3), source=KERAS + "reshaping_layers/cropping2d/", sizes=_BLOCKS[:1] + _BLOCKS[2:], parameters=_SIDES
)
def cropped(x: np.ndarray, rows: list[int], columns: list[int]) -> np.ndarray:
    """Return planes [image, row, column, channel] without some rows and columns at their ends."""
    return x[:, rows[0] : x.shape[1] - rows[1], columns[0] : x.shape[2] - columns[1]]


@operator(
    x=_BLOCK,
    source=KERAS + "reshaping_layers/up_sampling2d/",
    sizes=_BLOCKS,
    parameters=[{"rows": 2, "columns": 3}, {"rows": 1, "columns": 2}],
)
def enlarged(x: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return planes [image, row, column, channel] with each element a count of times."""
    return np.repeat(np.repeat(x, rows, 1), columns, 2)


def _linear(size: int, scale: int) -> np.ndarray:
    """Return weights [target, source] of linear interpolation whose pixels are areas, and whose ends are repeated."""
    places = np.clip((np.arange(size * scale) + 0.5) / scale - 0.5, 0, size - 1)
    return np.maximum(0.0, 1.0 - np.abs(places[:, None] - np.arange(size)))


@operator(
    x=_BLOCK,
    source=KERAS + "reshaping_layers/up_sampling2d/",
    sizes=_BLOCKS,
    precisions=WIDE,
    parameters=[{"rows": 2, "columns": 4}, {"rows": 2, "columns": 2}],
)
def enlarged_linearly(x: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return planes [image, row, column, channel] whose pixels are areas, interpolated."""
    return np.einsum("ai,bj,nijc->nabc", _linear(x.shape[1], rows), _linear(x.shape[2], columns), x)


def _with_zeros(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    found = random.standard_normal(shape) + np.sign(random.standard_normal(shape))
    return np.where(random.random(shape[:-1])[..., None] < 0.4, 0.0, found)


@operator(
    x=drawn(_with_zeros, 2, "m", 3, is_differentiated=False),
    source=KERAS + "core_layers/masking/",
    sizes=({"m": 5}, {"m": 1}, {"m": 33}),
)
def masked_rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x, and whether a row has any number but zero."""
    return x, np.any(x != 0, -1)


@operator(
    x=normal("m", "n"), source=TORCH, sizes=tuple({"m": rows, "n": size} for rows, size in ((3, 6), (2, 3), (5, 33), (3, 1029)))
)
def unflattened(x: np.ndarray) -> np.ndarray:
    """Return the last axis as two, the first of them three."""
    return x.reshape(len(x), 3, -1)


@operator(
    x=normal(2, 12, "m"),
    source="https://doi.org/10.1109/CVPR.2018.00716",
    sizes=({"m": 2}, {"m": 33}, {"m": 257}),
    parameters=[{"groups": 3}, {"groups": 4}, {"groups": 1}],
)
def shuffled_channels(x: np.ndarray, groups: int) -> np.ndarray:
    """Return channels of groups taken in turns."""
    return x.reshape(2, groups, 12 // groups, -1).swapaxes(1, 2).reshape(x.shape)


@operator(
    x=normal("m", "n"),
    y=normal("m", "n", mean=0.7),
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.PairwiseDistance.html",
    sizes=_SIZES[:1] + _SIZES[2:],
    precisions=WIDE,
    parameters=[{"p": 2.0, "eps": 1e-6}, {"p": 3.0, "eps": 0.1}, {"p": 1.0, "eps": 0.0}],
)
def distance_of_pairs(x: np.ndarray, y: np.ndarray, p: float, eps: float) -> np.ndarray:
    """Return the p-norm of x - y + eps along the last axis."""
    return np.sum(np.abs(x - y + eps) ** p, -1) ** (1 / p)


@operator(
    x=normal("m", "n"),
    y=normal("m", "n", mean=0.2),
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.CosineSimilarity.html",
    sizes=_SIZES,
    precisions=WIDE,
    parameters=[{"axis": -1}, {"axis": 0}],
)
def cosine_of_pairs(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """Return the cosine between vectors along an axis."""
    return np.sum(x * y, axis) / np.sqrt(np.sum(x**2, axis) * np.sum(y**2, axis))


# Sequences of several lengths: one array, and lengths of its rows.
_LENGTHS = integers(1, "n", "m")
_RUNS = tuple({"m": rows, "n": size} for rows, size in ((3, 5), (2, 2), (7, 33), (4, 1027)))


@operator(
    lengths=_LENGTHS,
    source="https://www.tensorflow.org/api_docs/python/tf/sequence_mask",
    sizes=_RUNS,
    precisions=("fp32",),
    parameters=[{"longest": 9}, {"longest": 2000}],
)
def mask_of_lengths(lengths: np.ndarray, longest: int) -> np.ndarray:
    """Return whether a place is in a row of some length."""
    return np.arange(longest) < lengths[:, None]


def _within(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.arange(x.shape[1]) < lengths[:, None]


@operator(
    x=normal("m", "n"), lengths=_LENGTHS, source="https://www.tensorflow.org/guide/ragged_tensor", sizes=_RUNS, precisions=WIDE
)
def ragged_sums(x: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sum and mean of as many of each row as its length says."""
    sums = np.sum(np.where(_within(x, lengths), x, 0.0), 1)
    return sums, sums / lengths


@operator(
    x=spread("m", "n"), lengths=_LENGTHS, source="https://www.tensorflow.org/guide/ragged_tensor", sizes=_RUNS, precisions=WIDE
)
def ragged_extremes(x: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest and the least of as many of each row as its length says."""
    inside = _within(x, lengths)
    return np.where(inside, x, -np.inf).max(1), np.where(inside, x, np.inf).min(1)


@operator(
    x=normal("m", "n"),
    lengths=_LENGTHS,
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html",
    sizes=_RUNS,
    parameters=[{"value": 0.0, "side": "right"}, {"value": -1.0, "side": "right"}, {"value": 2.0, "side": "left"}],
)
def padded_rows(x: np.ndarray, lengths: np.ndarray, value: float, side: str) -> np.ndarray:
    """Return rows of their lengths, filled up to the longest behind or before."""
    longest = int(lengths.max())
    found = np.full((len(x), longest), value)
    for row, length in enumerate(lengths):
        found[row, slice(0, length) if side == "right" else slice(longest - length, longest)] = x[row, :length]
    return found


@operator(
    x=integers(1, 50, "m", "n"),
    lengths=_LENGTHS,
    source="https://keras.io/api/data_loading/timeseries/",
    sizes=_RUNS,
    precisions=("fp32",),
    parameters=[
        {"longest": longest, "padding": padding, "truncating": truncating}
        for longest, padding, truncating in ((None, "pre", "pre"), (3, "post", "pre"), (3, "pre", "post"), (9, "post", "post"))
    ],
)
def padded_numbers(x: np.ndarray, lengths: np.ndarray, longest: int | None, padding: str, truncating: str) -> np.ndarray:
    """Return rows of their lengths, cut or filled with zeros to one, before or behind."""
    longest = int(lengths.max()) if longest is None else longest
    found = np.zeros((len(x), longest), np.int64)
    for row, length in enumerate(lengths):
        kept = x[row, :length]
        kept = kept[-longest:] if truncating == "pre" else kept[:longest]
        found[row, slice(longest - len(kept), longest) if padding == "pre" else slice(0, len(kept))] = kept
    return found


_LABELS = integers(0, 7, "m")
_FEW = ({"m": 5}, {"m": 1}, {"m": 33}, {"m": 1027})


@operator(
    labels=_LABELS,
    source="https://keras.io/api/utils/python_utils/#tocategorical-function",
    sizes=_FEW,
    precisions=("fp32",),
    parameters=[{"count": 7}, {"count": 9}],
)
def one_hot_rows(labels: np.ndarray, count: int) -> np.ndarray:
    """Return rows with a one at the label."""
    return np.eye(count)[labels]


@operator(
    labels=integers(0, 7, "m", 4),
    source=KERAS + "preprocessing_layers/categorical/category_encoding/",
    sizes=_FEW,
    precisions=("fp32",),
    parameters=[{"mode": "multi_hot"}, {"mode": "count"}],
)
def encoded_categories(labels: np.ndarray, mode: str) -> np.ndarray:
    """Return which of seven are in a row, or how often."""
    counts = np.eye(7)[labels].sum(1)
    return np.minimum(counts, 1.0) if mode == "multi_hot" else counts


@operator(
    labels=integers(0, 7, "m", 4),
    weights=uniform(0.2, 2.0, "m", 4).fixed(),
    precisions=("fp32",),
    sizes=_FEW,
    source=KERAS + "preprocessing_layers/categorical/category_encoding/",
)
def weighed_categories(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the sum of weights of each of seven in a row."""
    return np.sum(np.eye(7)[labels] * weights[..., None], 1)


@operator(
    x=normal("m", "n").fixed(),
    source="https://keras.io/api/utils/python_utils/#normalize-function",
    sizes=_SIZES,
    precisions=("fp32",),
    parameters=[{"axis": axis, "order": order} for axis, order in ((-1, 2), (0, 2), (-1, 1), (-1, 3))],
)
def scaled_to_norm(x: np.ndarray, axis: int, order: int) -> np.ndarray:
    """Return x over its norm along an axis."""
    return x / np.sum(np.abs(x) ** order, axis, keepdims=True) ** (1 / order)


@operator(
    x=normal("m", "n"),
    source=KERAS + "preprocessing_layers/image_preprocessing/rescaling/",
    sizes=_SIZES,
    parameters=[{"scale": 0.25, "offset": 0.0}, {"scale": 2.0, "offset": -1.0}],
)
def rescaled(x: np.ndarray, scale: float, offset: float) -> np.ndarray:
    """Return x times a scale, and an offset."""
    return x * scale + offset


@operator(
    x=normal("m", "n"),
    seen=normal(40, "n", mean=2.0, scale=3.0).fixed(),
    source=KERAS + "preprocessing_layers/numerical/normalization/",
    sizes=({"m": 3, "n": 7}, {"m": 1, "n": 1}, {"m": 5, "n": 33}),
    precisions=("fp32",),
    parameters=[{"is_inverse": False}, {"is_inverse": True}],
)
def normalized_as_seen(x: np.ndarray, seen: np.ndarray, is_inverse: bool) -> np.ndarray:
    """Return x less the mean of what was seen over its deviation, column by column, or the inverse."""
    mean, deviation = seen.mean(0), seen.std(0)
    return x * deviation + mean if is_inverse else (x - mean) / deviation


def _between(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    """Return numbers that are at bounds -1, 0, 2 and 3.5, and elsewhere."""
    return np.where(random.random(shape) < 0.3, random.choice((-1.0, 0.0, 2.0, 3.5), shape), random.uniform(-3, 6, shape))


@operator(
    x=drawn(_between, "m", "n", is_differentiated=False),
    source=KERAS + "preprocessing_layers/numerical/discretization/",
    sizes=_SIZES,
    precisions=("fp32",),
)
def bins_of(x: np.ndarray) -> np.ndarray:
    """Return in which of five intervals a number is; a bound belongs to what is above it."""
    return np.sum(x[..., None] >= np.array([-1.0, 0.0, 2.0, 3.5]), -1)


# Trees of parameters: two arrays and a third.
_TREES = tuple({"m": rows, "n": size} for rows, size in ((3, 4), (1, 1), (5, 33), (3, 1027)))


def _tree(**more: Argument) -> dict[str, Any]:
    return {"x": normal("m", "n"), "y": normal("n"), **more, "source": OPTAX, "sizes": _TREES, "precisions": WIDE}


@operator(**_tree())
def flat_parameters(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return all numbers of two arrays in one row."""
    return np.concatenate([x.ravel(), y.ravel()])


@operator(**_tree(z=normal("m", "n"), v=normal("n")))
def tree_products(x: np.ndarray, y: np.ndarray, z: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of products of two trees, and of all numbers of the first."""
    return np.sum(x * z) + np.sum(y * v), np.sum(x) + np.sum(y)


@operator(**_tree(z=normal("m", "n"), v=normal("n")), parameters=[{"scale": 0.5}, {"scale": -2.0}])
def tree_sums(x: np.ndarray, y: np.ndarray, z: np.ndarray, v: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the first tree and a scale times the second."""
    return x + scale * z, y + scale * v


@operator(**_tree(), parameters=[{"order": 2}, {"order": 1}, {"order": None}])
def tree_norm(x: np.ndarray, y: np.ndarray, order: int | None) -> np.ndarray:
    """Return the norm of all numbers; None: of the largest."""
    row = np.abs(np.concatenate([x.ravel(), y.ravel()]))
    return row.max() if order is None else np.sum(row**order) ** (1 / order)


@operator(
    x=normal("m", "n").fixed(),
    y=normal("n").fixed(),
    source=TORCH,
    sizes=_TREES,
    precisions=WIDE,
    parameters=[{"order": 2}, {"order": 1}, {"order": None}],
)
def norm_of_gradients(x: np.ndarray, y: np.ndarray, order: int | None) -> np.ndarray:
    """Return the norm of all numbers of gradients, which have none themselves; None: of the largest."""
    return tree_norm(x, y, order)


@operator(**_tree(z=normal("m", "n"), v=normal("n")), parameters=[{"decay": 0.9, "order": 1}, {"decay": 0.99, "order": 2}])
def tree_moment(
    x: np.ndarray, y: np.ndarray, z: np.ndarray, v: np.ndarray, decay: float, order: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return (1 - decay) x^order + decay z."""
    return (1 - decay) * x**order + decay * z, (1 - decay) * y**order + decay * v


@operator(**_tree(), parameters=[{"decay": 0.9, "count": 1}, {"decay": 0.999, "count": 7}])
def tree_corrected(x: np.ndarray, y: np.ndarray, decay: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return moments over 1 - decay^count (https://doi.org/10.48550/arXiv.1412.6980)."""
    return x / (1 - decay**count), y / (1 - decay**count)


@operator(
    weight=normal("m", "n"),
    size=positive("m"),
    source="https://doi.org/10.48550/arXiv.1602.07868",
    sizes=_TREES[:1] + _TREES[2:],
    precisions=WIDE,
)
def weight_of_norm(weight: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return rows of a length of their own."""
    return size[:, None] * weight / np.sqrt(np.sum(weight**2, 1, keepdims=True))


@operator(
    weight=normal(5, 3, 2, 3).fixed(),
    bias=normal(5).fixed(),
    mean=normal(5).fixed(),
    variance=positive(5).fixed(),
    scale=normal(5).fixed(),
    shift=normal(5).fixed(),
    x=normal(2, 3, "m", "n"),
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.fuse_conv_bn_eval.html",
    sizes=({"m": 2, "n": 3}, {"m": 5, "n": 7}, {"m": 9, "n": 33}),
    precisions=WIDE,
)
def fused_convolution(
    weight: np.ndarray,
    bias: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    scale: np.ndarray,
    shift: np.ndarray,
    x: np.ndarray,
) -> np.ndarray:
    """Return a convolution, then normalized by a mean and a variance that are known, epsilon 1e-5."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (2, 3))
    found = np.einsum("oikl,nihwkl->nohw", weight, windows) + bias[:, None, None]
    factor = (scale / np.sqrt(variance + 1e-5))[:, None, None]
    return (found - mean[:, None, None]) * factor + shift[:, None, None]


@operator(
    weight=normal(5, "n").fixed(),
    bias=normal(5).fixed(),
    mean=normal(5).fixed(),
    variance=positive(5).fixed(),
    scale=normal(5).fixed(),
    shift=normal(5).fixed(),
    x=normal("m", "n"),
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.fuse_linear_bn_eval.html",
    sizes=_TREES,
    precisions=WIDE,
)
def fused_linear(
    weight: np.ndarray,
    bias: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    scale: np.ndarray,
    shift: np.ndarray,
    x: np.ndarray,
) -> np.ndarray:
    """Return a linear layer, then normalized by a mean and a variance that are known, epsilon 1e-5."""
    return (x @ weight.T + bias - mean) * scale / np.sqrt(variance + 1e-5) + shift


@operator(
    x=normal("m", "n"), keep=mask("m", "n"), source="https://www.tensorflow.org/api_docs/python/tf/boolean_mask", sizes=_TREES
)
def numbers_where(x: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Return those numbers, in order, that a mask keeps."""
    return x[keep]


@operator(
    x=normal("m", "n").fixed(),
    source="https://keras.io/api/data_loading/timeseries/",
    sizes=({"m": 30, "n": 1}, {"m": 65, "n": 3}),
    precisions=("fp32",),
    parameters=[
        {"length": 4, "stride": 2, "rate": 1},
        {"length": 3, "stride": 1, "rate": 3},
        {"length": 5, "stride": 4, "rate": 2},
    ],
)
def windows_of_series(x: np.ndarray, length: int, stride: int, rate: int) -> np.ndarray:
    """Return all windows [window, time, feature] that fit: of a length, a stride apart, of each rate-th step."""
    starts = range(0, len(x) - (length - 1) * rate, stride)
    return np.stack([x[start : start + length * rate : rate] for start in starts])


@operator(
    like=normal("n").fixed(),
    source=TORCH + "#torch.nn.init.dirac_",
    sizes=({"n": 1},),
    precisions=WIDE,
    parameters=[
        {"rows": 4, "columns": 3, "groups": 1},
        {"rows": 4, "columns": 2, "groups": 2},
        {"rows": 2, "columns": 5, "groups": 1},
    ],
)
def dirac_weights(like: np.ndarray, rows: int, columns: int, groups: int) -> np.ndarray:
    """Return weights [out, in, 3, 5] of a convolution that keeps as many channels as there are, in each group."""
    found = np.zeros((rows, columns, 3, 5))
    for group in range(groups):
        for place in range(min(rows // groups, columns)):
            found[group * (rows // groups) + place, place, 1, 2] = 1.0
    return found


@operator(
    like=normal("n").fixed(),
    source=KERAS + "../initializers/",
    sizes=({"n": 1},),
    precisions=WIDE,
    parameters=[{"rows": 4, "columns": 6, "gain": 1.0}, {"rows": 5, "columns": 3, "gain": 2.5}],
)
def eye_weights(like: np.ndarray, rows: int, columns: int, gain: float) -> np.ndarray:
    """Return a gain on the diagonal."""
    return gain * np.eye(rows, columns)


def gain_of(kind: str, slope: float) -> float:
    """Return the factor that keeps the variance of a layer with some activation (torch.nn.init.calculate_gain)."""
    return {
        "linear": 1.0,
        "sigmoid": 1.0,
        "tanh": 5 / 3,
        "relu": math.sqrt(2.0),
        "selu": 0.75,
        "leaky_relu": math.sqrt(2 / (1 + slope**2)),
    }[kind]


@operator(
    like=normal("n").fixed(),
    source=TORCH + "#torch.nn.init.calculate_gain",
    sizes=({"n": 1},),
    precisions=("fp64",),
    parameters=[{"kind": kind, "slope": 0.2} for kind in ("linear", "sigmoid", "tanh", "relu", "selu", "leaky_relu")],
)
def gain_of_activation(like: np.ndarray, kind: str, slope: float) -> np.ndarray:
    """Return the factor that keeps the variance of a layer with some activation."""
    return np.asarray(gain_of(kind, slope))
