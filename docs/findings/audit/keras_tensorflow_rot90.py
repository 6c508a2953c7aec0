"""Keras 3.15.1 on TensorFlow 2.21.0: rot90 by a half turn over axes other than the first two mixes elements up."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

print("keras", keras.__version__)
x = np.arange(12.0, dtype="float32").reshape(2, 2, 3)
wrong = 0
for axes in ((0, 1), (1, 2), (0, 2), (2, 1)):
    got, right = keras.ops.convert_to_numpy(keras.ops.rot90(x, 2, axes)), np.rot90(x, 2, axes)
    wrong += int((got != right).sum())
    print(axes, got.tolist(), "numpy", right.tolist())
is_right = wrong == 0
print("RIGHT" if is_right else "WRONG", "got", wrong, "expected", 0)
raise SystemExit(not is_right)
