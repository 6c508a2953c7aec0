"""jax.scipy.special.fresnel: at 1 the second derivative of the cosine integral is 0 instead of -pi."""

import math

import jax
import jax.numpy as jnp
from jax.scipy.special import fresnel

jax.config.update("jax_enable_x64", True)
got = float(jax.grad(jax.grad(lambda x: fresnel(x)[1]))(jnp.float64(1.0)))
is_right = bool(abs(got + math.pi) < 1e-9)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", -math.pi)
raise SystemExit(not is_right)
