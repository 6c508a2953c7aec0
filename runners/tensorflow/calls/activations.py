"""TensorFlow: activations."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported


def _elu(x: Any, alpha: float) -> Any:
    if alpha != 1.0:
        raise Unsupported("alpha is 1")
    return tf.nn.elu(x)


_SIGMOID = {"tensorflow.nn.sigmoid": None, "tensorflow.math.sigmoid": None, "tensorflow.sigmoid": None}

CALLS = {
    "relu": {"tensorflow.nn.relu": None},
    "relu6": {"tensorflow.nn.relu6": None},
    "leaky_relu": {"tensorflow.nn.leaky_relu": lambda x, negative_slope: tf.nn.leaky_relu(x, negative_slope)},
    "elu": {"tensorflow.nn.elu": _elu},
    "selu": {"tensorflow.nn.selu": None},
    "gelu": {"tensorflow.nn.gelu": None},
    "gelu_tail": {"tensorflow.nn.gelu": None},
    "gelu_tanh_tail": {"tensorflow.nn.gelu": lambda x: tf.nn.gelu(x, approximate=True)},
    "silu": {"tensorflow.nn.silu": None, "tensorflow.nn.swish": None},
    "silu_beta": {"tensorflow.nn.silu": None, "tensorflow.nn.swish": None},
    "softplus": {"tensorflow.nn.softplus": None, "tensorflow.math.softplus": None},
    "softsign": {"tensorflow.nn.softsign": None, "tensorflow.math.softsign": None},
    "sigmoid": _SIGMOID,
    "sigmoid_far": _SIGMOID,
    "log_sigmoid": {"tensorflow.math.log_sigmoid": None},
    "hard_tanh": {"tensorflow.clip_by_value": lambda x, low, high: tf.clip_by_value(x, low, high)},
    "crelu": {"tensorflow.nn.crelu": None},
    "isotonic_regression": {
        "tensorflow.nn.isotonic_regression": lambda x, is_decreasing: tf.nn.isotonic_regression(x, is_decreasing),
        "tensorflow.nn.isotonic_regression (columns)": lambda x, is_decreasing: tuple(
            tf.transpose(each) for each in tf.nn.isotonic_regression(tf.transpose(x), is_decreasing, axis=0)
        ),
    },
    "identity": {"tensorflow.identity": None},
}
