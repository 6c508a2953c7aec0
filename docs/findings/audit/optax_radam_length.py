"""optax.radam: lost accuracy, 1.2 % of step 6.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8.
"""

import jax.numpy as jnp
import numpy as np
import optax

o = optax.scale_by_radam(eps=0.0)
x = jnp.ones(1)
s = o.init(x)
worst = 0
for t in range(1, 51):
    u, s = o.update(x, s, x)
    b = 0.999**t
    ro = 1999 - 2 * t * b / (1 - b)
    rule = np.sqrt((ro - 4) * (ro - 2) * 1999 / (1995 * 1997 * ro)) if ro >= 5 else 1.0
    if t in (6, 7, 8, 10, 20, 50):
        print("scale_by_radam step", t, "got", float(u[0]), "rule", rule, "relative", f"{abs(float(u[0]) / rule - 1):.1e}")
