"""Optax: adabelief takes the prediction error from the old first moment, so its second moment is too large.

https://github.com/google-deepmind/optax/pull/1130 of November 2024 mends it.
WRONG in 0.2.3, RIGHT in 0.2.4 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax.numpy as jnp
import optax

params = jnp.array([1.0])
optimizer = optax.adabelief(1.0)
update, _ = optimizer.update(jnp.array([2.0]), optimizer.init(params), params)
got = -float(update[0])
ok = abs(got - 1 / 0.9) < 1e-4
print(f"{'RIGHT' if ok else 'WRONG'} got {got:.5f} expected {1 / 0.9:.5f}")
sys.exit(not ok)
