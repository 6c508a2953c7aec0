"""JAX 0.10.2: the gradient of jax.scipy.special.i0 at 0 is 1 instead of 0, as if it had a kink; jax.numpy.i0 is right there."""

import jax
import jax.numpy as jnp

found = {each.__module__ + ".i0": float(jax.grad(each)(0.0)) for each in (jax.scipy.special.i0, jnp.i0)}
near = float(jax.grad(jax.scipy.special.i0)(1e-3))
print("jax", jax.__version__, "gradients at 0", found, "at 0.001", near)
got = float(jax.grad(jax.scipy.special.i0)(0.0))
is_right = abs(got) < 1e-6
print("RIGHT" if is_right else "WRONG", "got", got, "expected", 0.0)
raise SystemExit(not is_right)
