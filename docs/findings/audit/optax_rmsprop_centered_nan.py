"""optax 0.2.8 (JAX 0.10.2): rmsprop(centered=True, bias_correction=True) gives NaN or huge updates in its first step."""

import jax.numpy as jnp
import optax

print("optax", optax.__version__)
gradients = jnp.linspace(0.1, 1, 1000)
is_right = True
for more in ({}, {"eps_in_sqrt": False}):
    optimizer = optax.rmsprop(0.1, centered=True, bias_correction=True, **more)
    update, _ = optimizer.update(gradients, optimizer.init(gradients), gradients)
    missing, largest = int(jnp.isnan(update).sum()), float(jnp.nanmax(jnp.abs(update)))
    is_right = is_right and missing == 0 and largest < 10  # with a rate of 0.1
    print(more, "NaN:", missing, "of 1000; largest update:", largest)
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)
