"""Keras: embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
from keras import ops

Call = Callable[..., Any]


def _built(name: str, w: Any, **options: Any) -> Any:
    layer = getattr(keras.layers, name)(*w.shape, dtype=keras.backend.standardize_dtype(w.dtype), **options)
    layer.build(None)
    return layer


CALLS: Mapping[str, Mapping[str, Call | None]] = {
    "embedding": {
        "keras.layers.Embedding": lambda w, ids: _built("Embedding", w).stateless_call([w], [], ids)[0],
        "keras.layers.ReversibleEmbedding": lambda w, ids: _built("ReversibleEmbedding", w).stateless_call([w], [], ids)[0],
        "keras.ops.take": lambda w, ids: ops.take(w, ids, axis=0),
    },
    "attend": {
        "keras.layers.ReversibleEmbedding (reverse)": lambda w, x: _built("ReversibleEmbedding", w).stateless_call(
            [w], [], x, reverse=True
        )[0]
    },
    "one_hot": {"keras.ops.one_hot": lambda ids, classes: ops.one_hot(ids, classes)},
    "multi_hot": {"keras.ops.multi_hot": lambda ids, classes: ops.multi_hot(ids, classes)},
}
