"""jax.numpy.i0: at 0 the second derivative is 0 instead of 1/2."""

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
got = float(jax.grad(jax.grad(jnp.i0))(jnp.float64(0.0)))
is_right = bool(abs(got - 0.5) < 1e-9)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", 0.5)
raise SystemExit(not is_right)
