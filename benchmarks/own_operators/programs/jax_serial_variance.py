"""Mean and variance in one pass, row after row (Welford 1962, https://doi.org/10.1080/00401706.1962.10490022)."""

import jax
import jax.numpy as jnp
import numpy as np


def inputs(seed, rows=64, columns=10):
    return {"x": np.random.default_rng(seed).standard_normal((rows, columns), np.float32) + np.float32(0.3)}


def reference(x):
    mean = jnp.mean(x, 0)
    return mean, jnp.mean((x - mean) ** 2, 0)


def candidate(x):
    def step(carried, row):
        count, mean, total = carried
        count = count + 1.0
        delta = row - mean
        mean = mean + delta / count
        return (count, mean, total + delta * (row - mean)), None

    zeros = jnp.zeros(x.shape[1], jnp.float32)
    (count, mean, total), _ = jax.lax.scan(step, (jnp.float32(0.0), zeros, zeros), x.astype(jnp.float32))
    return mean.astype(x.dtype), (total / count).astype(x.dtype)
