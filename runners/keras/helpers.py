"""Keras: what lies between layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

layers = keras.layers
_BOUNDS = [-1.0, 0.0, 2.0, 3.5]


def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)


def _layer(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of a layer of the parameters, in the type of what it is given."""
    return lambda x, **parameters: make(**parameters, dtype=_kind(x))(x)


def _merge(kind: str) -> Callable[..., Any]:
    return lambda **given: getattr(layers, kind)(dtype=_kind(given["x"]))(list(given.values()))


def _merge_by_function(kind: str) -> Callable[..., Any]:
    return lambda **given: getattr(layers, kind)(list(given.values()), dtype=_kind(given["x"]))


def _dot(x: Any, y: Any, axes: Any, normalize: bool) -> Any:
    return layers.Dot(axes, normalize, dtype=_kind(x))([x, y])


def _one_dimensional(kind: str, end: str) -> Callable[..., Any]:
    """Return a call of a layer of lines for both axes of planes, one after the other."""

    def call(x: Any, rows: Any, columns: Any) -> Any:
        first, lines, second, channels = x.shape
        own = {end: rows if end == "size" else tuple(rows)}
        other = {end: columns if end == "size" else tuple(columns)}
        found = getattr(layers, kind)(**own, dtype=_kind(x))(ops.reshape(x, (first, lines, second * channels)))
        found = ops.reshape(found, (first * found.shape[1], second, channels))
        found = getattr(layers, kind)(**other, dtype=_kind(x))(found)
        return ops.reshape(found, (first, -1, found.shape[1], channels))

    return call


def _planes(kind: str) -> Callable[..., Any]:
    def call(x: Any, rows: Any, columns: Any) -> Any:
        layer = getattr(layers, kind)((tuple(rows), tuple(columns)), data_format="channels_last", dtype=_kind(x))
        return layer(x)

    return call


def _planes_first(kind: str) -> Callable[..., Any]:
    """Return a call of a layer for planes whose channels come second."""

    def call(x: Any, rows: Any, columns: Any) -> Any:
        layer = getattr(layers, kind)((tuple(rows), tuple(columns)), data_format="channels_first", dtype=_kind(x))
        return ops.transpose(layer(ops.transpose(x, (0, 3, 1, 2))), (0, 2, 3, 1))

    return call


def _blocks(kind: str) -> Callable[..., Any]:
    """Return a call of a layer of blocks that leaves the first of three axes as it is."""

    def call(x: Any, rows: Any, columns: Any) -> Any:
        sides = ((0, 0), tuple(rows), tuple(columns))
        return getattr(layers, kind)(sides, data_format="channels_last", dtype=_kind(x))(x[:, None])[:, 0]

    return call


def _enlarged(interpolation: str) -> Callable[..., Any]:
    def call(x: Any, rows: int, columns: int) -> Any:
        return layers.UpSampling2D((rows, columns), "channels_last", interpolation, dtype=_kind(x))(x)

    return call


def _enlarged_block(x: Any, rows: int, columns: int) -> Any:
    return layers.UpSampling3D((1, rows, columns), "channels_last", dtype=_kind(x))(x[:, None])[:, 0]


def _resizing(interpolation: str) -> Callable[..., Any]:
    def call(x: Any, rows: int, columns: int) -> Any:
        size = (x.shape[1] * rows, x.shape[2] * columns)
        return ops.image.resize(x, size, interpolation, data_format="channels_last")

    return call


def _masked(x: Any) -> Any:
    layer = layers.Masking(dtype=_kind(x))
    return layer(x), layer.compute_mask(x)


def _cosine(x: Any, y: Any, axis: int) -> Any:
    return -keras.losses.cosine_similarity(x, y, axis)


def _list(x: Any, lengths: Any) -> list[list[int]]:
    values = ops.convert_to_numpy(x)
    return [[int(each) for each in row[: int(length)]] for row, length in zip(values, ops.convert_to_numpy(lengths), strict=True)]


def _padded_numbers(x: Any, lengths: Any, longest: int | None, padding: str, truncating: str) -> Any:
    return keras.utils.pad_sequences(_list(x, lengths), longest, "int64", padding, truncating)


def _encoded(labels: Any, mode: str) -> Any:
    return layers.CategoryEncoding(7, mode)(labels)


def _each_time(x: Any, scale: float, offset: float) -> Any:
    """Return the same of a layer at each time: rows are times of one sequence."""
    layer = layers.TimeDistributed(layers.Rescaling(scale, offset, dtype=_kind(x)), dtype=_kind(x))
    return layer(x[None])[0]


def _seen(x: Any, seen: Any, is_inverse: bool) -> Any:
    layer = layers.Normalization(invert=is_inverse)
    layer.adapt(ops.convert_to_numpy(seen))
    return layer(x)


def _seen_in_batches(x: Any, seen: Any, is_inverse: bool) -> Any:
    """Return what a layer gives whose mean and variance are handed in."""
    mean, variance = ops.moments(seen, [0])
    return layers.Normalization(mean=mean, variance=variance, invert=is_inverse)(x)


