"""jax.scipy.special.betaln, and beta with it: of equal numbers the second derivatives are those of another function."""

import jax
import jax.numpy as jnp
from jax.scipy.special import betaln, polygamma

jax.config.update("jax_enable_x64", True)
a = jnp.float64(1.0)
got = float(jax.grad(jax.grad(betaln))(a, a))
expected = float(polygamma(1, a) - polygamma(1, 2.0 * a))
is_right = bool(abs(got - expected) < 1e-9)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
