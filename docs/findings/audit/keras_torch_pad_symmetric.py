"""Keras 3.15.1 on PyTorch 2.13.0: keras.ops.pad with "symmetric" repeats the edge."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x, widths = np.array([[1, 2, 3, 4]], "float32"), [(0, 0), (2, 2)]
got = keras.ops.convert_to_numpy(keras.ops.pad(x, widths, "symmetric"))
right = np.pad(x, widths, "symmetric")
print("keras", keras.__version__, got.tolist(), "numpy", right.tolist())
is_right = got.tolist() == right.tolist()
print("RIGHT" if is_right else "WRONG", "got", got[0, 0], "expected", right[0, 0])
raise SystemExit(not is_right)
