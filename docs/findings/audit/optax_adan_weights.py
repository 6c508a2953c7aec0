"""optax 0.2.8 (JAX 0.10.2): optax.adan weights the difference of gradients by 1 - b2, where its paper has b2 in these terms."""

import jax.numpy as jnp
import optax


def rule(gradients, b1, b2, b3, rate=0.1, w=1.0):  # https://arxiv.org/abs/2208.06677, algorithm 1, betas as in its code
    m = v = n = 0.0
    before, found = gradients[0], []
    for t, g in enumerate(gradients, 1):
        d, before = g - before, g
        m, v, n = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * d, b3 * n + (1 - b3) * (g + b2 * d) ** 2
        w -= rate * (m / (1 - b1**t) + b2 * v / (1 - b2**t)) / (n / (1 - b3**t)) ** 0.5
        found.append(round(w, 6))
    return found


print("optax", optax.__version__)
optimizer, w, found = optax.adan(0.1, eps_root=0.0), jnp.float32(1.0), []
state = optimizer.init(w)
for gradient in (1, 2, -1):
    update, state = optimizer.update(jnp.float32(gradient), state, w)
    w = optax.apply_updates(w, update)
    found.append(round(float(w), 6))
right = rule([1.0, 2.0, -1.0], 0.98, 0.92, 0.99)
print("gradients 1 2 -1:", found, "right", right)
is_right = max(abs(a - b) for a, b in zip(found, right, strict=True)) < 1e-3
print("RIGHT" if is_right else "WRONG", "got", found[-1], "expected", right[-1])
raise SystemExit(not is_right)
