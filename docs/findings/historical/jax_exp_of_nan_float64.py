"""JAX 0.6.2: jax.jit gives a number near 0 for exp(x * nan) in float64, instead of nan.

https://github.com/jax-ml/jax/issues/29537: right in 0.6.1, wrong in 0.6.2.
WRONG in 0.6.2, RIGHT in 0.6.1 and 0.7.0 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


@jax.jit
def f(x):
    return jnp.exp(x * jnp.nan)


got = float(f(jnp.asarray(0.123, jnp.float64)))
ok = got != got
print(f"{'RIGHT' if ok else 'WRONG'} got {got} expected nan")
sys.exit(not ok)
