"""jax.lax.clamp: where a number equals a bound, neither has a gradient, so that a learned bound is lost by clamping twice."""

import jax
import jax.numpy as jnp

print("jax", jax.__version__)


def gradient(clip):
    def clipped_twice(low):
        return clip(clip(-2.0, low), low)

    return float(jax.grad(clipped_twice)(-1.0))


# Of a number below it, what comes out is the bound itself, clipped once or twice: its derivative is 1.
of_clamp = gradient(lambda x, low: jax.lax.clamp(low, x, 1.0))
of_clip = gradient(lambda x, low: jnp.clip(x, low, 1.0))
is_right = of_clamp == of_clip == 1.0
print("RIGHT" if is_right else "WRONG", "the gradient of a bound is", of_clamp, "expected", of_clip)
raise SystemExit(not is_right)
