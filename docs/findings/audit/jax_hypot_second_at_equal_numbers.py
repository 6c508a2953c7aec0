"""jax.numpy.hypot: of equal numbers the second derivatives are 0, as it is made of a maximum and a minimum, which tie there."""

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
x = jnp.float64(0.7)
got = float(jax.grad(jax.grad(jnp.hypot))(x, x))
expected = 1.0 / (2.0 * 2.0**0.5 * 0.7)  # y^2 / hypot^3
is_right = bool(abs(got - expected) < 1e-9)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
