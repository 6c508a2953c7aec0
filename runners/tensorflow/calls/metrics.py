"""TensorFlow: what metrics are made of, over two batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def _confusion(labels: Any, found: Any, w: Any) -> Any:
    first, second = (tf.math.confusion_matrix(labels[at], found[at], 40, w[at], w.dtype) for at in range(2))
    return first + second


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "confusion_matrix": {"tensorflow.math.confusion_matrix": _confusion},
    "in_top_k": {
        "tensorflow.math.in_top_k": lambda labels, x, k: tf.math.in_top_k(labels, x, k),
        "tensorflow.nn.in_top_k": lambda labels, x, k: tf.nn.in_top_k(labels, x, k),
    },
    "peak_signal_to_noise": {
        "tensorflow.image.psnr": lambda x, y, largest: tf.image.psnr(x[..., None], y[..., None], largest),
    },
}
