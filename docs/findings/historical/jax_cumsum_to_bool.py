"""JAX: jnp.cumsum with dtype=bool adds integers first and compares with zero afterwards, so -1 + 1 is False.

https://github.com/jax-ml/jax/issues/37991, seen in 0.10.1.dev; https://github.com/jax-ml/jax/pull/38039 mends it.
WRONG in 0.10.1, RIGHT in 0.10.2 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax.numpy as jnp
import numpy as np

x = np.array([-1, 1], np.int32)
got = np.asarray(jnp.cumsum(jnp.asarray(x), dtype=bool))
want = np.cumsum(x, dtype=bool)
print(got, want)
ok = bool((got == want).all())
print(f"{'RIGHT' if ok else 'WRONG'} got {int(got.sum())} expected {int(want.sum())}")
sys.exit(not ok)
