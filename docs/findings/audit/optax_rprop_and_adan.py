"""optax.rprop, adan, rmsprop(centered, bias_correction): each update is that of the step before ; another weight of
differences ; NaN in the first step.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import jax.numpy as jnp
import optax

print("optax", optax.__version__)


def walk(opt, gradients, w=1.0):
    w = jnp.float32(w)
    state = opt.init(w)
    found = []
    for g in gradients:
        update, state = opt.update(jnp.float32(g), state, w)
        w = optax.apply_updates(w, update)
        found.append(round(float(w), 6))
    return found


print("rprop, gradients 1 1 1 -1:", walk(optax.rprop(0.1), [1, 1, 1, -1]))
print("  rule of its references: [0.9, 0.78, 0.636, 0.636] (steps 0.1, 0.12, 0.144, then none where the sign changes)")


def adan(gradients, b1, b2, b3, rate=0.1, w=1.0):  # https://arxiv.org/abs/2208.06677, algorithm 1, betas as in its code
    m = v = n = 0.0
    before = gradients[0]
    found = []
    for t, g in enumerate(gradients, 1):
        d = g - before
        before = g
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * d
        n = b3 * n + (1 - b3) * (g + b2 * d) ** 2
        w -= rate * (m / (1 - b1**t) + b2 * v / (1 - b2**t)) / (n / (1 - b3**t)) ** 0.5
        found.append(round(w, 6))
    return found


print(
    "adan, gradients 1 2 -1:", walk(optax.adan(0.1, eps_root=0.0), [1, 2, -1]), " rule:", adan([1.0, 2.0, -1.0], 0.98, 0.92, 0.99)
)
print(
    "rmsprop(centered, bias_correction), gradient 0.3 ... 0.7:",
    [walk(optax.rmsprop(0.1, centered=True, bias_correction=True), [g])[0] for g in (0.3, 0.4, 0.5, 0.6, 0.7)],
)
g = jnp.linspace(0.1, 1, 1000)
for more in ({}, {"eps_in_sqrt": False}):
    o = optax.rmsprop(0.1, centered=True, bias_correction=True, **more)
    u, _ = o.update(g, o.init(g), g)
    print(more, int(jnp.isnan(u).sum()), "of 1000 NaN")
