"""JAX: astype(bool) of a complex number looks at its real part alone, so 1j is False.

The change log says of 0.4.27 that it follows NumPy since: https://docs.jax.dev/en/latest/changelog.html
WRONG in 0.4.26, RIGHT in 0.4.27 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax.numpy as jnp
import numpy as np

got = int(np.asarray(jnp.asarray([0j, 1j, 1.0, 2j], jnp.complex64).astype(bool)).sum())
ok = got == 3
print(f"{'RIGHT' if ok else 'WRONG'} got {got} expected 3")
sys.exit(not ok)
