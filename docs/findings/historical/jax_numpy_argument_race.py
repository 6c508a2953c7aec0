"""JAX: a NumPy array that is written to after a jitted call is at times read after that: a race, so not in every run.

https://github.com/jax-ml/jax/issues/37830 tells of the shared memory. The change log says of 0.4.32 that the CPU backend
dispatches more computations asynchronously: https://docs.jax.dev/en/latest/changelog.html
WRONG in 0.4.35 and 0.10.2, RIGHT in 0.4.31 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def f(x):
    return jax.lax.fori_loop(0, 5, lambda i, a: jnp.sin(a) + x, x * 0.0).sum() * 0 + x


f(np.ones(200_000, np.float32)).block_until_ready()
x = np.ones(200_000, np.float32)
y = f(x)
x[:] = 7.0
got = float(np.asarray(y).max())
ok = got == 1.0
print(f"{'RIGHT' if ok else 'WRONG'} got {got} expected 1.0")
sys.exit(not ok)
