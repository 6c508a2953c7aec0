"""JAX 0.4.2x: jnp.cumsum is wrong along an axis that is divided among devices.

https://github.com/jax-ml/jax/issues/21403, seen on GPU; the change log says that jaxlib 0.4.29 mends it.
"""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("rows", "columns"))
sharding = NamedSharding(mesh, PartitionSpec("rows", "columns"))


@jax.jit
def f(x):
    return jnp.cumsum(jax.lax.with_sharding_constraint(x, sharding), axis=-1)


got = int(np.asarray(f(jnp.ones((8, 1024), jnp.int32)))[0, -1])
ok = got == 1024 and len(jax.devices()) == 8
print(f"{'RIGHT' if ok else 'WRONG'} got {got} expected 1024")
sys.exit(not ok)
