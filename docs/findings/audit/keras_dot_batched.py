"""keras.ops.dot: of two arrays of three axes it is a batched product.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import os

os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
from keras import ops

x, y = np.ones((2, 3, 4), "float32"), np.ones((2, 4, 5), "float32")
print(tuple(ops.dot(x, y).shape), np.dot(x, y).shape)
ops.dot(x, np.ones((3, 4, 5), "float32"))
