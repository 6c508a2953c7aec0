"""TensorFlow: embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _places(rows: Any, count: int) -> Any:
    """Return [row, place in it] of each of a row's numbers."""
    first = tf.searchsorted(rows, rows, side="left")
    return tf.cast(tf.stack([rows, tf.range(count) - first], 1), tf.int64)


def _sparse(lookup: Callable[..., Any], w: Any, ids: Any, rows: Any, weights: Any, combiner: str) -> Any:
    count = ids.shape[0]
    shape = tf.cast(tf.stack([rows[-1] + 1, count]), tf.int64)
    places = _places(rows, count)
    return lookup(w, tf.SparseTensor(places, ids, shape), tf.SparseTensor(places, weights, shape), combiner=combiner)


def _largest(w: Any, ids: Any, max_norm: float, norm_type: float) -> Any:
    if norm_type != 2.0:
        raise Unsupported("another norm than that of squares")
    return tf.nn.embedding_lookup(w, ids, max_norm=max_norm)


CALLS: Mapping[str, Mapping[str, Call | None]] = {
    "embedding": {
        "tensorflow.nn.embedding_lookup": lambda w, ids: tf.nn.embedding_lookup(w, ids),
        "tensorflow.gather": lambda w, ids: tf.gather(w, ids),
    },
    "embedding_with_largest_norm": {"tensorflow.nn.embedding_lookup (max_norm)": _largest},
    "embedding_of_sparse_ids": {
        "tensorflow.nn.embedding_lookup_sparse": lambda **given: _sparse(tf.nn.embedding_lookup_sparse, **given),
        "tensorflow.nn.safe_embedding_lookup_sparse": lambda **given: _sparse(tf.nn.safe_embedding_lookup_sparse, **given),
    },
    "one_hot": {"tensorflow.one_hot (whole numbers)": lambda ids, classes: tf.one_hot(ids, classes, dtype=tf.int64)},
    "one_hot_of_any": {"tensorflow.one_hot": lambda ids, classes: tf.one_hot(ids, classes)},
}
