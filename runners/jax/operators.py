"""Operators of JAX in NumPy, by the names of their primitives: each takes the equation's parameters and its arguments.

Only what must be fast, or what XLA is slow at in float64, as convolution is. All else is bound as JAX does it. An operator
returns NotImplemented for arguments that it does not know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Parameters = dict[str, Any]


def _pointwise(function: Callable, kinds: str = "fc") -> Callable:
    """Return an operator on arguments whose types are of these kinds."""

    def operator(parameters: Parameters, *values: np.ndarray) -> Any:
        return function(*values) if all(value.dtype.kind in kinds for value in values) else NotImplemented

    return operator


def _reduction(function: Callable, kinds: str = "fc") -> Callable:
    def operator(parameters: Parameters, x: np.ndarray) -> Any:
        axes = tuple(parameters["axes"])
        is_known = x.dtype.kind in kinds and all(x.shape[axis] for axis in axes)
        return function(x, axis=axes) if is_known else NotImplemented

    return operator


def _accumulation(function: Callable) -> Callable:
    def operator(parameters: Parameters, x: np.ndarray) -> Any:
        if x.dtype.kind != "f":
            return NotImplemented
        axis = parameters["axis"]
        return np.flip(function(np.flip(x, axis), axis=axis), axis) if parameters["reverse"] else function(x, axis=axis)

    return operator


def _chosen(function: Callable) -> Callable:
    def operator(parameters: Parameters, x: np.ndarray) -> Any:
        axes = parameters["axes"]
        return function(x, axis=axes[0]).astype(parameters["index_dtype"]) if len(axes) == 1 else NotImplemented

    return operator


def _integer_power(parameters: Parameters, x: np.ndarray) -> Any:
    power = parameters["y"]
    if x.dtype.kind not in "fc":
        return NotImplemented
    result, square, rest = None, x, abs(power)
    while rest:
        if rest & 1:
            result = square if result is None else result * square
        square, rest = (square * square if rest > 1 else square), rest >> 1
    if result is None:
        return np.ones_like(x)
    return 1.0 / result if power < 0 else result.copy() if result is x else result


def _power(parameters: Parameters, x: np.ndarray, y: np.ndarray) -> Any:
    return np.power(x, y.astype(x.dtype)) if x.dtype.kind == "f" else NotImplemented


def _select(parameters: Parameters, which: np.ndarray, *cases: np.ndarray) -> Any:
    return np.where(which, cases[1], cases[0]) if which.dtype == bool and len(cases) == 2 else NotImplemented


def _iota(parameters: Parameters, *sizes: np.ndarray) -> Any:
    dtype, shape, dimension = np.dtype(parameters["dtype"]), parameters["shape"], parameters["dimension"]
    if sizes or dtype.kind not in "iuf":
        return NotImplemented
    along = [1] * len(shape)
    along[dimension] = shape[dimension]
    dtype = np.dtype(np.float64) if dtype.kind == "f" else dtype
    return np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(along), shape)


def _reshape(parameters: Parameters, x: np.ndarray, *sizes: np.ndarray) -> Any:
    return NotImplemented if sizes or parameters["dimensions"] is not None else x.reshape(parameters["new_sizes"])


def _broadcast(parameters: Parameters, x: np.ndarray, *sizes: np.ndarray) -> Any:
    shape = parameters["shape"]
    if sizes:
        return NotImplemented
    form = [1] * len(shape)
    for axis, place in enumerate(parameters["broadcast_dimensions"]):
        form[place] = x.shape[axis]
    return np.broadcast_to(x.reshape(form), shape)


def _slice(parameters: Parameters, x: np.ndarray) -> np.ndarray:
    starts, limits = parameters["start_indices"], parameters["limit_indices"]
    strides = parameters["strides"] or (1,) * x.ndim
    return x[tuple(slice(*each) for each in zip(starts, limits, strides, strict=True))]


def _starts(x: np.ndarray, sizes: Sequence[int], starts: Sequence[np.ndarray]) -> tuple[slice, ...]:
    """Return where a part of this size lies that begins there, moved so that it lies within."""
    begins = [min(max(int(start), 0), whole - size) for start, whole, size in zip(starts, x.shape, sizes, strict=True)]
    return tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=True))


def _dynamic_slice(parameters: Parameters, x: np.ndarray, *starts: np.ndarray) -> Any:
    sizes = parameters["slice_sizes"]
    return x[_starts(x, sizes, starts)] if len(starts) == x.ndim else NotImplemented


def _dynamic_update_slice(parameters: Parameters, x: np.ndarray, update: np.ndarray, *starts: np.ndarray) -> np.ndarray:
    x = x.copy()
    x[_starts(x, update.shape, starts)] = update
    return x


def _pad(parameters: Parameters, x: np.ndarray, filling: np.ndarray) -> Any:
    low, high, inner = (list(each) for each in zip(*parameters["padding_config"], strict=True)) if x.ndim else ([], [], [])
    if any(inner) or min([0, *low, *high]) < 0:
        return NotImplemented
    padded = np.full([a + n + b for a, n, b in zip(low, x.shape, high, strict=True)], filling, dtype=x.dtype)
    padded[tuple(slice(a, a + n) for a, n in zip(low, x.shape, strict=True))] = x
    return padded


def _split(parameters: Parameters, x: np.ndarray) -> list[np.ndarray]:
    return np.split(x, np.cumsum(parameters["sizes"])[:-1], axis=parameters["axis"])


def _round(parameters: Parameters, x: np.ndarray) -> Any:
    return np.rint(x) if int(parameters["rounding_method"]) == 1 else NotImplemented


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def _matrices(parameters: Parameters, x: np.ndarray, y: np.ndarray) -> Any:
    """dot_general: axes of the batch, then what is left of x, then of y."""
    (contract_x, contract_y), (batch_x, batch_y) = parameters["dimension_numbers"]
    if x.dtype.kind not in "fc" or y.dtype.kind not in "fc":
        return NotImplemented
    free_x = [axis for axis in range(x.ndim) if axis not in (*contract_x, *batch_x)]
    free_y = [axis for axis in range(y.ndim) if axis not in (*contract_y, *batch_y)]
    batch = [x.shape[axis] for axis in batch_x]
    n = math.prod(x.shape[axis] for axis in contract_x)
    shape_x, shape_y = [x.shape[axis] for axis in free_x], [y.shape[axis] for axis in free_y]
    left = x.transpose(*batch_x, *free_x, *contract_x).reshape(*batch, math.prod(shape_x), n)
    right = y.transpose(*batch_y, *contract_y, *free_y).reshape(*batch, n, math.prod(shape_y))
    return np.matmul(left, right).reshape((*batch, *shape_x, *shape_y))  # of two vectors one number: reshape() has no such form


def _convolution(parameters: Parameters, x: np.ndarray, kernel: np.ndarray) -> Any:
    """conv_general_dilated, as a product of matrices: every window of x is a row."""
    if x.dtype.kind != "f":
        return NotImplemented
    numbers = parameters["dimension_numbers"]
    x, kernel = x.transpose(numbers.lhs_spec), kernel.transpose(numbers.rhs_spec)
    x = _spread(x, parameters["lhs_dilation"], parameters["padding"])
    features = parameters["feature_group_count"]
    parts = parameters["batch_group_count"]
    groups = max(features, parts)
    sizes, gaps = kernel.shape[2:], parameters["rhs_dilation"]
    extents = tuple((size - 1) * gap + 1 for size, gap in zip(sizes, gaps, strict=True))
    axes = tuple(range(2, x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(x, extents, axis=axes)
    within = tuple(slice(None, None, step) for step in parameters["window_strides"])
    windows = windows[(slice(None), slice(None), *within, *(slice(None, None, gap) for gap in gaps))]
    out = windows.shape[2 : 2 + len(sizes)]
    rows, channels = x.shape[0] // parts, x.shape[1] // features
    # [groups, rows, channels, out, window]: of the two counts one is 1
    windows = windows.reshape(parts, rows, features, channels, *out, *sizes)
    spatial = range(4, 4 + 2 * len(sizes))
    kept, summed = list(spatial)[: len(sizes)], list(spatial)[len(sizes) :]
    left = windows.transpose(0, 2, 1, *kept, 3, *summed).reshape(groups, rows * math.prod(out), -1)
    right = kernel.reshape(groups, kernel.shape[0] // groups, -1).transpose(0, 2, 1)
    result = np.matmul(left, right).reshape(groups, rows, *out, -1)
    result = np.moveaxis(np.moveaxis(result, -1, 1), 2, 0)  # [rows, groups, features of one, out]
    result = result.reshape(rows, kernel.shape[0], *out)
    return result.transpose(np.argsort(numbers.out_spec))


def _spread(x: np.ndarray, dilation: Sequence[int], padding: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return x with zeros between its elements and around them; a negative padding takes away."""
    sizes = [(n - 1) * gap + 1 if n else 0 for n, gap in zip(x.shape[2:], dilation, strict=True)]
    whole = [low + size + high for size, (low, high) in zip(sizes, padding, strict=True)]
    if all(gap == 1 for gap in dilation) and not any(any(pair) for pair in padding):
        return x
    spread = np.zeros((*x.shape[:2], *sizes), x.dtype)
    spread[(slice(None), slice(None), *(slice(None, None, gap) for gap in dilation))] = x
    cut = [slice(max(-low, 0), size - max(-high, 0)) for size, (low, high) in zip(sizes, padding, strict=True)]
    result = np.zeros((*x.shape[:2], *whole), x.dtype)
    place = [slice(max(low, 0), n - max(high, 0)) for n, (low, high) in zip(whole, padding, strict=True)]
    result[(slice(None), slice(None), *place)] = spread[(slice(None), slice(None), *cut)]
    return result


