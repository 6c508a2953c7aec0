"""TensorFlow: what picks, places, orders and rearranges numbers."""

from __future__ import annotations

import itertools
from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported


def _placed(function: Any) -> Any:
    return lambda x, places, y: function(x, places[:, None], y)


def _segment(function: Any, count: int) -> Any:
    return lambda y, ids: function(y, ids, count)


def _sorted_segments(**functions: Any) -> Any:
    return lambda y, ids, reduction: functions[reduction](y, ids)


def _ordered(function: Any) -> Any:
    def call(x: Any, axis: int, is_descending: bool) -> Any:
        return function(x, axis=axis, direction="DESCENDING" if is_descending else "ASCENDING")

    return call


def _repeat(x: Any, times: int, axis: int) -> Any:
    return tf.repeat(x, times, axis=axis)


def _clip(x: Any, low: float | None, high: float | None) -> Any:
    if low is None or high is None:
        raise Unsupported("both limits")
    return tf.clip_by_value(x, low, high)


def _split_at(x: Any, ends: list[int]) -> Any:
    edges = [0, *ends, x.shape[1]]
    return tf.split(x, [after - before for before, after in itertools.pairwise(edges)], axis=1)


def _cells(x: Any) -> Any:
    return tuple(tf.unstack(tf.unravel_index(x, [5, 6, 7])))


def _windows(x: Any, size: int, step: int) -> Any:
    return tf.signal.frame(x, size, step)


def _scatter(places: Any, y: Any) -> Any:
    return tf.scatter_nd(places[:, None], y, [1027, y.shape[1]])


def _scatter_columns(x: Any, places: Any, y: Any) -> Any:
    columns = tf.broadcast_to(tf.range(x.shape[1]), places.shape)
    return tf.tensor_scatter_nd_add(x, tf.stack([places, columns], -1), y)


