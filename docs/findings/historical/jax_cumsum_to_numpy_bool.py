"""JAX: jnp.cumsum with dtype=np.bool_ rounds to integers first, so that 0.5 counts as False.

https://github.com/jax-ml/jax/pull/23873 mends it; the change log names 0.4.34.
WRONG in 0.4.27, RIGHT in 0.4.35 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax.numpy as jnp
import numpy as np

x = np.array([0.5, 0.25], np.float32)
got = np.asarray(jnp.cumsum(jnp.asarray(x), dtype=np.bool_))
want = np.cumsum(x, dtype=np.bool_)
print(got, want)
ok = bool((got == want).all())
print(f"{'RIGHT' if ok else 'WRONG'} got {int(got.sum())} expected {int(want.sum())}")
sys.exit(not ok)
