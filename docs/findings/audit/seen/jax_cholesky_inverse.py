"""keras.ops.cholesky_inverse, jax 0.10.2, jit: outputs/0 is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "jax"
from keras import ops
import jax
import jax.numpy as jnp
import numpy as np
call = lambda x: ops.cholesky_inverse(ops.tril(x))
x = jnp.asarray(np.array([-0.8116040229797363], 'float32').reshape((1, 1, 1)), jnp.float32)
work = jax.jit(lambda: call(x=x))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
is_right = bool(found.shape == (1, 1, 1))
print("RIGHT" if is_right else "WRONG", "got", found.shape, "expected", (1, 1, 1))
raise SystemExit(not is_right)
