"""optax 0.2.8 (JAX 0.10.2): triplet_margin_loss takes no absolute value: wrong with norm_degree 1, NaN with 3."""

import jax.numpy as jnp
import numpy as np
import optax

print("optax", optax.__version__)
a, p, n = (np.array([each], np.float32) for each in ([0, 0, 0], [1, 2, -2], [3, 0, 1]))
found = []
for degree in (1, 2, 3):
    near, far = ((np.abs(each) ** degree).sum() ** (1 / degree) for each in (a - p, a - n))
    got = optax.losses.triplet_margin_loss(jnp.array(a), jnp.array(p), jnp.array(n), norm_degree=degree)
    right = max(0.0, near - far + 1.0)
    found.append((float(got[0]), float(right)))
    print("degree", degree, got, "right", right)
is_right = all(abs(got - right) < 0.1 for got, right in found)
print("RIGHT" if is_right else "WRONG", "got", found[0][0], "expected", found[0][1])
raise SystemExit(not is_right)
