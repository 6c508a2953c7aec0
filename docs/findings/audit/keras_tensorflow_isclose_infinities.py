"""Keras 3.15.1 on TensorFlow 2.21.0: isclose says that infinity is close to minus infinity, and not to itself."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

a, b = np.float32([np.inf, -np.inf, np.inf, 1]), np.float32([np.inf, -np.inf, -np.inf, 1])
found = keras.ops.isclose(a, b).numpy()
print("keras", keras.__version__, found, "numpy", np.isclose(a, b))
is_right = found.tolist() == np.isclose(a, b).tolist()
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)
