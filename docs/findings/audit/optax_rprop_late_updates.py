"""optax 0.2.8 (JAX 0.10.2): each update of optax.rprop is that of the step before, and the first is zero."""

import jax.numpy as jnp
import optax

print("optax", optax.__version__)
optimizer, w, found = optax.rprop(0.1), jnp.float32(1.0), []
state = optimizer.init(w)
for gradient in (1, 1, 1, -1):
    update, state = optimizer.update(jnp.float32(gradient), state, w)
    w = optax.apply_updates(w, update)
    found.append(round(float(w), 6))
print("gradients 1 1 1 -1:", found, "right [0.9, 0.78, 0.636, 0.636]")
