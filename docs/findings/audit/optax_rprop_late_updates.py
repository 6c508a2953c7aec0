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
is_right = max(abs(a - b) for a, b in zip(found, [0.9, 0.78, 0.636, 0.636], strict=True)) < 1e-3
print("RIGHT" if is_right else "WRONG", "got", found[0], "expected", 0.9)
raise SystemExit(not is_right)
