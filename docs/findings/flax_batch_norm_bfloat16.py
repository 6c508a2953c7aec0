"""flax.nnx.BatchNorm(dtype=bfloat16) rounds running mean, running variance, scale and bias to bfloat16 in evaluation.

Prints its output for a channel with mean 100.3 and deviation 0.1, and what float32 statistics give for the same bfloat16 input.
"""

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

print("jax", jax.__version__, "flax", flax.__version__)
layer = nnx.BatchNorm(1, dtype=jnp.bfloat16, rngs=nnx.Rngs(0))
layer.mean, layer.var = nnx.BatchStat(jnp.array([100.3])), nnx.BatchStat(jnp.array([0.01]))
x = jnp.array([[100.0], [100.5], [101.0]], jnp.bfloat16)
right = (np.asarray(x, np.float64) - 100.3) / np.sqrt(0.01 + 1e-5)
found, right = np.asarray(layer(x, use_running_average=True), np.float64).ravel(), right.ravel()
print("flax", found, "float32 statistics", right.round(3))
is_right = bool(np.abs(found - right).max() < 0.1)
print("RIGHT" if is_right else "WRONG", "got", found[0], "expected", right[0])
raise SystemExit(not is_right)
