"""Keras 3.15.1, every backend: keras.utils.normalize(array, axis=0) divides along the last axis (`axis or -1`)."""

import keras
import numpy as np

x = np.arange(1.0, 5.0).reshape(2, 2)
print("keras", keras.__version__, keras.utils.normalize(x, axis=0).tolist(), "right", (x / np.linalg.norm(x, axis=0)).tolist())
