"""JAX: jnp.arctan of 0-2j has the real part -pi / 2, on the wrong side of the branch cut.

https://github.com/jax-ml/jax/pull/23587 of September 2024: right in jaxlib 0.4.32, which was withdrawn.
WRONG in 0.4.31, RIGHT in 0.4.35 (run on 2026-11-25, AMD EPYC).
"""

import sys

import jax.numpy as jnp
import numpy as np

got = float(np.asarray(jnp.arctan(jnp.asarray(complex(0.0, -2.0), jnp.complex64))).real)
want = float(np.arctan(np.complex64(complex(0.0, -2.0))).real)
ok = abs(got - want) < 1e-3
print(f"{'RIGHT' if ok else 'WRONG'} got {got:.5f} expected {want:.5f}")
sys.exit(not ok)
