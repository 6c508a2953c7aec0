"""Keras 3.15.1 on PyTorch: average_pool with padding "same" counts what it filled up, where the padding is odd.

A mean of ones is one wherever the border does not count, as on TensorFlow and JAX.
"""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

x = np.arange(1.0, 9.0, dtype="float32")[None, :, None]  # one row of 8 numbers, one channel
found = keras.ops.convert_to_numpy(keras.ops.average_pool(x, 3, 2, "same", "channels_last"))[0, :, 0]
# Windows begin at 0, 2, 4 and 6; one number is filled up, behind the last, and does not count.
expected = np.array([np.mean(x[0, start : start + 3, 0]) for start in (0, 2, 4, 6)])
is_right = bool(np.abs(found - expected).max() < 1e-5)
print(f"keras {keras.__version__} on {keras.backend.backend()}")
print("RIGHT" if is_right else "WRONG", "got", found, "expected", expected)
raise SystemExit(not is_right)
