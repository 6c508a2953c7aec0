"""keras.losses.tversky: alpha and beta are swapped .

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
KERAS_BACKEND says on which backend.
"""

import keras
import numpy as np

y, x = np.array([[0.0, 1.0, 1.0, 0.0]]), np.array([[0.2, 0.7, 0.4, 0.9]])
tp, fp, fn = (x * y).sum(), (x * (1 - y)).sum(), ((1 - x) * y).sum()
print(
    float(keras.losses.tversky(y, x, alpha=0.3, beta=0.8)),
    "right",
    1 - tp / (tp + 0.3 * fp + 0.8 * fn),
    "swapped",
    1 - tp / (tp + 0.8 * fp + 0.3 * fn),
)
