"""keras.ops.cholesky_inverse: of n matrices n by n wrong in silence, of other batches an error.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import os

os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
from keras import ops

low = np.tril(np.random.default_rng(0).standard_normal((3, 3, 3))).astype("float32") + 3 * np.eye(3, dtype="float32")
want = np.linalg.inv(low @ low.swapaxes(1, 2))
print(np.abs(ops.convert_to_numpy(ops.cholesky_inverse(low)) - want).max(), "of", np.abs(want).max())
ops.cholesky_inverse(low[:2])
