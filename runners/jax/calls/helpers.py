"""JAX: what lies between layers, and arithmetic of trees."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import optax

from runners.contract.errors import Unsupported

tree = optax.tree


def _one(found: dict[str, Any]) -> Any:
    return found["x"], found["y"]


def _norm(x: Any, y: Any, order: int | None) -> Any:
    return tree.norm({"x": x, "y": y}, math.inf if order is None else order)


def _global_norm(x: Any, y: Any, order: int | None) -> Any:
    if order != 2:
        raise Unsupported("order: a global norm is the root of the sum of squares. Allowed: 2.")
    return optax.global_norm({"x": x, "y": y})


def _reduced(x: Any, y: Any, z: Any, v: Any) -> Any:
    products = jax.tree.map(lambda a, b: jnp.sum(a * b), {"x": x, "y": y}, {"x": z, "y": v})
    sums = jax.tree.map(jnp.sum, {"x": x, "y": y})
    return jax.tree.reduce(jnp.add, products), jax.tree.reduce(jnp.add, sums)


def _products(x: Any, y: Any, z: Any, v: Any) -> Any:
    return tree.vdot({"x": x, "y": y}, {"x": z, "y": v}), tree.sum({"x": x, "y": y})


def _pieces(x: Any, y: Any, z: Any, v: Any) -> Any:
    multiplied = tree.mul({"x": x, "y": y}, {"x": z, "y": v})
    return tree.sum(multiplied), tree.sum(tree.sub(tree.scale(2.0, {"x": x, "y": y}), {"x": x, "y": y}))


def _resized(method: str) -> Callable[..., Any]:
    def call(x: Any, rows: int, columns: int) -> Any:
        return jax.image.resize(x, (x.shape[0], x.shape[1] * rows, x.shape[2] * columns, x.shape[3]), method)

    return call


def _corrected(x: Any, y: Any, decay: float, count: int) -> Any:
    return _one(tree.bias_correction({"x": x, "y": y}, decay, jnp.asarray(count)))


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "merged_beside": {"jax.numpy.concatenate": lambda x, y, axis: jnp.concatenate([x, y], axis)},
    "surrounded": {"jax.numpy.pad": lambda x, rows, columns: jnp.pad(x, ((0, 0), tuple(rows), tuple(columns), (0, 0)))},
    "enlarged": {"jax.image.resize": _resized("nearest")},
    "enlarged_linearly": {"jax.image.resize": _resized("linear")},
    "cosine_of_pairs": {"optax.losses.cosine_similarity": lambda x, y, axis: optax.losses.cosine_similarity(x, y, axis=axis)},
    "one_hot_rows": {"jax.nn.one_hot": lambda labels, count: jax.nn.one_hot(labels, count)},
    "bins_of": {
        "jax.numpy.digitize": lambda x: jnp.digitize(x, jnp.array([-1.0, 0.0, 2.0, 3.5])),
        "jax.numpy.searchsorted": lambda x: jnp.searchsorted(jnp.array([-1.0, 0.0, 2.0, 3.5]), x, side="right"),
    },
    "flat_parameters": {"jax.flatten_util.ravel_pytree": lambda x, y: jax.flatten_util.ravel_pytree({"x": x, "y": y})[0]},
    "tree_products": {"optax.tree.vdot": _products, "optax.tree.mul": _pieces, "jax.tree.reduce": _reduced},
    "tree_sums": {
        "optax.tree.add_scale": lambda x, y, z, v, scale: _one(tree.add_scale({"x": x, "y": y}, scale, {"x": z, "y": v})),
        "optax.tree.add": lambda x, y, z, v, scale: _one(tree.add({"x": x, "y": y}, tree.scale(scale, {"x": z, "y": v}))),
        "jax.tree.map": lambda x, y, z, v, scale: _one(
            jax.tree.map(lambda a, b: a + scale * b, {"x": x, "y": y}, {"x": z, "y": v})
        ),
    },
    "tree_norm": {"optax.tree.norm": _norm, "optax.global_norm": _global_norm},
    "tree_moment": {
        "optax.tree.update_moment": lambda x, y, z, v, decay, order: _one(
            tree.update_moment({"x": x, "y": y}, {"x": z, "y": v}, decay, order)
        ),
    },
    "tree_corrected": {"optax.tree.bias_correction": _corrected},
    "eye_weights": {
        "jax.numpy.eye": lambda like, rows, columns, gain: gain * jnp.eye(rows, columns, dtype=like.dtype),
    },
}
