"""TensorFlow: what is done to gradients and weights around an optimizer."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported


def _by_global_norm(x: Any, y: Any, *, limit: float, order: Any, epsilon: float) -> Any:
    if order != 2.0 or epsilon:
        raise Unsupported("order, epsilon: TensorFlow has the Euclidean norm, without an epsilon.")
    found, norm = tf.clip_by_global_norm([x, y], limit)
    return [*found, norm]


def _averages(x: Any, decay: float, *, counts: bool) -> list[Any]:
    """Return the averages after each tensor but the first."""
    if not tf.executing_eagerly():
        raise Unsupported("jit: the average's variables are made outside of a graph.")
    variable, count = tf.Variable(x[0]), tf.Variable(0)
    average = tf.train.ExponentialMovingAverage(decay, num_updates=count if counts else None)
    average.apply([variable])
    found = []
    for step, each in enumerate(x[1:], 1):
        variable.assign(each)
        count.assign(step)
        average.apply([variable])
        found.append(tf.identity(average.average(variable)))
    return found


def _moving_average(x: Any, *, decay: float, begin: str, is_corrected: bool) -> Any:
    if begin != "first" or is_corrected:
        raise Unsupported("begin, is_corrected: TensorFlow's begins as the first, and is not corrected.")
    found = _averages(x, decay, counts=False)
    return [found[0], found[-1]]


CALLS = {
    "clipped_by_value": {"tensorflow.clip_by_value": lambda x, *, limit: tf.clip_by_value(x, -limit, limit)},
    "clipped_by_norm": {
        "tensorflow.clip_by_norm": lambda x, *, limit: tf.clip_by_norm(x, limit),
        "tensorflow.clip_by_global_norm": lambda x, *, limit: tf.clip_by_global_norm([x], limit)[0][0],
    },
    "clipped_by_global_norm": {"tensorflow.clip_by_global_norm": _by_global_norm},
    "global_norm": {"tensorflow.linalg.global_norm": lambda x, y: tf.linalg.global_norm([x, y])},
    "moving_average": {"tensorflow.train.ExponentialMovingAverage": _moving_average},
    "moving_average_from_counts": {
        "tensorflow.train.ExponentialMovingAverage": lambda x, *, decay: _averages(x, decay, counts=True)[-1],
    },
}
