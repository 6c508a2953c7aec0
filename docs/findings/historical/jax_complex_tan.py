"""JAX: jnp.tan of complex64 is 0 far from the real axis, where it is -1j.

https://github.com/jax-ml/jax/issues/17172, seen in 0.4.13.
WRONG in 0.4.26, RIGHT in 0.4.27 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax.numpy as jnp
import numpy as np

got = float(np.asarray(jnp.tan(jnp.asarray(-1.0 - 45.0j, jnp.complex64))).imag)
ok = abs(got + 1.0) < 1e-3
print(f"{'RIGHT' if ok else 'WRONG'} got {got:.5f} expected -1.00000")
sys.exit(not ok)
