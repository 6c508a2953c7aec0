"""keras.ops.average: divides by sums of weights along the last axis, whatever axis is: 5.0 for 2.5.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import os

os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
from keras import ops

a = np.array([[1, 2], [3, 4]], "float32")
w = np.array([[1, 3], [1, 1]], "float32")
for axis in (0, 1, None):
    print(axis, ops.convert_to_numpy(ops.average(a, axis=axis, weights=w)).tolist(), np.average(a, axis=axis, weights=w).tolist())
