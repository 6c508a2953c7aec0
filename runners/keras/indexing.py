"""Keras: what picks, places, orders and rearranges numbers."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from runners.contract.errors import Unsupported


def _segment(function: Any, count: int) -> Any:
    return lambda y, ids: function(y, ids, num_segments=count)


def _rising(function: Any) -> Any:
    def call(x: Any, axis: int, is_descending: bool) -> Any:
        if is_descending:
            raise Unsupported("rising alone")
        return function(x, axis=axis)

    return call


def _clip(x: Any, low: float | None, high: float | None) -> Any:
    if low is None or high is None:
        raise Unsupported("both limits")
    return ops.clip(x, low, high)


def _roll(x: Any, shift: Any, axis: Any) -> Any:
    return ops.roll(x, tuple(shift) if isinstance(shift, list) else shift, tuple(axis) if isinstance(axis, list) else axis)


def _digitize(x: Any, edges: Any, right: bool) -> Any:
    if right:
        raise Unsupported("an equal edge lies below alone")
    return ops.digitize(x, edges)


def _scatter(places: Any, y: Any) -> Any:
    return ops.scatter(ops.expand_dims(places, -1), y, (1027, y.shape[1]))


def _update(x: Any, places: Any, y: Any) -> Any:
    return ops.scatter_update(x, ops.expand_dims(places, -1), y)


def _add(x: Any, places: Any, y: Any) -> Any:
    return ops.scatter_update(x, ops.expand_dims(places, -1), y, reduction="add")


def _slice_update(x: Any, y: Any, start: Any) -> Any:
    return ops.slice_update(x, start, y)


def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)


CALLS = {
    "take_rows": {"keras.ops.take": lambda x, places: ops.take(x, places, axis=0)},
    "take_columns": {"keras.ops.take": lambda x, places: ops.take(x, places, axis=1)},
    "take_by_matrix": {"keras.ops.take": lambda x, places: ops.take(x, places, axis=0)},
    "take_from_the_end": {"keras.ops.take": lambda x, places: ops.take(x, places, axis=0)},
    "take_along_first_axis": {"keras.ops.take_along_axis": lambda x, places: ops.take_along_axis(x, places, axis=0)},
    "take_along_last_axis": {"keras.ops.take_along_axis": lambda x, places: ops.take_along_axis(x, places, axis=-1)},
    "take_of_all": {"keras.ops.take": None},
    "add_at": {"keras.ops.scatter_update": _add},
    "set_at": {"keras.ops.scatter_update": _update},
    "scatter_to_zeros": {"keras.ops.scatter": _scatter},
    "segment_sum": {"keras.ops.segment_sum": _segment(ops.segment_sum, 7)},
    "segment_max": {"keras.ops.segment_max": _segment(ops.segment_max, 5)},
    "segment_min": {"keras.ops.segment_min": _segment(getattr(ops, "segment_min", None), 5)},
    "segment_prod": {"keras.ops.segment_prod": _segment(getattr(ops, "segment_prod", None), 7)},
    "sort": {"keras.ops.sort": _rising(ops.sort)},
    "argsort": {"keras.ops.argsort": _rising(ops.argsort)},
    "argsort_of_equals": {"keras.ops.argsort": None},
    "sort_of_integers": {"keras.ops.sort": None},
    "sort_with_nan": {"keras.ops.sort": None},
    "top_k": {"keras.ops.top_k": lambda x, count: ops.top_k(x, count)[0]},
    "top_k_with_places": {"keras.ops.top_k": lambda x, count: tuple(ops.top_k(x, count))},
    "searchsorted": {"keras.ops.searchsorted": lambda edges, x, side: ops.searchsorted(edges, x, side=side)},
    "digitize": {"keras.ops.digitize": _digitize},
    "isin": {"keras.ops.isin": lambda x, among, is_inverted: ops.isin(x, among, invert=is_inverted)},
    "where": {"keras.ops.where": None},
    "where_broadcast": {"keras.ops.where": None},
    "select": {"keras.ops.select": lambda one, other, x, y: ops.select([one, other], [x, y], 7.0)},
    "masked_fill": {"keras.ops.where": lambda x, which, value: ops.where(which, value, x)},
    "clip": {"keras.ops.clip": _clip},
    "clip_between_arrays": {"keras.ops.clip": None},
    "clip_again": {"keras.ops.clip": lambda x, low, high: ops.clip(ops.clip(x, low, high), low, high)},
    "roll": {"keras.ops.roll": _roll},
    "flip": {"keras.ops.flip": lambda x, axis: ops.flip(x, axis=tuple(axis))},
    "rot90": {"keras.ops.rot90": lambda x, turns, axes: ops.rot90(x, k=turns, axes=tuple(axes))},
    "repeat": {"keras.ops.repeat": lambda x, times, axis: ops.repeat(x, times, axis=axis)},
    "tile": {"keras.ops.tile": lambda x, times: ops.tile(x, times)},
    "concatenate": {
        "keras.ops.concatenate": lambda x, y, axis: ops.concatenate([x, y, x], axis=axis),
        "keras.layers.Concatenate": lambda x, y, axis: keras.layers.Concatenate(axis=axis, dtype=_kind(x))([x, y, x]),
    },
    "stack": {"keras.ops.stack": lambda x, y, axis: ops.stack([x, y], axis=axis)},
    "split_at": {"keras.ops.split": lambda x, ends: ops.split(x, ends, axis=1)},
    "split_unevenly": {"keras.ops.array_split": lambda x: ops.array_split(x, 3, axis=1)},
    "transpose": {
        "keras.ops.transpose": lambda x, order: ops.transpose(x, order),
    },
    "moveaxis": {"keras.ops.moveaxis": lambda x, source, destination: ops.moveaxis(x, source, destination)},
    "swapaxes": {"keras.ops.swapaxes": lambda x, one, other: ops.swapaxes(x, one, other)},
    "broadcast_to": {"keras.ops.broadcast_to": lambda x: ops.broadcast_to(x, (2, x.shape[0], 4, x.shape[2]))},
    "slice_at": {"keras.ops.slice": lambda x, start: ops.slice(x, start, (3, 2))},
    "slice_update_at": {"keras.ops.slice_update": _slice_update},
    "meshgrid": {"keras.ops.meshgrid": lambda x, y, indexing: ops.meshgrid(x, y, indexing=indexing)},
    "nan_to_num": {"keras.ops.nan_to_num": lambda x, nan, above, below: ops.nan_to_num(x, nan=nan, posinf=above, neginf=below)},
    "heaviside": {"keras.ops.heaviside": None},
    "equal": {"keras.ops.equal": None},
    "not_equal": {"keras.ops.not_equal": None},
    "less": {"keras.ops.less": None},
    "less_equal": {"keras.ops.less_equal": None},
    "greater": {"keras.ops.greater": None},
    "greater_equal": {"keras.ops.greater_equal": None},
    "isnan": {"keras.ops.isnan": None},
    "isinf": {"keras.ops.isinf": None},
    "isfinite": {"keras.ops.isfinite": None},
    "isposinf": {"keras.ops.isposinf": None},
    "isneginf": {"keras.ops.isneginf": None},
    "signbit": {"keras.ops.signbit": None},
    "isclose": {"keras.ops.isclose": lambda x, y, equal_nan: ops.isclose(x, y, 1e-3, 1e-2, equal_nan)},
    "logical_and": {"keras.ops.logical_and": None},
    "logical_or": {"keras.ops.logical_or": None},
    "logical_xor": {"keras.ops.logical_xor": None},
    "logical_not": {"keras.ops.logical_not": None},
    "bitwise_and": {"keras.ops.bitwise_and": None},
    "bitwise_or": {"keras.ops.bitwise_or": None},
    "bitwise_xor": {"keras.ops.bitwise_xor": None},
    "bitwise_not": {"keras.ops.bitwise_not": None, "keras.ops.bitwise_invert": None},
    "left_shift": {"keras.ops.bitwise_left_shift": None, "keras.ops.left_shift": None},
    "right_shift": {"keras.ops.bitwise_right_shift": None, "keras.ops.right_shift": None},
    "gcd": {"keras.ops.gcd": None},
    "lcm": {"keras.ops.lcm": None},
    "floor_divide_of_integers": {"keras.ops.floor_divide": None},
    "remainder_of_integers": {"keras.ops.mod": None},
    "unravel_index": {"keras.ops.unravel_index": lambda x: ops.unravel_index(x, (5, 6, 7))},
    "windows": {"keras.ops.extract_sequences": lambda x, size, step: ops.extract_sequences(x, size, step)},
}
