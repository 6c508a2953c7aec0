"""JAX: the gradient of jnp.i0 at 0 is 1, where it is 0.

https://github.com/jax-ml/jax/issues/11479; https://github.com/jax-ml/jax/pull/18706 of 2023-11-28 mends it (0.4.21).
WRONG in 0.4.19, RIGHT in 0.4.23 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax
import jax.numpy as jnp

got = float(jax.grad(jnp.i0)(0.0))
ok = got == 0.0
print(f"{'RIGHT' if ok else 'WRONG'} got {got} expected 0.0")
sys.exit(not ok)
