"""TensorFlow: padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

Call = Callable[..., Any]


def _all(x: Any, widths: Any) -> Any:
    return [[0, 0]] * (len(x.shape) - len(widths)) + widths


def _mode(mode: str) -> Call:
    return lambda x, widths: tf.pad(x, _all(x, widths), mode)


def _constant(x: Any, widths: Any, value: float) -> Any:
    return tf.pad(x, _all(x, widths), constant_values=value)


CALLS = {
    **{f"pad_constant_{rank}d": {"tensorflow.pad": _constant} for rank in (1, 2, 3)},
    **{f"pad_reflect_{rank}d": {"tensorflow.pad": _mode("REFLECT")} for rank in (1, 2, 3)},
    **{f"pad_symmetric_{rank}d": {"tensorflow.pad": _mode("SYMMETRIC")} for rank in (1, 2, 3)},
}
