"""flax.nnx.BatchNorm with `axis_name` and `mask` takes the mean of the shards' means, whatever number of rows each has.

Prints the running statistics after one step over shards of 40 and 24 rows (momentum 0: they are the batch's), and the right ones.
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"
import flax
import jax
import numpy as np
from flax import nnx
from jax.sharding import Mesh, PartitionSpec

try:
    from jax import shard_map
except ImportError:  # before 0.6
    from jax.experimental.shard_map import shard_map

print("jax", jax.__version__, "flax", flax.__version__)
random = np.random.default_rng(0)
x = (random.normal(size=(64, 1)) + np.linspace(0, 2, 64)[:, None]).astype(np.float32)
padded, mask = np.concatenate([x, np.zeros((16, 1), np.float32)]), np.arange(80)[:, None] < 64
layer = nnx.BatchNorm(1, momentum=0.0, axis_name="data", use_fast_variance=False, rngs=nnx.Rngs(0))
graph, parameters, statistics = nnx.split(layer, nnx.Param, nnx.BatchStat)


def forward(x, mask):
    model = nnx.merge(graph, parameters, jax.tree_util.tree_map(lambda value: value, statistics))
    model(x, mask=mask)
    return model.mean[...], model.var[...]


mesh, cut, whole = Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"), PartitionSpec()
mean, variance = shard_map(forward, mesh=mesh, in_specs=(cut, cut), out_specs=(whole, whole))(padded, mask)
print(f"mean {mean[0]:.4f}, right {x.mean():.4f}; variance {variance[0]:.4f}, right {x.var():.4f}")
print(f"mean of the two shards' means: {(x[:40].mean() + x[40:].mean()) / 2:.4f}")
is_right = bool(abs(mean[0] - x.mean()) < 1e-3 and abs(variance[0] - x.var()) < 1e-3)
print("RIGHT" if is_right else "WRONG", "got", float(mean[0]), "expected", float(x.mean()))
raise SystemExit(not is_right)
