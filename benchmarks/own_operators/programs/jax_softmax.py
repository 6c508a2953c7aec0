"""Softmax and its log-sum-exp, block by block with a running maximum, against the plain one."""

import jax
import jax.numpy as jnp
import numpy as np

BLOCK = 32
TILES = {"columns": BLOCK}


def inputs(seed, rows=16, columns=100):
    return {"x": 3 * np.random.default_rng(seed).standard_normal((rows, columns), np.float32)}


def reference(x):
    weights = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return weights / jnp.sum(weights, axis=-1, keepdims=True)


def candidate(x):
    columns = x.shape[1]
    blocks = -(-columns // BLOCK)
    wide = jnp.pad(x.astype(jnp.float32), ((0, 0), (0, blocks * BLOCK - columns)), constant_values=-jnp.inf)
    tiles = wide.reshape(x.shape[0], blocks, BLOCK).transpose(1, 0, 2)

    def step(carried, tile):
        largest, total = carried
        now = jax.lax.stop_gradient(jnp.maximum(largest, tile.max(-1)))
        return (now, total * jnp.exp(largest - now) + jnp.exp(tile - now[:, None]).sum(-1)), None

    first = tiles[0].max(-1)
    (largest, total), _ = jax.lax.scan(step, (jax.lax.stop_gradient(first), jnp.zeros_like(first)), tiles)
    return (jnp.exp(x.astype(jnp.float32) - largest[:, None]) / total[:, None]).astype(x.dtype)
