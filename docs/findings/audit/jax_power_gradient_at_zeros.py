"""jax.numpy.power: x to the 0 is 1 everywhere, and its gradient by x 0; at x = 0 it is NaN where the exponent is an array."""

import jax
import jax.numpy as jnp

x, n = jnp.asarray([0.0, 1.0]), jnp.asarray([0.0, 0.0])
got = jax.grad(lambda x: jnp.power(x, n).sum())(x).tolist()
is_right = got == [0.0, 0.0]
print("RIGHT" if is_right else "WRONG", "got", got, "expected", [0.0, 0.0])
raise SystemExit(not is_right)
