"""jax.scipy.special.i1: at 0 the second derivative is 1 instead of 0."""

import jax
import jax.numpy as jnp
from jax.scipy.special import i1

jax.config.update("jax_enable_x64", True)
got = float(jax.grad(jax.grad(i1))(jnp.float64(0.0)))
is_right = bool(abs(got) < 1e-9)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", 0.0)
raise SystemExit(not is_right)
