"""jax.grad of a bfloat16 or float16 layer's bias: on CPUs XLA adds it up in that type, until adding changes nothing more."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


def error(dtype, side: int, transform) -> float:
    """Return the largest relative error of the gradient of a convolution's bias, over 8 images of side * side pixels."""
    arrives = jnp.asarray(np.random.default_rng(0).random((8, side, side, 4)), dtype)
    layer, parameters = nnx.split(nnx.Conv(3, 4, (1, 1), dtype=dtype, rngs=nnx.Rngs(0)))
    images = jnp.zeros((8, side, side, 3), dtype)

    def loss(parameters):
        return (nnx.merge(layer, parameters)(images) * arrives).astype(jnp.float32).sum()

    found = transform(jax.grad(loss))(parameters).bias[...]
    right = np.asarray(arrives).astype(np.float64).sum(axis=(0, 1, 2))
    return float(np.abs(np.asarray(found, np.float64) / right - 1).max())


for side in (4, 8, 16, 32, 64):
    numbers = [error(dtype, side, transform) for dtype in (jnp.bfloat16, jnp.float16) for transform in (lambda f: f, jax.jit)]
    brain, brain_jit, half, half_jit = (f"{number:.1e}" for number in numbers)
    print(
        f"{8 * side**2:6d} terms: relative error bfloat16 {brain}, jit {brain_jit} (one rounding: 4e-03), "
        f"float16 {half}, jit {half_jit} (5e-04)"
    )
is_right = max(numbers) < 0.05
print("RIGHT" if is_right else "WRONG", "got", numbers[0], "expected", 0.0)
raise SystemExit(not is_right)
