"""TensorFlow: pooling, with channels last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _last(x: Any) -> Any:
    rank = len(x.shape)
    return tf.transpose(x, [0, *range(2, rank), 1])


def _first(x: Any) -> Any:
    rank = len(x.shape)
    return tf.transpose(x, [0, rank - 1, *range(1, rank - 1)])


def _name(padding: Any) -> str:
    if not isinstance(padding, str):
        raise Unsupported("padding in numbers. Allowed: SAME, VALID.")
    return padding.upper()


def _plain(dilation: Any, ceil: bool) -> None:
    if ceil or max(dilation) > 1:
        raise Unsupported("ceil or dilations: no such form.")


def _pairs(padding: Any) -> Any:
    return padding.upper() if isinstance(padding, str) else [[0, 0], *padding, [0, 0]]


def _max(function: Call, has_numbers: bool) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        _plain(dilation, ceil)
        return _first(function(_last(x), window, strides, _pairs(padding) if has_numbers else _name(padding)))

    return call


def _any(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
    _plain([1], ceil)
    if max(strides) > 1 and max(dilation) > 1:
        raise Unsupported("strides and dilations. Allowed: one of them above 1.")
    return _first(tf.nn.pool(_last(x), window, "MAX", strides, _name(padding), dilations=dilation))


def _where(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
    """Return places in the channel: TensorFlow's count the channels as well."""
    _plain(dilation, ceil)
    values, places = tf.nn.max_pool_with_argmax(_last(x), window, strides, _name(padding), output_dtype=tf.int32)
    return _first(values), _first(places // x.shape[1])


def _mean(function: Call) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, ceil: bool, counts_border: bool, divisor: int | None) -> Any:
        _mean_form(ceil, padding, counts_border, divisor)
        return _first(function(_last(x), window, strides, _name(padding)))

    return call


def _mean_form(ceil: bool, padding: Any, counts_border: bool, divisor: int | None) -> None:
    if ceil or divisor is not None or (counts_border and padding == "same"):
        raise Unsupported("ceil, divisor or a border that counts: no such form.")


def _mean_any(x: Any, window: Any, strides: Any, padding: Any, ceil: bool, counts_border: bool, divisor: int | None) -> Any:
    _mean_form(ceil, padding, counts_border, divisor)
    return _first(tf.nn.pool(_last(x), window, "AVG", strides, _name(padding)))


def _dilated(x: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    kernel = tf.transpose(weight, [1, 2, 0])
    steps, spread = [1, *strides, 1], [1, *dilation, 1]
    return _first(tf.nn.dilation2d(_last(x), kernel, steps, padding.upper(), "NHWC", spread))


def _eroded(x: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    kernel = tf.transpose(weight, [1, 2, 0])
    steps, spread = [1, *strides, 1], [1, *dilation, 1]
    return _first(tf.nn.erosion2d(_last(x), kernel, steps, padding.upper(), "NHWC", spread))


def of_equals(call: Call, first: int) -> Call:
    """Return a call that is given every number twice along each axis from the first one on."""

    def of_twice(x: Any, **form: Any) -> Any:
        for axis in range(first, len(x.shape)):
            x = tf.repeat(x, 2, axis=axis)
        return call(x, **form)

    return of_twice


CALLS: dict[str, dict[str, Call]] = {}
for _rank, _largest, _average in (
    (1, tf.nn.max_pool1d, tf.nn.avg_pool1d),
    (2, tf.nn.max_pool2d, tf.nn.avg_pool2d),
    (3, tf.nn.max_pool3d, tf.nn.avg_pool3d),
):
    _space = list(range(2, 2 + _rank))
    CALLS[f"max_pool_{_rank}d"] = {
        f"tensorflow.nn.max_pool{_rank}d": _max(_largest, _rank == 2),
        "tensorflow.nn.max_pool": _max(tf.nn.max_pool, _rank == 2),
        "tensorflow.nn.pool": _any,
    }
    CALLS[f"max_pool_{_rank}d_of_equals"] = {name: of_equals(call, 2) for name, call in CALLS[f"max_pool_{_rank}d"].items()}
    CALLS[f"average_pool_{_rank}d"] = {
        f"tensorflow.nn.avg_pool{_rank}d": _mean(_average),
        "tensorflow.nn.avg_pool": _mean(tf.nn.avg_pool),
        "tensorflow.nn.pool": _mean_any,
    }
    CALLS[f"global_average_pool_{_rank}d"] = {"tensorflow.math.reduce_mean": lambda x, _space=_space: tf.reduce_mean(x, _space)}
    CALLS[f"global_max_pool_{_rank}d"] = {"tensorflow.math.reduce_max": lambda x, _space=_space: tf.reduce_max(x, _space)}
CALLS["max_pool_2d_where"] = {"tensorflow.nn.max_pool_with_argmax": _where}
CALLS["dilation_2d"] = {"tensorflow.nn.dilation2d": _dilated}
CALLS["erosion_2d"] = {"tensorflow.nn.erosion2d": _eroded}