CALLS = {
    "take_rows": {
        "tensorflow.gather": lambda x, places: tf.gather(x, places),
        "tensorflow.gather_nd": lambda x, places: tf.gather_nd(x, places[:, None]),
        "tensorflow.nn.embedding_lookup": lambda x, places: tf.nn.embedding_lookup(x, places),
    },
    "take_columns": {"tensorflow.gather": lambda x, places: tf.gather(x, places, axis=1)},
    "take_by_matrix": {"tensorflow.gather": lambda x, places: tf.gather(x, places)},
    "take_along_last_axis": {"tensorflow.gather": lambda x, places: tf.gather(x, places, axis=1, batch_dims=1)},
    "gather_by_pairs": {"tensorflow.gather_nd": None},
    "gather_of_batches": {
        "tensorflow.gather": lambda x, places: tf.gather(x, places, batch_dims=1),
        "tensorflow.gather_nd": lambda x, places: tf.gather_nd(x, places[..., None], batch_dims=1),
    },
    "add_at": {"tensorflow.tensor_scatter_nd_add": _placed(tf.tensor_scatter_nd_add)},
    "subtract_at": {"tensorflow.tensor_scatter_nd_sub": _placed(tf.tensor_scatter_nd_sub)},
    "max_at": {"tensorflow.tensor_scatter_nd_max": _placed(tf.tensor_scatter_nd_max)},
    "min_at": {"tensorflow.tensor_scatter_nd_min": _placed(tf.tensor_scatter_nd_min)},
    "set_at": {"tensorflow.tensor_scatter_nd_update": _placed(tf.tensor_scatter_nd_update)},
    "scatter_add_along_axis": {"tensorflow.tensor_scatter_nd_add": _scatter_columns},
    "scatter_to_zeros": {"tensorflow.scatter_nd": _scatter},
    "segment_sum": {"tensorflow.math.unsorted_segment_sum": _segment(tf.math.unsorted_segment_sum, 7)},
    "segment_mean": {"tensorflow.math.unsorted_segment_mean": _segment(tf.math.unsorted_segment_mean, 7)},
    "segment_sum_over_root": {"tensorflow.math.unsorted_segment_sqrt_n": _segment(tf.math.unsorted_segment_sqrt_n, 7)},
    "segment_max": {"tensorflow.math.unsorted_segment_max": _segment(tf.math.unsorted_segment_max, 5)},
    "segment_min": {"tensorflow.math.unsorted_segment_min": _segment(tf.math.unsorted_segment_min, 5)},
    "segment_prod": {"tensorflow.math.unsorted_segment_prod": _segment(tf.math.unsorted_segment_prod, 7)},
    "segment_sorted": {
        "tensorflow.math.segment_sum": _sorted_segments(sum=tf.math.segment_sum, mean=tf.math.segment_mean),
    },
    "segment_sorted_extremes": {
        "tensorflow.math.segment_max": _sorted_segments(max=tf.math.segment_max, min=tf.math.segment_min),
    },
    "sort": {"tensorflow.sort": _ordered(tf.sort)},
    "argsort": {"tensorflow.argsort": _ordered(tf.argsort)},
    "argsort_of_equals": {"tensorflow.argsort": lambda x: tf.argsort(x, stable=True)},
    "sort_of_integers": {"tensorflow.sort": None},
    "top_k": {"tensorflow.math.top_k": lambda x, count: tf.math.top_k(x, count).values},
    "top_k_with_places": {"tensorflow.math.top_k": lambda x, count: tuple(tf.math.top_k(x, count))},
    "searchsorted": {
        "tensorflow.searchsorted": lambda edges, x, side: tf.searchsorted(
            tf.broadcast_to(edges, (x.shape[0], edges.shape[0])), x, side=side
        )
    },
    "searchsorted_of_rows": {"tensorflow.searchsorted": lambda edges, x, side: tf.searchsorted(edges, x, side=side)},
    "where": {"tensorflow.where": None},
    "where_broadcast": {"tensorflow.where": None},
    "masked_fill": {"tensorflow.where": lambda x, which, value: tf.where(which, tf.cast(value, x.dtype), x)},
    "clip": {"tensorflow.clip_by_value": _clip},
    "clip_between_arrays": {"tensorflow.clip_by_value": None},
    "clip_again": {
        "tensorflow.clip_by_value": lambda x, low, high: tf.clip_by_value(tf.clip_by_value(x, low, high), low, high),
    },
    "roll": {"tensorflow.roll": lambda x, shift, axis: tf.roll(x, shift, axis)},
    "flip": {"tensorflow.reverse": lambda x, axis: tf.reverse(x, axis)},
    "repeat": {"tensorflow.repeat": _repeat},
    "tile": {"tensorflow.tile": lambda x, times: tf.tile(x, times)},
    "concatenate": {"tensorflow.concat": lambda x, y, axis: tf.concat([x, y, x], axis)},
    "stack": {"tensorflow.stack": lambda x, y, axis: tf.stack([x, y], axis)},
    "split_at": {"tensorflow.split": _split_at},
    "transpose": {"tensorflow.transpose": lambda x, order: tf.transpose(x, order)},
    "broadcast_to": {"tensorflow.broadcast_to": lambda x: tf.broadcast_to(x, (2, x.shape[0], 4, x.shape[2]))},
    "slice_at": {"tensorflow.slice": lambda x, start: tf.slice(x, start, [3, 2])},
    "strided_slice": {
        "tensorflow.strided_slice": lambda x, step: tf.strided_slice(x, [0, 1], x.shape, [1, step]),
    },
    "meshgrid": {"tensorflow.meshgrid": lambda x, y, indexing: tf.meshgrid(x, y, indexing=indexing)},
    "equal": {"tensorflow.math.equal": None},
    "not_equal": {"tensorflow.math.not_equal": None},
    "less": {"tensorflow.math.less": None},
    "less_equal": {"tensorflow.math.less_equal": None},
    "greater": {"tensorflow.math.greater": None},
    "greater_equal": {"tensorflow.math.greater_equal": None},
    "isnan": {"tensorflow.math.is_nan": None},
    "isinf": {"tensorflow.math.is_inf": None},
    "isfinite": {"tensorflow.math.is_finite": None},
    "logical_and": {"tensorflow.math.logical_and": None},
    "logical_or": {"tensorflow.math.logical_or": None},
    "logical_xor": {"tensorflow.math.logical_xor": None},
    "logical_not": {"tensorflow.math.logical_not": None},
    "bitwise_and": {"tensorflow.bitwise.bitwise_and": None},
    "bitwise_or": {"tensorflow.bitwise.bitwise_or": None},
    "bitwise_xor": {"tensorflow.bitwise.bitwise_xor": None},
    "bitwise_not": {"tensorflow.bitwise.invert": None},
    "left_shift": {"tensorflow.bitwise.left_shift": None},
    "right_shift": {"tensorflow.bitwise.right_shift": None},
    "floor_divide_of_integers": {"tensorflow.math.floordiv": None},
    "remainder_of_integers": {"tensorflow.math.floormod": None, "tensorflow.math.mod": None},
    "unravel_index": {"tensorflow.unravel_index": _cells},
    "invert_permutation": {"tensorflow.math.invert_permutation": None},
    "sequence_mask": {"tensorflow.sequence_mask": lambda x: tf.sequence_mask(x, 10)},
    "reverse_sequence": {"tensorflow.reverse_sequence": lambda x, lengths: tf.reverse_sequence(x, lengths, seq_axis=1)},
    "windows": {"tensorflow.signal.frame": _windows},
}
