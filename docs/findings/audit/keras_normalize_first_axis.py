"""Keras 3.15.1, every backend: keras.utils.normalize(array, axis=0) divides along the last axis (`axis or -1`)."""

import keras
import numpy as np

x = np.arange(1.0, 5.0).reshape(2, 2)
got, right = keras.utils.normalize(x, axis=0), x / np.linalg.norm(x, axis=0)
print("keras", keras.__version__, got.tolist(), "right", right.tolist())
is_right = bool(np.abs(got - right).max() < 1e-3)
print("RIGHT" if is_right else "WRONG", "got", got[0, 1], "expected", right[0, 1])
raise SystemExit(not is_right)
