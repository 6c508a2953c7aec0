"""JAX 0.4.32: tanh of float64 on CPU is only as exact as a float32.

https://github.com/jax-ml/jax/issues/23590: wrong in 0.4.32; the change log says that 0.4.33 fixes it. 0.4.32 was withdrawn.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
x = np.linspace(-3.0, 3.0, 1001)
error = np.abs(np.asarray(jax.jit(jnp.tanh)(jnp.asarray(x))) - np.tanh(x)).max()
ok = bool(error < 1e-13)
print(f"{'RIGHT' if ok else 'WRONG'} got {error:.3e} expected 0")
sys.exit(not ok)
