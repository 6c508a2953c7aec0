"""Keras 3.15.1: sobel_edges, bicubic resize and affine_transform give other numbers on other backends.

The argument is the backend: tensorflow, jax or torch. On PyTorch affine_transform writes to the caller's transform, too.
"""

import os
import sys

os.environ["KERAS_BACKEND"] = sys.argv[1]
import keras
import numpy as np


def show(x):
    return np.asarray(keras.ops.convert_to_numpy(x)).round(4).tolist()


print("keras", keras.__version__, sys.argv[1])
x = np.tile(np.arange(1.0, 6.0, dtype="float32"), (1, 5, 1))[..., None]
print("sobel_edges, dx of the top row:", show(keras.ops.image.sobel_edges(x)[0, 0, :, 0, 1]))
print("resize bicubic of 1..5 to 8:", show(keras.ops.image.resize(x, (5, 8), "bicubic")[0, 0, :, 0]))
t = keras.ops.convert_to_tensor(np.array([[1, 0.25, 0.5, 0, 1, 0, 0, 0]], "float32"))
print("affine_transform, wrap:", show(keras.ops.image.affine_transform(x, t, "bilinear", "wrap")[0, 0, :, 0]))
print("its transform, before [1, 0.25, 0.5, 0, 1, 0, 0, 0], now:", show(t))
