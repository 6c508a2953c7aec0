"""Keras: padding, and layers that add zeros or cut off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _all(x: Any, widths: Any) -> Any:
    return [(0, 0)] * (len(x.shape) - len(widths)) + [tuple(pair) for pair in widths]


def _mode(mode: str) -> Call:
    return lambda x, widths: keras.ops.pad(x, _all(x, widths), mode)


def _constant(x: Any, widths: Any, value: float) -> Any:
    return keras.ops.pad(x, _all(x, widths), constant_values=value)


def _layer(kind: Call, x: Any, widths: Any) -> Any:
    """Return what a layer for channels last gives."""
    given = tuple(widths[0]) if len(widths) == 1 else tuple(tuple(pair) for pair in widths)
    layer = kind(given, dtype=keras.backend.standardize_dtype(x.dtype))
    return keras.ops.moveaxis(layer(keras.ops.moveaxis(x, 1, -1)), -1, 1)


def _zeros(kind: Call) -> Call:
    def call(x: Any, widths: Any, value: float) -> Any:
        if value:
            raise Unsupported("another value than 0.")
        return _layer(kind, x, widths)

    return call


def _cropped(kind: Call) -> Call:
    def call(x: Any, widths: Any) -> Any:
        if max(max(pair) for pair in widths) > 0:
            raise Unsupported("more than there was.")
        return _layer(kind, x, [[-before, -behind] for before, behind in widths])

    return call


CALLS: dict[str, dict[str, Call]] = {}
for _rank in (1, 2, 3):
    CALLS[f"pad_constant_{_rank}d"] = {
        "keras.ops.pad": _constant,
        f"keras.layers.ZeroPadding{_rank}D": _zeros(getattr(keras.layers, f"ZeroPadding{_rank}D")),
    }
    CALLS[f"pad_negative_{_rank}d"] = {
        f"keras.layers.Cropping{_rank}D": _cropped(getattr(keras.layers, f"Cropping{_rank}D")),
    }
    CALLS[f"pad_reflect_{_rank}d"] = {"keras.ops.pad": _mode("reflect")}
    CALLS[f"pad_symmetric_{_rank}d"] = {"keras.ops.pad": _mode("symmetric")}
