"""Keras: pooling, in both of its layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from runners.contract.errors import Unsupported

Call = Callable[..., Any]
FIRST, LAST = "channels_first", "channels_last"


def _in_layout(function: Call, x: Any, layout: str) -> Any:
    """Return what a function of a layout gives, with channels first."""
    if layout == LAST:
        return keras.ops.moveaxis(function(keras.ops.moveaxis(x, 1, -1)), -1, 1)
    try:
        return function(x)
    except Exception as error:
        if keras.backend.backend() == "tensorflow" and "only support" in str(error):
            raise Unsupported("channels first: TensorFlow has no such kernel on this device.") from error
        raise


def _type(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)


def _max_form(padding: Any, dilation: Any, ceil: bool) -> None:
    if ceil or max(dilation) > 1 or not isinstance(padding, str):
        raise Unsupported("ceil, dilation or padding in numbers: no such form.")


def _max(layout: str) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        _max_form(padding, dilation, ceil)
        return _in_layout(lambda x: keras.ops.max_pool(x, tuple(window), tuple(strides), padding, layout), x, layout)

    return call


def _max_layer(kind: Call, layout: str) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        _max_form(padding, dilation, ceil)
        given = (window[0], strides[0]) if len(window) == 1 else (tuple(window), tuple(strides))
        return _in_layout(kind(*given, padding, data_format=layout, dtype=_type(x)), x, layout)

    return call


def _mean_form(padding: Any, ceil: bool, counts_border: bool, divisor: int | None) -> None:
    if ceil or divisor is not None or not isinstance(padding, str) or (counts_border and padding == "same"):
        raise Unsupported("ceil, divisor, padding in numbers, or a border that counts: no such form.")


def _mean(layout: str) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, ceil: bool, counts_border: bool, divisor: int | None) -> Any:
        _mean_form(padding, ceil, counts_border, divisor)
        return _in_layout(lambda x: keras.ops.average_pool(x, tuple(window), tuple(strides), padding, layout), x, layout)

    return call


def _mean_layer(kind: Call, layout: str) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, ceil: bool, counts_border: bool, divisor: int | None) -> Any:
        _mean_form(padding, ceil, counts_border, divisor)
        given = (window[0], strides[0]) if len(window) == 1 else (tuple(window), tuple(strides))
        return _in_layout(kind(*given, padding, data_format=layout, dtype=_type(x)), x, layout)

    return call


def _adaptive(function: Call, layout: str) -> Call:
    return lambda x, output: _in_layout(lambda x: function(x, tuple(output), layout), x, layout)


def _adaptive_layer(kind: Call) -> Call:
    def call(x: Any, output: Any) -> Any:
        layer = kind(tuple(output) if len(output) > 1 else output[0], data_format=LAST, dtype=_type(x))
        return _in_layout(layer, x, LAST)

    return call


def _global(kind: Call, layout: str) -> Call:
    def call(x: Any) -> Any:
        given = keras.ops.moveaxis(x, 1, -1) if layout == LAST else x
        return kind(data_format=layout, dtype=_type(x))(given)

    return call


def of_equals(call: Call, first: int) -> Call:
    """Return a call that is given every number twice along each axis from the first one on."""

    def of_twice(x: Any, **form: Any) -> Any:
        for axis in range(first, len(x.shape)):
            x = keras.ops.repeat(x, 2, axis=axis)
        return call(x, **form)

    return of_twice


def _calls(rank: int) -> dict[str, dict[str, Call]]:
    layers, ops = keras.layers, keras.ops
    largest, mean = getattr(layers, f"MaxPooling{rank}D"), getattr(layers, f"AveragePooling{rank}D")
    mean_of_all, largest_of_all = f"GlobalAveragePooling{rank}D", f"GlobalMaxPooling{rank}D"
    calls: dict[str, dict[str, Call]] = {
        f"max_pool_{rank}d": {
            "keras.ops.max_pool": _max(LAST),
            "keras.ops.max_pool (channels first)": _max(FIRST),
            f"keras.layers.MaxPooling{rank}D": _max_layer(largest, LAST),
            f"keras.layers.MaxPooling{rank}D (channels first)": _max_layer(largest, FIRST),
        },
        f"average_pool_{rank}d": {
            "keras.ops.average_pool": _mean(LAST),
            "keras.ops.average_pool (channels first)": _mean(FIRST),
            f"keras.layers.AveragePooling{rank}D": _mean_layer(mean, LAST),
            f"keras.layers.AveragePooling{rank}D (channels first)": _mean_layer(mean, FIRST),
        },
        f"global_average_pool_{rank}d": {
            f"keras.layers.{mean_of_all}": _global(getattr(layers, mean_of_all), LAST),
            f"keras.layers.{mean_of_all} (channels first)": _global(getattr(layers, mean_of_all), FIRST),
        },
        f"global_max_pool_{rank}d": {
            f"keras.layers.{largest_of_all}": _global(getattr(layers, largest_of_all), LAST),
            f"keras.layers.{largest_of_all} (channels first)": _global(getattr(layers, largest_of_all), FIRST),
        },
    }
    for short, name in (("average", "Average"), ("max", "Max")):
        function, layer = f"adaptive_{short}_pool", f"Adaptive{name}Pooling{rank}D"
        calls[f"adaptive_{short}_pool_{rank}d"] = {
            f"keras.ops.{function}": _adaptive(lambda *given, function=function: getattr(ops, function)(*given), LAST),
            f"keras.ops.{function} (channels first)": _adaptive(
                lambda *given, function=function: getattr(ops, function)(*given), FIRST
            ),
            f"keras.layers.{layer}": _adaptive_layer(lambda *given, layer=layer, **more: getattr(layers, layer)(*given, **more)),
        }
    calls[f"max_pool_{rank}d_of_equals"] = {name: of_equals(call, 2) for name, call in calls[f"max_pool_{rank}d"].items()}
    return calls


CALLS = {**_calls(1), **_calls(2), **_calls(3)}
