"""TensorFlow: what is made, shaped anew, repeated in loops, and made of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported


def _filled_with(make: Callable[..., Any], wanted: float) -> Callable[..., Any]:
    def call(x: Any, value: float) -> Any:
        if value != wanted:
            raise Unsupported(f"value: fills with {wanted} alone.")
        return make(x)

    return call


def _complex(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        found = function(tf.complex(x, y))
        return tf.math.real(found), tf.math.imag(found)

    return call


def _scanned(x: Any, w: Any) -> Any:
    return tf.scan(lambda last, each: w * last + each, x, tf.zeros_like(x[0]))


def _while(x: Any, w: Any) -> Any:
    start = (tf.constant(0), tf.zeros_like(x[0]))
    return tf.while_loop(lambda at, last: at < x.shape[0], lambda at, last: (at + 1, w * last + x[at]), start)[1]


def _eye(like: Any, rows: int, columns: int, above: int) -> Any:
    if above:
        raise Unsupported("above: the main diagonal alone.")
    return tf.linalg.eye(rows, columns, dtype=like.dtype)


def _counted(x: Any) -> Any:
    """Return different numbers in order with their counts, and -1 behind them; TensorFlow has them as they first come."""
    values, _, counts = tf.unique_with_counts(tf.sort(x))
    behind = -tf.ones(len(x) - len(values), tf.int32)
    return tf.concat([values, behind], 0), tf.concat([counts, behind], 0)


@tf.custom_gradient
def _same(x: Any) -> Any:
    return x, lambda upstream: upstream


CALLS: dict[str, dict[str, Any]] = {
    "copy": {
        "tensorflow.sparse.to_dense": lambda x: tf.sparse.to_dense(tf.sparse.from_dense(x)),
        "tensorflow.sparse.from_dense": lambda x: tf.sparse.to_dense(tf.sparse.from_dense(x)),
        "tensorflow.identity": None,
        "tensorflow.math.real": None,
        "tensorflow.math.conj": None,
        "tensorflow.cast": lambda x: tf.cast(x, x.dtype),
        "tensorflow.saturate_cast": lambda x: tf.saturate_cast(x, x.dtype),
        "tensorflow.custom_gradient": _same,
    },
    "copy_without_gradient": {"tensorflow.stop_gradient": None},
    "expand_dims": {"tensorflow.expand_dims": lambda x, axis: tf.expand_dims(x, axis)},
    "squeeze": {"tensorflow.squeeze": lambda x: tf.squeeze(x, 1)},
    "reshape": {"tensorflow.reshape": lambda x: tf.reshape(x, (x.shape[1], 2, -1))},
    "matrix_transpose": {"tensorflow.linalg.matrix_transpose": None, "tensorflow.linalg.adjoint": None},
    "transpose_of_matrix": {"tensorflow.transpose": None},
    "mirrored_rows": {"tensorflow.reverse": lambda x: tf.reverse(x, [0])},
    "mirrored_columns": {"tensorflow.reverse": lambda x: tf.reverse(x, [1])},
    "diagonal_put_in": {"tensorflow.linalg.set_diag": None},
    "diagonal_of": {"tensorflow.linalg.tensor_diag_part": None},
    "pieces_of_sizes": {"tensorflow.split": lambda x: tf.split(x, [1, 3, 2], 1)},
    "halves": {"tensorflow.split": lambda x: tf.split(x, 2, 1)},
    "unstack": {"tensorflow.unstack": None},
    "full": {
        "tensorflow.fill": lambda x, value: tf.fill(x.shape, tf.constant(value, x.dtype)),
        "tensorflow.zeros_like": _filled_with(tf.zeros_like, 0.0),
        "tensorflow.ones_like": _filled_with(tf.ones_like, 1.0),
    },
    "arange": {"tensorflow.range": lambda like, start, stop, step: tf.cast(tf.range(start, stop, step), like.dtype)},
    "linspace": {
        "tensorflow.linspace": lambda like, start, stop, count: tf.linspace(
            tf.constant(start, like.dtype), tf.constant(stop, like.dtype), count
        ),
    },
    "eye": {"tensorflow.linalg.eye": _eye, "tensorflow.eye": _eye},
    "identity_matrix": {"tensorflow.linalg.eye": lambda like, count: tf.linalg.eye(count, dtype=like.dtype)},
    "unique_with_counts": {"tensorflow.unique_with_counts": _counted},
    "nonzero": {"tensorflow.where": None},
    "extract": {"tensorflow.boolean_mask": None},
    "compress": {"tensorflow.boolean_mask": lambda x, which: tf.boolean_mask(x, which, axis=1)},
    "sums_of_rows": {
        "tensorflow.vectorized_map": lambda x: tf.vectorized_map(lambda row: tf.square(tf.reduce_sum(row)), x),
    },
    "recurrence": {"tensorflow.scan": _scanned},
    "last_of_recurrence": {"tensorflow.foldl": lambda x, w: tf.foldl(lambda last, each: w * last + each, x, tf.zeros_like(x[0]))},
    "last_without_gradient": {"tensorflow.while_loop": _while},
    "map_of_rows": {"tensorflow.map_fn": lambda x: tf.map_fn(lambda row: tf.reduce_sum(row * row), x)},
    "branch": {
        "tensorflow.cond": lambda x, which: tf.cond(which[0] == 0, lambda: tf.sin(x), lambda: tf.square(x)),
        "tensorflow.switch_case": lambda x, which: tf.switch_case(which[0], [lambda: tf.sin(x), lambda: tf.square(x)]),
    },
    "square_of_complex": {
        "tensorflow.complex": _complex(tf.square),
        "tensorflow.math.real": _complex(tf.square),
        "tensorflow.math.imag": _complex(tf.square),
    },
    "conjugate": {"tensorflow.math.conj": _complex(tf.math.conj)},
    "angle": {"tensorflow.math.angle": lambda x, y: tf.math.angle(tf.complex(x, y))},
    "sign_of_angle": {"tensorflow.math.angle": None},
    "direction": {"tensorflow.math.sign": _complex(tf.math.sign)},
}
