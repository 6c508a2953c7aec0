"""TensorFlow: normalisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _first(x: Any) -> Any:
    """Return [m, channel, l] as [m, 1, l, channel]."""
    return tf.transpose(x, (0, 2, 1))[:, None]


def _last(x: Any) -> Any:
    return tf.transpose(x[:, 0], (0, 2, 1))


def _by_moments(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    mean, variance = tf.nn.moments(_first(x), (0, 1, 2))
    return _last(tf.nn.batch_normalization(_first(x), mean, variance, bias, scale, epsilon))


def _evaluation(x: Any, mean: Any, variance: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    return _last(tf.nn.batch_normalization(_first(x), mean, variance, bias, scale, epsilon))


def _kept(x: Any, values: Any) -> Any:
    """Return values in the type that the fused kernel has for statistics."""
    return [tf.cast(each, tf.float32 if x.dtype != tf.float64 else x.dtype) for each in values]


def _fused(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    scale, bias = _kept(x, (scale, bias))
    return _last(tf.compat.v1.nn.fused_batch_norm(_first(x), scale, bias, epsilon=epsilon)[0])


def _fused_evaluation(x: Any, mean: Any, variance: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    scale, bias, mean, variance = _kept(x, (scale, bias, mean, variance))
    return _last(tf.compat.v1.nn.fused_batch_norm(_first(x), scale, bias, mean, variance, epsilon=epsilon, is_training=False)[0])


def _fused_running(x: Any, mean: Any, variance: Any, share: float) -> Any:
    scale, bias, mean, variance = _kept(x, (tf.ones_like(mean), tf.zeros_like(mean), mean, variance))
    return tf.compat.v1.nn.fused_batch_norm(_first(x), scale, bias, mean, variance, exponential_avg_factor=share)[1:]


def _global(x: Any, mean: Any, variance: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    return _last(
        tf.nn.batch_norm_with_global_normalization(
            _first(x), mean, variance, bias, scale, variance_epsilon=epsilon, scale_after_normalization=True
        )
    )


def _neighbours(x: Any, size: int, alpha: float, beta: float, k: float) -> Any:
    return _last(tf.nn.local_response_normalization(_first(x), size // 2, bias=k, alpha=alpha / size, beta=beta))


def _unit(x: Any, p: float, axis: int) -> Any:
    if p != 2.0:
        raise Unsupported("another norm than that of squares")
    return tf.nn.l2_normalize(x, axis)


def _sufficient(x: Any, axes: list[int]) -> Any:
    count, total, squares, shift = tf.nn.sufficient_statistics(x, axes)
    return tf.nn.normalize_moments(count, total, squares, shift)


CALLS: Mapping[str, Mapping[str, Call | None]] = {
    "batch_norm_in_training": {
        "tensorflow.nn.batch_normalization (moments)": _by_moments,
        "tensorflow.compat.v1.nn.fused_batch_norm": _fused,
    },
    "batch_norm_running_unbiased": {"tensorflow.compat.v1.nn.fused_batch_norm (running)": _fused_running},
    "batch_norm_in_evaluation": {
        "tensorflow.nn.batch_normalization": _evaluation,
        "tensorflow.compat.v1.nn.fused_batch_norm (evaluation)": _fused_evaluation,
        "tensorflow.nn.batch_norm_with_global_normalization": _global,
    },
    "local_response_norm": {"tensorflow.nn.local_response_normalization": _neighbours},
    "normalize": {
        "tensorflow.nn.l2_normalize": _unit,
        "tensorflow.linalg.normalize": lambda x, p, axis: tf.linalg.normalize(x, p, axis)[0],
    },
    "normalize_of_little": {
        "tensorflow.nn.l2_normalize (epsilon)": lambda x, axis, epsilon: tf.nn.l2_normalize(x, axis, epsilon=epsilon**2)
    },
    "moments": {
        "tensorflow.nn.moments": lambda x, axes: tf.nn.moments(x, axes),
        "tensorflow.nn.normalize_moments": _sufficient,
    },
    "weighted_moments": {"tensorflow.nn.weighted_moments": lambda x, weight, axes: tf.nn.weighted_moments(x, axes, weight)},
}
