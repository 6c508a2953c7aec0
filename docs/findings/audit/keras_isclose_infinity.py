"""keras.ops.isclose: infinity is not close to itself, and close to its negative.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
from keras import ops

a, b = np.float32([np.inf, -np.inf, np.inf, 1]), np.float32([np.inf, -np.inf, -np.inf, 1])
print(ops.isclose(a, b).numpy(), np.isclose(a, b))
