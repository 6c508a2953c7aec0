"""jax.numpy.unwrap, jax 0.10.2: turns are added up as numbers, so that a zero is off by 1.4e-6 after as many turns up as down."""

import jax
import jax.numpy as jnp
import numpy as np

x = np.array(
    [-3.0, -3.0, 3.0, 3.0, 2.0, 2.0, 4.0, -4.5, 3.5, 1.5, 3.0, -1.5, -3.0, 4.0, -2.5, -0.5, -2.5, -1.0, 1.5, 1.0, -1.5, -4.5, 3.0, 3.0, -1.5, 0.0],
    np.float32,
)  # fmt: skip
got, expected = float(jax.jit(jnp.unwrap)(x)[25]), float(np.unwrap(x.astype(np.float64))[25])
is_right = bool(abs(got - expected) < 1e-7)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
