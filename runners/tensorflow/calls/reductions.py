"""TensorFlow: what gathers numbers along axes."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported
from runners.tensorflow.calls.pooling import of_equals


def _over(function: Any) -> Any:
    return lambda x, axis, keepdims: function(x, axis=axis, keepdims=keepdims)


def _along(function: Any) -> Any:
    return lambda x, axis: function(x, axis=axis)


def _uncorrected(function: Any) -> Any:
    def call(x: Any, axis: Any, correction: int, keepdims: bool) -> Any:
        if correction:
            raise Unsupported("over the count itself")
        return function(x, axis=axis, keepdims=keepdims)

    return call


def _two(function: Any) -> Any:
    return lambda x, axis, keepdims: function(x, axes=list(range(3)) if axis is None else axis, keepdims=keepdims)


def _norm(x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    if isinstance(axis, list):
        raise Unsupported("two axes are those of a matrix")
    return tf.norm(x, ord=order, axis=axis, keepdims=keepdims)


def _euclidean(x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    if order != 2.0:
        raise Unsupported("order 2 alone")
    return tf.math.reduce_euclidean_norm(x, axis=axis, keepdims=keepdims)


def _normalize(x: Any, axis: int) -> Any:
    return tf.linalg.normalize(x, axis=axis)[0]


def _histogram(x: Any, bins: int, low: float, high: float) -> Any:
    if low != -4.0:
        raise Unsupported("counts what lies outside in the outer bins")
    return tf.cast(tf.histogram_fixed_width(x, [low, high], nbins=bins), x.dtype)


_SOFTMAX = {"tensorflow.nn.softmax": _along(tf.nn.softmax), "tensorflow.math.softmax": _along(tf.math.softmax)}

CALLS = {
    "sum": {
        "tensorflow.sparse.reduce_sum": lambda x, axis, keepdims: tf.sparse.reduce_sum(tf.sparse.from_dense(x), axis, keepdims),
        "tensorflow.math.reduce_sum": _over(tf.math.reduce_sum),
    },
    "sum_of_all": {"tensorflow.math.reduce_sum": None},
    "mean": {"tensorflow.math.reduce_mean": _over(tf.math.reduce_mean)},
    "prod": {"tensorflow.math.reduce_prod": _over(tf.math.reduce_prod)},
    "prod_with_a_zero": {"tensorflow.math.reduce_prod": _along(tf.math.reduce_prod)},
    "prod_with_two_zeros": {"tensorflow.math.reduce_prod": _along(tf.math.reduce_prod)},
    "max": {
        "tensorflow.sparse.reduce_max": lambda x, axis, keepdims: tf.sparse.reduce_max(tf.sparse.from_dense(x), axis, keepdims),
        "tensorflow.math.reduce_max": _over(tf.math.reduce_max),
    },
    "min": {"tensorflow.math.reduce_min": _over(tf.math.reduce_min)},
    "argmax": {"tensorflow.math.argmax": _along(tf.math.argmax)},
    "argmin": {"tensorflow.math.argmin": _along(tf.math.argmin)},
    "argmax_of_equals": {"tensorflow.math.argmax": _along(tf.math.argmax)},
    "any": {"tensorflow.math.reduce_any": _over(tf.math.reduce_any)},
    "all": {"tensorflow.math.reduce_all": _over(tf.math.reduce_all)},
    "count_nonzero": {"tensorflow.math.count_nonzero": _along(tf.math.count_nonzero)},
    "var": {"tensorflow.math.reduce_variance": _uncorrected(tf.math.reduce_variance)},
    "var_far_from_zero": {"tensorflow.math.reduce_variance": lambda x: tf.math.reduce_variance(x, axis=-1)},
    "std": {"tensorflow.math.reduce_std": _uncorrected(tf.math.reduce_std)},
    "vector_norm": {"tensorflow.norm": _norm, "tensorflow.math.reduce_euclidean_norm": _euclidean},
    "vector_norm_infinity": {"tensorflow.norm": lambda x, axis: tf.norm(x, ord=float("inf"), axis=axis)},
    "l2_normalize": {
        "tensorflow.math.l2_normalize": lambda x, axis: tf.math.l2_normalize(x, axis=axis, epsilon=0.0),
        "tensorflow.nn.l2_normalize": lambda x, axis: tf.nn.l2_normalize(x, axis=axis, epsilon=0.0),
        "tensorflow.linalg.normalize": _normalize,
    },
    "logsumexp": {"tensorflow.math.reduce_logsumexp": _over(tf.math.reduce_logsumexp)},
    "logsumexp_of_infinities": {"tensorflow.math.reduce_logsumexp": lambda x: tf.math.reduce_logsumexp(x, axis=-1)},
    "softmax": _SOFTMAX,
    "softmax_of_three_axes": _SOFTMAX,
    "softmax_of_large_numbers": {"tensorflow.nn.softmax": None},
    "softmax_of_infinities": {"tensorflow.nn.softmax": None},
    "log_softmax": {
        "tensorflow.nn.log_softmax": _along(tf.nn.log_softmax),
        "tensorflow.math.log_softmax": _along(tf.math.log_softmax),
    },
    "cumsum": {"tensorflow.math.cumsum": _along(tf.math.cumsum)},
    "cumsum_directed": {"tensorflow.math.cumsum": None},
    "cumprod": {"tensorflow.math.cumprod": _along(tf.math.cumprod)},
    "cumprod_with_a_zero": {"tensorflow.math.cumprod": _along(tf.math.cumprod)},
    "logcumsumexp": {"tensorflow.math.cumulative_logsumexp": _along(tf.math.cumulative_logsumexp)},
    "histogram": {"tensorflow.histogram_fixed_width": _histogram},
    "bincount": {"tensorflow.math.bincount": lambda x: tf.math.bincount(x, minlength=10, maxlength=10)},
    "bincount_weighted": {
        "tensorflow.math.bincount": lambda x, weights: tf.math.bincount(x, weights=weights, minlength=10, maxlength=10)
    },
    "zero_fraction": {"tensorflow.math.zero_fraction": None, "tensorflow.nn.zero_fraction": None},
    "clip_by_norm": {
        "tensorflow.clip_by_norm": lambda x, limit: tf.clip_by_norm(x, limit),
        "tensorflow.clip_by_global_norm": lambda x, limit: tf.clip_by_global_norm([x], limit)[0][0],
    },
}
for _name in ("max", "vector_norm_infinity"):
    CALLS[f"{_name}_of_equals"] = {name: of_equals(call, 0) for name, call in CALLS[_name].items()}
