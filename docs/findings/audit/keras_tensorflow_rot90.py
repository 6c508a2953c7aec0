"""Keras 3.15.1 on TensorFlow 2.21.0: rot90 by a half turn over axes other than the first two mixes elements up."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

print("keras", keras.__version__)
x = np.arange(12.0, dtype="float32").reshape(2, 2, 3)
for axes in ((0, 1), (1, 2), (0, 2), (2, 1)):
    print(axes, keras.ops.convert_to_numpy(keras.ops.rot90(x, 2, axes)).tolist(), "numpy", np.rot90(x, 2, axes).tolist())
