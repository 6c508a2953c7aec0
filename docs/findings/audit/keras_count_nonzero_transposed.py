"""keras.ops.count_nonzero: the result is transposed.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import os

os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
from keras import ops

x = np.arange(24.0, dtype="float32").reshape(2, 3, 4)
print(tuple(ops.count_nonzero(x, axis=-1).shape), np.count_nonzero(x, axis=-1).shape)
