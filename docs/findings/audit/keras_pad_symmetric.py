"""keras.ops.pad(mode="symmetric"): repeats the edge.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

print("keras", keras.__version__, "torch", torch.__version__)
x = np.array([[1, 2, 3, 4]], "float32")
print("keras.ops.pad symmetric:", keras.ops.convert_to_numpy(keras.ops.pad(x, [(0, 0), (2, 2)], "symmetric")))
print("numpy.pad symmetric:    ", np.pad(x, [(0, 0), (2, 2)], "symmetric"))
x = np.zeros((1, 4, 4, 3), "float32")  # an image, channels last
for widths in ([(0, 0), (1, 1), (1, 1), (0, 0)], [(0, 0), (0, 0), (0, 0), (1, 1)]):
    for mode in ("reflect", "symmetric"):
        try:
            print(widths, mode, tuple(keras.ops.pad(x, widths, mode).shape))
        except Exception as error:
            print(widths, mode, type(error).__name__)
