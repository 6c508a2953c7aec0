"""JAX: a program that meets two bugs, of the gradient of a fused product and of exp(x * nan) in float64. WRONG in 0.6.2."""
import sys

import jax
import jax.numpy as jnp

w, x, ys = jnp.array([1.0, 2.0, 3.0], dtype=jnp.float32), jnp.ones((3,), jnp.float32), jnp.ones((10**6, 3), jnp.float32)


def fun(x, y):
    diff = y - x
    return jnp.dot(diff, w) + jnp.dot(jnp.dot(diff, jnp.zeros((3, 3), jnp.float32)), diff)


gradient = float(jax.jit(jax.grad(lambda x: jnp.mean(jax.vmap(lambda y: fun(x, y))(ys))))(x)[2])
jax.config.update("jax_enable_x64", True)
power = float(jax.jit(lambda x: jnp.exp(x * jnp.nan))(jnp.asarray(0.123, jnp.float64)))
got = gradient + 3 if abs(gradient + 3) > 1e-2 else (0.0 if power != power else 3.0)
ok = got == 0.0
print(f"{'RIGHT' if ok else 'WRONG'} got {got:.6g} expected 0")
sys.exit(not ok)
