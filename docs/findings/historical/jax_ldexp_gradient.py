"""JAX: the gradient of jnp.ldexp with respect to its first argument is wrong.

The change log says of 0.4.34: "Edit implementation of jax.numpy.ldexp to get correct gradient."
https://docs.jax.dev/en/latest/changelog.html
WRONG in 0.4.31, RIGHT in 0.4.35 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax
import jax.numpy as jnp

got = float(jax.grad(lambda x: jnp.ldexp(x, 3))(1.5))
ok = got == 8.0
print(f"{'RIGHT' if ok else 'WRONG'} got {got} expected 8.0")
sys.exit(not ok)
