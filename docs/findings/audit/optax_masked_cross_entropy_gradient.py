"""optax.softmax_cross_entropy(where=...): the gradient to labels is NaN where the mask is false.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import jax
import jax.numpy as jnp
import optax

x, y, where = jnp.array([1.0, 2.0, 3.0]), jnp.array([0.2, 0.3, 0.5]), jnp.array([True, True, False])
for f in (optax.softmax_cross_entropy, optax.losses.poly_loss_cross_entropy, optax.losses.ranking_softmax_loss):
    print(f.__name__, f(x, y, where=where), jax.grad(lambda y: f(x, y, where=where))(y))
