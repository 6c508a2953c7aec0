"""Optax: optimistic_gradient_descent takes a first step of twice the length, as if a gradient of 0 came before.

https://github.com/google-deepmind/optax/issues/1082; https://github.com/google-deepmind/optax/pull/1088 of October 2024 mends it.
WRONG in 0.2.3, RIGHT in 0.2.4 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax.numpy as jnp
import optax

params = jnp.array([1.0])
optimizer = optax.optimistic_gradient_descent(0.5)
update, _ = optimizer.update(jnp.array([2.0]), optimizer.init(params), params)
got = -float(update[0])
ok = abs(got - 1.0) < 1e-5
print(f"{'RIGHT' if ok else 'WRONG'} got {got:.5f} expected 1.00000")
sys.exit(not ok)
