"""TensorFlow: what lies between layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported


def _ragged(x: Any, lengths: Any) -> Any:
    return tf.RaggedTensor.from_tensor(x, lengths)


def _padded(x: Any, lengths: Any, value: float, side: str) -> Any:
    if side != "right":
        raise Unsupported("left: rows are filled up behind. Allowed: right.")
    return _ragged(x, lengths).to_tensor(tf.cast(value, x.dtype))


def _enlarged(method: str) -> Callable[..., Any]:
    return lambda x, rows, columns: tf.cast(tf.image.resize(x, [x.shape[1] * rows, x.shape[2] * columns], method), x.dtype)


def _global_norm(x: Any, y: Any, order: int | None) -> Any:
    if order != 2:
        raise Unsupported("order: a global norm is the root of the sum of squares. Allowed: 2.")
    return tf.linalg.global_norm([x, y])


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "merged_sum": {
        "tensorflow.add_n": lambda x, y, z: tf.add_n([x, y, z]),
        "tensorflow.math.add_n": lambda x, y, z: tf.math.add_n([x, y, z]),
    },
    "merged_beside": {"tensorflow.concat": lambda x, y, axis: tf.concat([x, y], axis)},
    "reordered": {"tensorflow.transpose": lambda x, order: tf.transpose(x, (0, *order))},
    "repeated": {"tensorflow.repeat": lambda x, count: tf.repeat(x[:, None], count, 1)},
    "surrounded": {
        "tensorflow.pad": lambda x, rows, columns: tf.pad(x, ((0, 0), rows, columns, (0, 0))),
        "tensorflow.image.pad_to_bounding_box": lambda x, rows, columns: tf.image.pad_to_bounding_box(
            x, rows[0], columns[0], x.shape[1] + sum(rows), x.shape[2] + sum(columns)
        ),
    },
    "cropped": {
        "tensorflow.image.crop_to_bounding_box": lambda x, rows, columns: tf.image.crop_to_bounding_box(
            x, rows[0], columns[0], x.shape[1] - sum(rows), x.shape[2] - sum(columns)
        ),
    },
    "enlarged": {"tensorflow.image.resize": _enlarged("nearest")},
    "enlarged_linearly": {"tensorflow.image.resize": _enlarged("bilinear")},
    "mask_of_lengths": {"tensorflow.sequence_mask": lambda lengths, longest: tf.sequence_mask(lengths, longest)},
    "ragged_sums": {
        "tensorflow.reduce_sum": lambda x, lengths: (
            tf.reduce_sum(_ragged(x, lengths), 1),
            tf.reduce_mean(_ragged(x, lengths), 1),
        ),
    },
    "ragged_extremes": {
        "tensorflow.reduce_max": lambda x, lengths: (
            tf.reduce_max(_ragged(x, lengths), 1),
            tf.reduce_min(_ragged(x, lengths), 1),
        ),
    },
    "padded_rows": {"tensorflow.RaggedTensor.to_tensor": _padded},
    "one_hot_rows": {"tensorflow.one_hot": lambda labels, count: tf.one_hot(labels, count)},
    "bins_of": {
        "tensorflow.searchsorted": lambda x: tf.reshape(
            tf.searchsorted(tf.constant([-1.0, 0.0, 2.0, 3.5]), tf.reshape(x, [-1]), "right"), x.shape
        ),
    },
    "tree_norm": {"tensorflow.linalg.global_norm": _global_norm},
    "numbers_where": {"tensorflow.boolean_mask": lambda x, keep: tf.boolean_mask(x, keep)},
}
