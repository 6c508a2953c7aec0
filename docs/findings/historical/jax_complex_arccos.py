"""JAX: jnp.arccos of complex64 has the real part 0 for large arguments, where it is pi / 2.

https://github.com/jax-ml/jax/issues/17172, seen in 0.4.13.
WRONG in 0.4.30, RIGHT in 0.4.31 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax.numpy as jnp
import numpy as np

got = float(np.asarray(jnp.arccos(jnp.asarray(-1.0 - 4500.0j, jnp.complex64))).real)
ok = abs(got - 1.5710186) < 1e-3
print(f"{'RIGHT' if ok else 'WRONG'} got {got:.5f} expected 1.57102")
sys.exit(not ok)
