"""JAX 0.10.2: jax.scipy.linalg.expm of [[7.8]] is 2476.4 instead of 2440.6, as it halves floor(log2(norm / 3.93)) times."""

import math

import jax
import jax.numpy as jnp
from jax.scipy.linalg import expm

found = {x: float(expm(jnp.full((1, 1), x, jnp.float32))[0, 0]) / math.exp(x) - 1 for x in (3.9, 5.0, 7.0, 7.8, 7.9, 15.6, 15.8)}
print("jax", jax.__version__, "relative errors by norm", found)
got, expected = found[7.8], 0.0
is_right = abs(got) < 1e-4
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
