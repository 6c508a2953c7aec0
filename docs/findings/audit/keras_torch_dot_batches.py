"""Keras 3.15.1 on PyTorch 2.13.0: keras.ops.dot of two arrays of three axes is a product by batches, of another shape."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x, y = np.ones((2, 3, 4), "float32"), np.ones((2, 4, 5), "float32")
shape = tuple(keras.ops.dot(x, y).shape)
print("keras", keras.__version__, "shape", shape, "numpy", np.dot(x, y).shape)
is_right = shape == np.dot(x, y).shape
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)
