"""JAX 0.4.18 to 0.11.2: the gradient of a max pool is wrong where windows that overlap reach over the cut between two devices.

The array is cut along the axis that is pooled, as where images are too large for one device. Values are right, gradients are not.
"""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

x = np.array([3.0, 1.0, 4.0, 1.5, 5.0, 9.0, 2.0, 6.0], np.float32)


@jax.jit
def gradient(x):
    pooled = lambda x: jax.lax.reduce_window(x, -np.inf, jax.lax.max, (3,), (1,), "SAME").sum()
    return jax.grad(pooled)(x)


mesh = Mesh(np.array(jax.devices()), ("devices",))
found = np.asarray(gradient(jax.device_put(x, NamedSharding(mesh, PartitionSpec("devices")))))
# How many of the windows of three each number is the largest of.
padded = np.pad(x, 1, constant_values=-np.inf)
expected = np.zeros(8)
for start in range(8):
    expected[start - 1 + np.argmax(padded[start : start + 3])] += 1
is_right = bool((found == expected).all())
print("jax", jax.__version__)
print("RIGHT" if is_right else "WRONG", "got", found, "expected", expected)
raise SystemExit(not is_right)
