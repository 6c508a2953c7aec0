"""On two host devices and two cores, jax op by op hangs: each all-reduce holds a thread of XLA's pool until its partner has one.

Prints `ok`, or XLA ends the process after 40 seconds; older releases hang, and are given two minutes. NPROC=4 in the environment
gives the pool four threads, and it ends well.
"""

import os
import signal
import subprocess
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

if "child" in sys.argv:
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    print("jax", jax.__version__, "NPROC", os.environ.get("NPROC"), "cores", len(os.sched_getaffinity(0)), flush=True)
    mesh = Mesh(np.array(jax.devices()), ("data",))
    x = jax.device_put(np.ones((64, 32, 32, 16), np.float32), NamedSharding(mesh, PartitionSpec("data")))
    for _ in range(1500):
        total, squares = x.sum((0, 1, 2)), (x * x).sum((0, 1, 2))
        x = x * (1 + 1e-9 * (total + squares).sum())
    print("ok", float(x.sum()))
else:
    try:
        code = subprocess.run([sys.executable, __file__, "child"], timeout=120).returncode
    except subprocess.TimeoutExpired:
        code = -signal.SIGABRT
    if code not in (0, -signal.SIGABRT):
        raise RuntimeError(f"ended otherwise, with exit code {code}")
    print("RIGHT" if code == 0 else "WRONG")
    raise SystemExit(code != 0)
