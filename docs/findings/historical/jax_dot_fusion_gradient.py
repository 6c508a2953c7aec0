"""JAX 0.4.2x: jitted gradient of a product that is multiplied by zeros loses the other term.

https://github.com/openxla/xla/issues/13054; the change log of jaxlib 0.4.29: "XLA:CPU miscompiled certain matmul fusions".
WRONG in 0.4.24 and 0.4.28, RIGHT in 0.4.23 and 0.4.29 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax
import jax.numpy as jnp

w = jnp.array([1.0, 2.0, 3.0], dtype=jnp.float32)
x = jnp.ones((3,))
ys = jnp.ones((10**6, 3))


def fun(x, y):
    diff = y - x
    return jnp.dot(diff, w) + jnp.dot(jnp.dot(diff, jnp.zeros((3, 3))), diff)


def mean(x):
    return jnp.mean(jax.vmap(lambda y: fun(x, y))(ys))


got = jax.jit(jax.grad(mean))(x)
print(got, "not jitted", jax.grad(mean)(x))
ok = bool(jnp.abs(got + w).max() < 1e-2)
print(f"{'RIGHT' if ok else 'WRONG'} got {float(got[2]):.6g} expected -3")
sys.exit(not ok)
