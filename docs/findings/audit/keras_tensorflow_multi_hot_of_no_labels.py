"""Keras 3.15.1 on TensorFlow: keras.ops.multi_hot of rows without a label is minus infinity instead of 0."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

print("keras", keras.__version__, keras.backend.backend())
found = keras.ops.convert_to_numpy(keras.ops.multi_hot(np.zeros((2, 0), np.int32), num_classes=3))
is_right = bool((found == 0.0).all())
print("RIGHT" if is_right else "WRONG", "rows without a label are", found[0], "expected zeros")
raise SystemExit(not is_right)
