"""flax.nnx.BatchNorm with the recipe's conventions, where flax has others."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from flax import nnx


class BatchNorm(nnx.BatchNorm):
    """Batch norm over all rows of `x`, or over those that `mask` [rows] keeps.

    The arithmetic and the statistics are in the parameters' dtype, whatever that of `x`.
    """

    def __init__(self, n: int, *, epsilon: float, momentum: float, param_dtype, rngs: nnx.Rngs) -> None:
        # DIFFERS(jax): flax's momentum is the share that stays, the recipe's is the share that comes in.
        # DIFFERS(jax): given a 16-bit dtype, nnx.BatchNorm rounds scale, bias and running statistics to it. Without
        #   one, it computes in the widest of its inputs and parameters.
        super().__init__(n, momentum=1.0 - momentum, epsilon=epsilon, param_dtype=param_dtype, use_fast_variance=False, rngs=rngs)
        # DIFFERS(jax): nnx.BatchNorm keeps running statistics in float32 whatever param_dtype is.
        self.mean = nnx.BatchStat(jnp.zeros(n, param_dtype))
        self.var = nnx.BatchStat(jnp.ones(n, param_dtype))

    def __call__(self, x: jax.Array, mask: jax.Array | None = None) -> jax.Array:
        if self.use_running_average:
            return super().__call__(x).astype(x.dtype)
        kept = self.momentum * self.var[...]
        y = super().__call__(x, mask=None if mask is None else mask.reshape(-1, *[1] * (x.ndim - 1)))
        # DIFFERS(jax): flax adds the biased variance to the running one; the recipe's is n / (n - 1) times that.
        n = math.prod(x.shape[:-1]) if mask is None else mask.sum(dtype=kept.dtype) * math.prod(x.shape[1:-1])
        self.var = nnx.BatchStat(kept + (self.var[...] - kept) * (n / (n - 1)))
        return y.astype(x.dtype)
