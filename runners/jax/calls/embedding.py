"""JAX: embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen, nnx

Call = Callable[..., Any]


def _linen(w: Any, given: Any, method: str) -> Any:
    module = linen.Embed(*w.shape, dtype=w.dtype, param_dtype=w.dtype)
    return module.apply({"params": {"embedding": w}}, given, method=method)


def _nnx(w: Any) -> Any:
    module = nnx.Embed(*w.shape, dtype=w.dtype, param_dtype=w.dtype, rngs=nnx.Rngs(0))
    module.embedding[...] = w
    return module


CALLS: Mapping[str, Mapping[str, Call | None]] = {
    "embedding": {
        "flax.linen.Embed": lambda w, ids: _linen(w, ids, "__call__"),
        "flax.nnx.Embed": lambda w, ids: _nnx(w)(ids),
        "jax.numpy.take": lambda w, ids: jnp.take(w, ids, axis=0),
    },
    "attend": {
        "flax.linen.Embed (attend)": lambda w, x: _linen(w, x, "attend"),
        "flax.nnx.Embed (attend)": lambda w, x: _nnx(w).attend(x),
    },
    "one_hot": {"jax.nn.one_hot (whole numbers)": lambda ids, classes: jax.nn.one_hot(ids, classes, dtype=jnp.int32)},
    "one_hot_of_any": {"jax.nn.one_hot": lambda ids, classes: jax.nn.one_hot(ids, classes)},
}
