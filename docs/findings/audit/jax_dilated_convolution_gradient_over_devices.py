"""JAX 0.10.2: the weights' gradient of a convolution with dilated input is wrong over two devices that cut its rows.

The input is dilated, as in a transposed convolution: a row of zeros stands between any two. Three rows, and a kernel of two.
"""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(np.array(jax.devices()), ("devices",))
rows_of_images = NamedSharding(mesh, PartitionSpec(None, "devices"))
rows_of_kernel = NamedSharding(mesh, PartitionSpec("devices"))


def loss(weight, x, scale):
    x = jax.lax.with_sharding_constraint(x, rows_of_images)
    weight = jax.lax.with_sharding_constraint(weight, rows_of_kernel)
    found = jax.lax.conv_general_dilated(
        x, weight, (1, 1), [(0, 0), (0, 0)], lhs_dilation=(2, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return (scale * found).sum()


x = np.array([1.0, 2.0, 3.0], np.float32).reshape(1, 3, 1, 1)
weight, scale = np.ones((2, 1, 1, 1), np.float32), np.array([1.0, 10.0, 100.0, 1000.0], np.float32).reshape(1, 4, 1, 1)
found = np.asarray(jax.jit(jax.grad(loss))(weight, x, scale)).ravel()
rows = np.array([1.0, 0.0, 2.0, 0.0, 3.0])  # of the dilated input
expected = np.array([rows[:4] @ scale.ravel(), rows[1:] @ scale.ravel()])
is_right = bool(np.abs(found - expected).max() < 1e-3)
print("jax", jax.__version__)
print("RIGHT" if is_right else "WRONG", "got", found, "expected", expected)
raise SystemExit(not is_right)
