"""How far apart devices hold what they hold alike: copies are compared, rows of different places are not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from vigil.paths import project_root

SCRIPT = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from runners.jax.devices import spread_between

mesh = Mesh(np.array(jax.devices()), ("batch",))
everywhere, spread = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("batch"))
keys = jax.device_put(np.arange(8.0).reshape(4, 2), spread)
queue = jax.device_put(np.arange(100.0, 112.0).reshape(6, 2), everywhere)
copies = [jax.device_put(np.array([1.0, 2.0, last]), device) for device, last in zip(jax.devices(), (3.0, 3.5))]
apart = jax.make_array_from_single_device_arrays((3,), everywhere, copies)
print(spread_between([jnp.concatenate([keys, queue[:-4]]), queue]), spread_between([queue, apart]))
"""


@pytest.mark.jax
def test_an_array_spread_over_devices_is_no_difference_between_them():
    """A queue that took up a spread batch lies in parts, which are no copies; copies that differ by a half are found."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=project_root(), capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["0.0", "0.5"], done.stderr
