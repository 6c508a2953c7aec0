"""JAX: what picks, places, orders and rearranges numbers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from runners.contract.errors import Unsupported


def _many(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _at(operation: str) -> Any:
    return lambda x, places, y: getattr(x.at[places], operation)(y)


def _rows(function: Any) -> Any:
    """Return a call of a primitive that scatters whole rows."""
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return lambda x, places, y: function(x, places[:, None], y, numbers)


def _segment(function: Any, count: int) -> Any:
    return lambda y, ids: function(y, ids, num_segments=count)


def _zeros(places: Any, y: Any) -> Any:
    return jnp.zeros((1027, y.shape[1]), y.dtype).at[places].add(y)


def _lax_sort(x: Any, axis: int, is_descending: bool) -> Any:
    if is_descending:
        raise Unsupported("rising alone")
    return lax.sort(x, dimension=axis % x.ndim)


def _pairs(x: Any, places: Any) -> Any:
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0, 1), start_index_map=(0, 1))
    return lax.gather(x, places, numbers, slice_sizes=(1, 1, x.shape[2]))


def _slice(x: Any, start: Any, size: list[int]) -> Any:
    return lax.dynamic_slice(x, start, size)


def _slice_by_axis(x: Any, start: Any, size: list[int]) -> Any:
    return lax.dynamic_slice_in_dim(lax.dynamic_slice_in_dim(x, start[0], size[0], 0), start[1], size[1], 1)


def _clamp(x: Any, low: Any, high: Any) -> Any:
    if low is None or high is None:
        raise Unsupported("both limits")
    return lax.clamp(jnp.asarray(low, x.dtype), x, jnp.asarray(high, x.dtype))


def _put(x: Any, places: Any, y: Any) -> Any:
    return jnp.put_along_axis(x, places, y, axis=0, inplace=False)


CALLS = {
    "take_rows": {
        "jax.numpy.take": lambda x, places: jnp.take(x, places, axis=0),
        "jax.Array.__getitem__": lambda x, places: x[places],
        "jax.numpy.ndarray.at": lambda x, places: x.at[places].get(),
    },
    "take_columns": {"jax.numpy.take": lambda x, places: jnp.take(x, places, axis=1)},
    "take_by_matrix": {"jax.numpy.take": lambda x, places: jnp.take(x, places, axis=0)},
    "take_from_the_end": {
        "jax.Array.__getitem__": lambda x, places: x[places],
        "jax.numpy.take": lambda x, places: jnp.take(x, places, axis=0),
    },
    "take_along_first_axis": {"jax.numpy.take_along_axis": lambda x, places: jnp.take_along_axis(x, places, axis=0)},
    "take_along_last_axis": {"jax.numpy.take_along_axis": lambda x, places: jnp.take_along_axis(x, places, axis=-1)},
    "gather_by_pairs": {"jax.lax.gather": _pairs, "jax.Array.__getitem__": lambda x, places: x[places[:, 0], places[:, 1]]},
    "gather_of_batches": {"jax.vmap": lambda x, places: jax.vmap(lambda row, place: row[place])(x, places)},
    "take_of_all": {"jax.numpy.take": None},
    "add_at": {"jax.numpy.ndarray.at": _at("add"), "jax.lax.scatter_add": _rows(lax.scatter_add)},
    "subtract_at": {"jax.numpy.ndarray.at": _at("subtract"), "jax.lax.scatter_sub": _rows(lax.scatter_sub)},
    "multiply_at": {"jax.lax.scatter_mul": _rows(lax.scatter_mul), "jax.numpy.ndarray.at": _at("multiply")},
    "max_at": {"jax.numpy.ndarray.at": _at("max"), "jax.lax.scatter_max": _rows(lax.scatter_max)},
    "min_at": {"jax.numpy.ndarray.at": _at("min"), "jax.lax.scatter_min": _rows(lax.scatter_min)},
    "set_at": {"jax.numpy.ndarray.at": _at("set"), "jax.lax.scatter": _rows(lax.scatter)},
    "put_along_first_axis": {"jax.numpy.put_along_axis": _put},
    "scatter_add_along_axis": {"jax.numpy.ndarray.at": lambda x, places, y: x.at[places, jnp.arange(x.shape[1])].add(y)},
    "scatter_to_zeros": {"jax.numpy.ndarray.at": _zeros},
    "segment_sum": {"jax.ops.segment_sum": _segment(jax.ops.segment_sum, 7)},
    "segment_max": {"jax.ops.segment_max": _segment(jax.ops.segment_max, 5)},
    "segment_min": {"jax.ops.segment_min": _segment(jax.ops.segment_min, 5)},
    "segment_prod": {"jax.ops.segment_prod": _segment(jax.ops.segment_prod, 7)},
    "sort": {
        "jax.numpy.sort": lambda x, axis, is_descending: jnp.sort(x, axis=axis, descending=is_descending),
        "jax.lax.sort": _lax_sort,
    },
    "argsort": {"jax.numpy.argsort": lambda x, axis, is_descending: jnp.argsort(x, axis=axis, descending=is_descending)},
    "argsort_of_equals": {"jax.numpy.argsort": None},
    "sort_of_integers": {"jax.numpy.sort": None, "jax.lax.sort": None},
    "sort_with_nan": {"jax.numpy.sort": None, "jax.lax.sort": None},
    "lexsort": {"jax.numpy.lexsort": lambda x, y: jnp.lexsort((y, x))},
    "sort_by_key": {
        "jax.lax.sort_key_val": lambda x, y: tuple(lax.sort_key_val(x, y)),
        "jax.lax.sort": lambda x, y: tuple(lax.sort((x, y), num_keys=1)),
    },
    "top_k": {
        "jax.lax.top_k": lambda x, count: lax.top_k(x, count)[0],
        "jax.lax.approx_max_k": lambda x, count: lax.approx_max_k(x, count, recall_target=1.0)[0],
    },
    "top_k_with_places": {"jax.lax.top_k": lambda x, count: tuple(lax.top_k(x, count))},
    "bottom_k": {"jax.lax.approx_min_k": lambda x, count: lax.approx_min_k(x, count, recall_target=1.0)[0]},
    "searchsorted": {
        "jax.numpy.searchsorted": lambda edges, x, side: jnp.searchsorted(edges, x, side=side),
        "jax.numpy.searchsorted (by sorting)": lambda edges, x, side: jnp.searchsorted(edges, x, side=side, method="sort"),
        "jax.numpy.searchsorted (by comparing)": lambda edges, x, side: jnp.searchsorted(
            edges, x, side=side, method="compare_all"
        ),
    },
    "digitize": {"jax.numpy.digitize": None},
    "interp": {"jax.numpy.interp": None},
    "isin": {"jax.numpy.isin": lambda x, among, is_inverted: jnp.isin(x, among, invert=is_inverted)},
    "where": {"jax.numpy.where": None, "jax.lax.select": None, "jax.lax.select_n": lambda which, x, y: lax.select_n(which, y, x)},
    "where_broadcast": {"jax.numpy.where": None},
    "select": {"jax.numpy.select": lambda one, other, x, y: jnp.select([one, other], [x, y], 7.0)},
    "choose": {
        "jax.numpy.choose": lambda which, x, y, z: jnp.choose(which, [x, y, z]),
        "jax.lax.select_n": None,
    },
    "masked_fill": {"jax.numpy.where": lambda x, which, value: jnp.where(which, value, x)},
    "clip": {"jax.numpy.clip": lambda x, low, high: jnp.clip(x, low, high), "jax.lax.clamp": _clamp},
    "clip_between_arrays": {"jax.numpy.clip": None, "jax.lax.clamp": lambda x, low, high: lax.clamp(low, x, high)},
    "clip_again": {
        "jax.numpy.clip": lambda x, low, high: jnp.clip(jnp.clip(x, low, high), low, high),
        "jax.lax.clamp": lambda x, low, high: lax.clamp(low, lax.clamp(low, x, high), high),
    },
    "roll": {"jax.numpy.roll": lambda x, shift, axis: jnp.roll(x, _many(shift), _many(axis))},
    "flip": {
        "jax.numpy.flip": lambda x, axis: jnp.flip(x, tuple(axis)),
        "jax.lax.rev": lambda x, axis: lax.rev(x, tuple(each % x.ndim for each in axis)),
    },
    "rot90": {"jax.numpy.rot90": lambda x, turns, axes: jnp.rot90(x, turns, tuple(axes))},
    "repeat": {"jax.numpy.repeat": lambda x, times, axis: jnp.repeat(x, times, axis=axis)},
    "tile": {"jax.numpy.tile": lambda x, times: jnp.tile(x, tuple(times)), "jax.lax.tile": lambda x, times: lax.tile(x, times)},
    "concatenate": {
        "jax.numpy.concatenate": lambda x, y, axis: jnp.concatenate([x, y, x], axis=axis),
        "jax.lax.concatenate": lambda x, y, axis: lax.concatenate([x, y, x], axis % x.ndim),
    },
    "stack": {
        "jax.lax.stack": lambda x, y, axis: lax.stack([x, y], axis % (x.ndim + 1)),
        "jax.numpy.stack": lambda x, y, axis: jnp.stack([x, y], axis=axis),
    },
    "split_at": {"jax.numpy.split": lambda x, ends: jnp.split(x, ends, axis=1)},
    "split_unevenly": {"jax.numpy.array_split": lambda x: jnp.array_split(x, 3, axis=1)},
    "transpose": {
        "jax.numpy.transpose": lambda x, order: jnp.transpose(x, tuple(order)),
        "jax.lax.transpose": lambda x, order: lax.transpose(x, tuple(order)),
    },
    "moveaxis": {"jax.numpy.moveaxis": lambda x, source, destination: jnp.moveaxis(x, _many(source), _many(destination))},
    "swapaxes": {"jax.numpy.swapaxes": lambda x, one, other: jnp.swapaxes(x, one, other)},
    "broadcast_to": {
        "jax.numpy.broadcast_to": lambda x: jnp.broadcast_to(x, (2, x.shape[0], 4, x.shape[2])),
        "jax.lax.broadcast_in_dim": lambda x: lax.broadcast_in_dim(x, (2, x.shape[0], 4, x.shape[2]), (1, 2, 3)),
    },
    "dynamic_slice": {"jax.lax.dynamic_slice": _slice, "jax.lax.dynamic_slice_in_dim": _slice_by_axis},
    "dynamic_update_slice": {"jax.lax.dynamic_update_slice": None},
    "slice_at": {"jax.lax.dynamic_slice": lambda x, start: lax.dynamic_slice(x, start, (3, 2))},
    "slice_update_at": {"jax.lax.dynamic_update_slice": None},
    "strided_slice": {
        "jax.Array.__getitem__": lambda x, step: x[:, 1::step],
        "jax.lax.slice": lambda x, step: lax.slice(x, (0, 1), x.shape, (1, step)),
        "jax.lax.slice_in_dim": lambda x, step: lax.slice_in_dim(x, 1, None, step, axis=1),
    },
    "meshgrid": {"jax.numpy.meshgrid": lambda x, y, indexing: jnp.meshgrid(x, y, indexing=indexing)},
    "nan_to_num": {"jax.numpy.nan_to_num": lambda x, nan, above, below: jnp.nan_to_num(x, nan=nan, posinf=above, neginf=below)},
    "heaviside": {"jax.numpy.heaviside": None},
    "copysign": {"jax.numpy.copysign": None},
    "equal": {"jax.numpy.equal": None, "jax.lax.eq": None},
    "not_equal": {"jax.numpy.not_equal": None, "jax.lax.ne": None},
    "less": {"jax.numpy.less": None, "jax.lax.lt": None},
    "less_equal": {"jax.numpy.less_equal": None, "jax.lax.le": None},
    "greater": {"jax.numpy.greater": None, "jax.lax.gt": None},
    "greater_equal": {"jax.numpy.greater_equal": None, "jax.lax.ge": None},
    "isnan": {"jax.numpy.isnan": None},
    "isinf": {"jax.numpy.isinf": None},
    "isfinite": {"jax.numpy.isfinite": None, "jax.lax.is_finite": None},
    "isposinf": {"jax.numpy.isposinf": None},
    "isneginf": {"jax.numpy.isneginf": None},
    "signbit": {"jax.numpy.signbit": None},
    "isclose": {"jax.numpy.isclose": lambda x, y, equal_nan: jnp.isclose(x, y, 1e-3, 1e-2, equal_nan)},
    "logical_and": {"jax.numpy.logical_and": None},
    "logical_or": {"jax.numpy.logical_or": None},
    "logical_xor": {"jax.numpy.logical_xor": None},
    "logical_not": {"jax.numpy.logical_not": None},
    "bitwise_and": {"jax.numpy.bitwise_and": None, "jax.lax.bitwise_and": None},
    "bitwise_or": {"jax.numpy.bitwise_or": None, "jax.lax.bitwise_or": None},
    "bitwise_xor": {"jax.numpy.bitwise_xor": None, "jax.lax.bitwise_xor": None},
    "bitwise_not": {
        "jax.numpy.bitwise_invert": None,
        "jax.numpy.bitwise_not": None,
        "jax.numpy.invert": None,
        "jax.lax.bitwise_not": None,
    },
    "bitwise_count": {"jax.numpy.bitwise_count": None, "jax.lax.population_count": None},
    "left_shift": {"jax.numpy.bitwise_left_shift": None, "jax.numpy.left_shift": None, "jax.lax.shift_left": None},
    "right_shift": {"jax.numpy.bitwise_right_shift": None, "jax.numpy.right_shift": None, "jax.lax.shift_right_arithmetic": None},
    "gcd": {"jax.numpy.gcd": None},
    "lcm": {"jax.numpy.lcm": None},
    "floor_divide_of_integers": {"jax.numpy.floor_divide": None},
    "remainder_of_integers": {"jax.numpy.remainder": None, "jax.numpy.mod": None},
    "unravel_index": {"jax.numpy.unravel_index": lambda x: jnp.unravel_index(x, (5, 6, 7))},
}
