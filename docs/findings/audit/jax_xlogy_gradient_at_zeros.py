"""jax.scipy.special.xlogy: x times log(y) is 0 for x = 0 and any y, and its gradient by y 0; at y = 0 it is NaN."""

import jax
import jax.numpy as jnp

x, y = jnp.zeros(2), jnp.asarray([0.0, 1.0])
got = jax.grad(lambda y: jax.scipy.special.xlogy(x, y).sum())(y).tolist()
is_right = got == [0.0, 0.0]
print("RIGHT" if is_right else "WRONG", "got", got, "expected", [0.0, 0.0])
raise SystemExit(not is_right)
