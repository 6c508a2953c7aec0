"""jax.numpy.ldexp: at 0 the gradient of x times 2 to the n is 1 instead of 2 to the n."""

import jax
import jax.numpy as jnp

got = float(jax.grad(lambda x: jnp.ldexp(x, jnp.int32(3)))(0.0))
is_right = got == 8.0
print("RIGHT" if is_right else "WRONG", "got", got, "expected", 8.0)
raise SystemExit(not is_right)