def _windows(x: Any, length: int, stride: int, rate: int) -> Any:
    data = keras.utils.timeseries_dataset_from_array(
        ops.convert_to_numpy(x), None, length, sequence_stride=stride, sampling_rate=rate, batch_size=4
    )
    return ops.convert_to_tensor(np.concatenate([np.asarray(each) for each in data]))


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "merged_sum": {"keras.layers.Add": _merge("Add"), "keras.layers.add": _merge_by_function("add")},
    "merged_mean": {"keras.layers.Average": _merge("Average"), "keras.layers.average": _merge_by_function("average")},
    "merged_product": {"keras.layers.Multiply": _merge("Multiply"), "keras.layers.multiply": _merge_by_function("multiply")},
    "merged_largest": {"keras.layers.Maximum": _merge("Maximum"), "keras.layers.maximum": _merge_by_function("maximum")},
    "merged_least": {"keras.layers.Minimum": _merge("Minimum"), "keras.layers.minimum": _merge_by_function("minimum")},
    "merged_difference": {"keras.layers.Subtract": _merge("Subtract"), "keras.layers.subtract": _merge_by_function("subtract")},
    "merged_beside": {
        "keras.layers.Concatenate": lambda x, y, axis: layers.Concatenate(axis, dtype=_kind(x))([x, y]),
        "keras.layers.concatenate": lambda x, y, axis: layers.concatenate([x, y], axis, dtype=_kind(x)),
    },
    "merged_dot": {"keras.layers.Dot": _dot, "keras.layers.dot": lambda x, y, **more: layers.dot([x, y], **more, dtype=_kind(x))},
    "reshaped": {"keras.layers.Reshape": _layer(lambda shape, dtype: layers.Reshape(tuple(shape), dtype=dtype))},
    "reordered": {"keras.layers.Permute": _layer(lambda order, dtype: layers.Permute(tuple(order), dtype=dtype))},
    "repeated": {"keras.layers.RepeatVector": _layer(lambda count, dtype: layers.RepeatVector(count, dtype=dtype))},
    "flattened": {"keras.layers.Flatten": _layer(layers.Flatten)},
    "surrounded": {
        "keras.layers.ZeroPadding1D": _one_dimensional("ZeroPadding1D", "padding"),
        "keras.layers.ZeroPadding2D": _planes("ZeroPadding2D"),
        "keras.layers.ZeroPadding2D (channels first)": _planes_first("ZeroPadding2D"),
        "keras.layers.ZeroPadding3D": _blocks("ZeroPadding3D"),
    },
    "cropped": {
        "keras.layers.Cropping1D": _one_dimensional("Cropping1D", "cropping"),
        "keras.layers.Cropping2D": _planes("Cropping2D"),
        "keras.layers.Cropping2D (channels first)": _planes_first("Cropping2D"),
        "keras.layers.Cropping3D": _blocks("Cropping3D"),
    },
    "enlarged": {
        "keras.layers.UpSampling1D": _one_dimensional("UpSampling1D", "size"),
        "keras.layers.UpSampling2D": _enlarged("nearest"),
        "keras.layers.UpSampling3D": _enlarged_block,
        "keras.ops.image.resize": _resizing("nearest"),
    },
    "enlarged_linearly": {"keras.layers.UpSampling2D": _enlarged("bilinear"), "keras.ops.image.resize": _resizing("bilinear")},
    "masked_rows": {"keras.layers.Masking": _masked},
    "cosine_of_pairs": {"keras.losses.cosine_similarity": _cosine},
    "padded_numbers": {"keras.utils.pad_sequences": _padded_numbers},
    "one_hot_rows": {
        "keras.utils.to_categorical": lambda labels, count: keras.utils.to_categorical(labels, count),
        "keras.ops.one_hot": lambda labels, count: ops.one_hot(labels, count),
    },
    "encoded_categories": {
        "keras.layers.CategoryEncoding": _encoded,
        "keras.ops.multi_hot": lambda labels, mode: (
            ops.multi_hot(labels, 7, dtype="float32") if mode == "multi_hot" else _encoded(labels, mode)
        ),
    },
    "weighed_categories": {
        "keras.layers.CategoryEncoding": lambda labels, weights: layers.CategoryEncoding(7, "count")(
            labels, count_weights=weights
        ),
    },
    "scaled_to_norm": {
        "keras.utils.normalize": lambda x, axis, order: ops.convert_to_tensor(
            keras.utils.normalize(ops.convert_to_numpy(x), axis, order)
        ),
        "keras.ops.normalize": lambda x, axis, order: ops.normalize(x, axis, order),
    },
    "rescaled": {"keras.layers.TimeDistributed": _each_time, "keras.layers.Rescaling": _layer(layers.Rescaling)},
    "normalized_as_seen": {
        "keras.layers.Normalization (adapted)": lambda x, seen, is_inverse: _seen(x, seen, is_inverse),
        "keras.layers.Normalization": _seen_in_batches,
    },
    "bins_of": {
        "keras.layers.Discretization": lambda x: layers.Discretization(_BOUNDS)(x),
        "keras.ops.digitize": lambda x: ops.digitize(x, ops.convert_to_tensor(_BOUNDS)),
        "keras.ops.searchsorted": lambda x: ops.searchsorted(ops.convert_to_tensor(_BOUNDS), x, side="right"),
    },
    "windows_of_series": {"keras.utils.timeseries_dataset_from_array": _windows},
    "eye_weights": {
        "keras.initializers.Identity": lambda like, rows, columns, gain: keras.initializers.Identity(gain)(
            (rows, columns), _kind(like)
        ),
    },
}
