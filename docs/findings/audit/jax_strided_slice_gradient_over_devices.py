"""JAX 0.10.2: the gradient of a slice with a step is wrong where two devices cut the sliced axis, and the slice unevenly.

Every other number of six is taken, so that the gradient of those between is 0. The slice is right, its gradient is not.
"""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

over_devices = NamedSharding(Mesh(np.array(jax.devices()), ("devices",)), PartitionSpec("devices"))


def loss(x, weights):
    x = jax.lax.with_sharding_constraint(x, over_devices)
    return (x[::2] * weights).sum()


weights = np.array([1.0, 2.0, 3.0], np.float32)
found = np.asarray(jax.jit(jax.grad(loss))(np.ones(6, np.float32), weights))
expected = np.array([1.0, 0.0, 2.0, 0.0, 3.0, 0.0])
is_right = bool((found == expected).all())
print("jax", jax.__version__)
print("RIGHT" if is_right else "WRONG", "got", found, "expected", expected)
raise SystemExit(not is_right)
