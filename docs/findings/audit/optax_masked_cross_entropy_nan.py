"""optax 0.2.8 (JAX 0.10.2): cross entropies with a mask give NaN as the gradient of labels that are masked out; right is 0."""

import jax
import jax.numpy as jnp
import optax

print("optax", optax.__version__)
x, y, where = jnp.array([1.0, 2.0, 3.0]), jnp.array([0.2, 0.3, 0.5]), jnp.array([True, True, False])
found = []
for loss in (optax.softmax_cross_entropy, optax.losses.poly_loss_cross_entropy, optax.losses.ranking_softmax_loss):
    gradient = jax.grad(loss, 1)(x, y, where=where)
    found.append(float(gradient[2]))
    print(loss.__name__, loss(x, y, where=where), gradient)
is_right = all(each == 0.0 for each in found)
print("RIGHT" if is_right else "WRONG", "got", found[0], "expected", 0.0)
raise SystemExit(not is_right)
