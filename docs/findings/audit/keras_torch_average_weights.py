"""Keras 3.15.1 on PyTorch 2.13.0: keras.ops.average divides by sums of weights along the last axis, whatever axis is."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

print("keras", keras.__version__)
x, w = np.array([[1, 2], [3, 4]], "float32"), np.array([[1, 3], [1, 1]], "float32")
found = []
for axis in (0, 1, None):
    got = keras.ops.convert_to_numpy(keras.ops.average(x, axis=axis, weights=w)).tolist()
    right = np.average(x, axis=axis, weights=w).tolist()
    found.append((got, right))
    print("axis", axis, got, "numpy", right)
is_right = all(np.shape(got) == np.shape(right) and np.allclose(got, right, atol=1e-3) for got, right in found)
print("RIGHT" if is_right else "WRONG", "got", found[0][0][0], "expected", found[0][1][0])
raise SystemExit(not is_right)
