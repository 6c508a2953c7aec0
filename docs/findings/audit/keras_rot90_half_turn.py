"""keras.ops.rot90, k=2: other axes than the first two: mixes pixels up.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
The argument is Keras's backend: torch, tensorflow or jax.
"""

import os
import sys

os.environ["KERAS_BACKEND"] = sys.argv[1]
import keras
import numpy as np

show = lambda x: np.asarray(keras.ops.convert_to_numpy(x)).round(4).tolist()
print("keras", keras.__version__, sys.argv[1])
r = np.arange(6, dtype="float32").reshape(1, 1, 2, 3)
print("rot90 twice over axes (2, 3):", show(keras.ops.rot90(r, 2, (2, 3))), "numpy:", np.rot90(r, 2, (2, 3)).tolist())
