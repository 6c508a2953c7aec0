"""TensorFlow: functions of one number, and of two, element by element."""

from __future__ import annotations

import tensorflow as tf


def _sparse(x: tf.Tensor) -> tf.SparseTensor:
    """Return a tensor with every entry stored: `tf.sparse.from_dense` leaves zeros out, and with them their gradients."""
    return tf.sparse.SparseTensor(tf.where(tf.ones_like(x, tf.bool)), tf.reshape(x, [-1]), x.shape)


CALLS = {
    "exp": {"tensorflow.math.exp": None},
    "expm1": {"tensorflow.math.expm1": None},
    "log": {"tensorflow.math.log": None},
    "log1p": {"tensorflow.math.log1p": None},
    "sqrt": {"tensorflow.math.sqrt": None},
    "rsqrt": {"tensorflow.math.rsqrt": None},
    "square": {"tensorflow.math.square": None},
    "reciprocal": {"tensorflow.math.reciprocal": None},
    "negative": {"tensorflow.math.negative": None},
    "absolute": {"tensorflow.math.abs": None},
    "sign": {"tensorflow.math.sign": None},
    "sin": {"tensorflow.math.sin": None},
    "cos": {"tensorflow.math.cos": None},
    "tan": {"tensorflow.math.tan": None},
    "asin": {"tensorflow.math.asin": None},
    "acos": {"tensorflow.math.acos": None},
    "atan": {"tensorflow.math.atan": None},
    "sinh": {"tensorflow.math.sinh": None},
    "cosh": {"tensorflow.math.cosh": None},
    "tanh": {"tensorflow.math.tanh": None},
    "asinh": {"tensorflow.math.asinh": None},
    "acosh": {"tensorflow.math.acosh": None},
    "atanh": {"tensorflow.math.atanh": None},
    "floor": {"tensorflow.math.floor": None},
    "ceil": {"tensorflow.math.ceil": None},
    "round": {"tensorflow.math.round": None, "tensorflow.math.rint": None},
    "erf": {"tensorflow.math.erf": None},
    "erfc": {"tensorflow.math.erfc": None},
    "erfinv": {"tensorflow.math.erfinv": None},
    "lgamma": {"tensorflow.math.lgamma": None},
    "digamma": {"tensorflow.math.digamma": None},
    "i0": {"tensorflow.math.bessel_i0": None, "tensorflow.math.special.bessel_i0": None},
    "i1": {"tensorflow.math.bessel_i1": None, "tensorflow.math.special.bessel_i1": None},
    "i0e": {"tensorflow.math.bessel_i0e": None, "tensorflow.math.special.bessel_i0e": None},
    "i1e": {"tensorflow.math.bessel_i1e": None, "tensorflow.math.special.bessel_i1e": None},
    "ndtri": {"tensorflow.math.ndtri": None},
    "add": {
        "tensorflow.sparse.add": lambda x, y: tf.sparse.to_dense(tf.sparse.add(_sparse(x), _sparse(y))),
        "tensorflow.math.accumulate_n": lambda x, y: tf.math.accumulate_n([x, y]),
        "tensorflow.math.add": None,
    },
    "subtract": {"tensorflow.math.subtract": None},
    "multiply": {"tensorflow.math.multiply": None},
    "divide": {"tensorflow.math.divide": None, "tensorflow.math.truediv": None},
    "power": {"tensorflow.math.pow": None},
    "atan2": {"tensorflow.math.atan2": None},
    "xlogy": {"tensorflow.math.xlogy": None},
    "xlog1py": {"tensorflow.math.xlog1py": None},
    "maximum": {
        "tensorflow.sparse.maximum": lambda x, y: tf.sparse.to_dense(
            tf.sparse.maximum(tf.sparse.from_dense(x), tf.sparse.from_dense(y))
        ),
        "tensorflow.math.maximum": None,
    },
    "minimum": {
        "tensorflow.sparse.minimum": lambda x, y: tf.sparse.to_dense(
            tf.sparse.minimum(tf.sparse.from_dense(x), tf.sparse.from_dense(y))
        ),
        "tensorflow.math.minimum": None,
    },
    "floor_divide": {"tensorflow.math.floordiv": None},
    "add_column": {"tensorflow.math.add": None},
    "squared_difference": {
        "tensorflow.math.squared_difference": None,
    },
    "divide_no_nan": {
        "tensorflow.math.divide_no_nan": None,
    },
    "multiply_no_nan": {
        "tensorflow.math.multiply_no_nan": None,
    },
    "reciprocal_no_nan": {
        "tensorflow.math.reciprocal_no_nan": None,
    },
    "xdivy": {
        "tensorflow.math.xdivy": None,
    },
    "nextafter": {
        "tensorflow.math.nextafter": None,
    },
}