def _same(parameters: Parameters, *values: np.ndarray) -> Any:
    return list(values) if len(values) > 1 else values[0]


OPERATORS: dict[str, Callable] = {
    "add": _pointwise(np.add, "fciu"), "sub": _pointwise(np.subtract, "fciu"), "mul": _pointwise(np.multiply, "fciu"),
    "add_any": _pointwise(np.add, "fciu"), "div": _pointwise(np.divide), "neg": _pointwise(np.negative, "fci"),
    "max": _pointwise(np.maximum, "fiu"), "min": _pointwise(np.minimum, "fiu"), "abs": _pointwise(np.abs, "f"),
    "exp": _pointwise(np.exp), "exp2": _pointwise(np.exp2), "expm1": _pointwise(np.expm1), "log": _pointwise(np.log, "f"),
    "log1p": _pointwise(np.log1p, "f"), "tanh": _pointwise(np.tanh), "sin": _pointwise(np.sin), "cos": _pointwise(np.cos),
    "tan": _pointwise(np.tan), "sqrt": _pointwise(np.sqrt, "f"), "rsqrt": _pointwise(lambda x: 1.0 / np.sqrt(x), "f"),
    "square": _pointwise(np.square), "logistic": _pointwise(_logistic, "f"), "sign": _pointwise(np.sign, "f"),
    "floor": _pointwise(np.floor, "f"), "ceil": _pointwise(np.ceil, "f"), "atan2": _pointwise(np.arctan2, "f"),
    "is_finite": _pointwise(np.isfinite), "eq": _pointwise(np.equal, "fiub"), "ne": _pointwise(np.not_equal, "fiub"),
    "lt": _pointwise(np.less, "fiu"), "le": _pointwise(np.less_equal, "fiu"), "gt": _pointwise(np.greater, "fiu"),
    "ge": _pointwise(np.greater_equal, "fiu"), "and": _pointwise(np.bitwise_and, "iub"), "or": _pointwise(np.bitwise_or, "iub"),
    "xor": _pointwise(np.bitwise_xor, "iub"), "not": _pointwise(np.invert, "iub"), "round": _round, "integer_pow": _integer_power,
    "pow": _power, "clamp": _pointwise(lambda low, x, high: np.minimum(np.maximum(x, low), high), "fiu"), "select_n": _select,
    "reduce_sum": _reduction(np.sum), "reduce_max": _reduction(np.max, "f"), "reduce_min": _reduction(np.min, "f"),
    "reduce_prod": _reduction(np.prod), "reduce_and": _reduction(np.all, "b"), "reduce_or": _reduction(np.any, "b"),
    "argmax": _chosen(np.argmax), "argmin": _chosen(np.argmin), "cumsum": _accumulation(np.cumsum),
    "cumprod": _accumulation(np.cumprod), "cummax": _accumulation(np.maximum.accumulate),
    "cummin": _accumulation(np.minimum.accumulate), "iota": _iota, "reshape": _reshape, "broadcast_in_dim": _broadcast,
    "slice": _slice, "dynamic_slice": _dynamic_slice, "dynamic_update_slice": _dynamic_update_slice, "pad": _pad,
    "split": _split, "squeeze": lambda parameters, x: np.squeeze(x, tuple(parameters["dimensions"])),
    "transpose": lambda parameters, x: x.transpose(parameters["permutation"]),
    "rev": lambda parameters, x: np.flip(x, parameters["dimensions"]),
    "concatenate": lambda parameters, *values: np.concatenate(values, axis=parameters["dimension"]),
    "dot_general": _matrices, "conv_general_dilated": _convolution, "copy": _same, "copy_p": _same, "name": _same,
    "optimization_barrier": _same, "stop_gradient": _same, "device_put": _same, "sharding_constraint": _same,
    "reduce_precision": _same, "pvary": _same,
}  # fmt: skip
