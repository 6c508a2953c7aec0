"""optax.losses.triplet_margin_loss: takes no absolute value: 4 for 2 with norm_degree=1, NaN with 3.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import jax.numpy as jnp
import numpy as np
import optax

a, p, n = jnp.array([[0.0, 0.0, 0.0]]), jnp.array([[1.0, 2.0, -2.0]]), jnp.array([[3.0, 0.0, 1.0]])
for degree in (1, 2, 3):
    norm = lambda v: (np.abs(np.asarray(v)) ** degree).sum() ** (1 / degree)
    print(
        degree, optax.losses.triplet_margin_loss(a, p, n, norm_degree=degree), "right", max(0.0, norm(a - p) - norm(a - n) + 1.0)
    )
