"""JAX: a jitted dynamic_update_slice of a slice of its own operand, then a reshape, reads what it has just written.

https://github.com/openxla/xla/issues/49176 of September 2026.
WRONG in 0.4.35 and 0.10.2, RIGHT in 0.4.31 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax
import numpy as np


@jax.jit
def f(x):
    base = x + np.int32(1)
    return jax.lax.dynamic_update_slice(base, base[:3], (1, 0, 0)).reshape((1, 4, 1))


got = np.asarray(f(np.arange(4, dtype=np.int32).reshape(4, 1, 1))).ravel()
ok = got.tolist() == [1, 1, 2, 3]
print(f"{'RIGHT' if ok else 'WRONG'} got {int(got.sum())} expected 7")
sys.exit(not ok)
