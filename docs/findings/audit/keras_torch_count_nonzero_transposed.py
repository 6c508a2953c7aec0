"""Keras 3.15.1 on PyTorch 2.13.0: what keras.ops.count_nonzero gives along an axis is transposed."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x = np.arange(24.0, dtype="float32").reshape(2, 3, 4)
got, right = keras.ops.count_nonzero(x, axis=-1), np.count_nonzero(x, axis=-1)
print("keras", keras.__version__, "shape", tuple(got.shape), "numpy", right.shape)
is_right = tuple(got.shape) == right.shape
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)
