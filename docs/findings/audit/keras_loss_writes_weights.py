"""SparseCategoricalCrossentropy(ignore_class=...): writes to the caller's sample_weight.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
KERAS_BACKEND says on which backend.
"""

import keras
import numpy as np

w = keras.ops.convert_to_tensor(np.ones(3, "float32"))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=1, reduction="none")
loss(np.array([0, 1, 2]), np.zeros((3, 3), "float32"), sample_weight=w)
print("weights of 1 after the call:", keras.ops.convert_to_numpy(w))
