"""optax.log_cosh: lost accuracy, 7 % at 1e-3.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8.
"""

import jax.numpy as jnp
import numpy as np
import optax

x = jnp.array([1e-4, 1e-3, 1e-2, 0.065])
print(optax.log_cosh(x), "right", np.log(np.cosh(np.asarray(x, np.float64))))
