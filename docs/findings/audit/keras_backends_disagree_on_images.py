"""Keras 3.15.1: sobel_edges, bicubic resize and affine_transform give other numbers on other backends.

The argument is the backend: tensorflow (if none is given), jax or torch.
On PyTorch affine_transform writes to the caller's transform, too. What two of the three give counts as right.
"""

import os
import sys

backend = sys.argv[1] if sys.argv[1:] else "tensorflow"
os.environ["KERAS_BACKEND"] = backend
import keras
import numpy as np


def show(x):
    return np.asarray(keras.ops.convert_to_numpy(x)).round(4).tolist()


print("keras", keras.__version__, backend)
x = np.tile(np.arange(1.0, 6.0, dtype="float32"), (1, 5, 1))[..., None]
sobel = show(keras.ops.image.sobel_edges(x)[0, 0, :, 0, 1])
print("sobel_edges, dx of the top row:", sobel)
bicubic = show(keras.ops.image.resize(x, (5, 8), "bicubic")[0, 0, :, 0])
print("resize bicubic of 1..5 to 8:", bicubic)
t = keras.ops.convert_to_tensor(np.array([[1, 0.25, 0.5, 0, 1, 0, 0, 0]], "float32"))
wrapped = show(keras.ops.image.affine_transform(x, t, "bilinear", "wrap")[0, 0, :, 0])
print("affine_transform, wrap:", wrapped)
print("its transform, before [1, 0.25, 0.5, 0, 1, 0, 0, 0], now:", show(t))
found = np.array([sobel[0], sobel[-1], bicubic[0], wrapped[-1], *show(t)[0]])
expected = [6, -12, 0.928, 3, 1, 0.25, 0.5, 0, 1, 0, 0, 0]
is_right = bool(np.abs(found - expected).max() < 0.01)
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)
