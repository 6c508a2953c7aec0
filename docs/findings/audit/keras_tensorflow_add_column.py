"""Keras 3.15.1 on TensorFlow 2.21.0: keras.ops.add adds a column to a square matrix as if it were a row.

Layers add their biases so: Conv3D of channels first gives them to the wrong axis where the last is as long as there are channels.
"""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

print("keras", keras.__version__, "tensorflow", tf.__version__)
x, column = np.zeros((3, 3), "float32"), np.array([[1], [2], [3]], "float32")
added = np.asarray(keras.ops.add(x, column))
print("keras.ops.add", added.tolist(), "numpy", (x + column).tolist())
layer = keras.layers.Conv3D(3, 1, data_format="channels_first")
layer.build((1, 2, 4, 4, 3))
weights = [np.zeros((1, 1, 1, 2, 3), "float32"), np.array([1, 2, 3], "float32")]
y = np.asarray(layer.stateless_call(weights, [], np.ones((1, 2, 4, 4, 3), "float32"))[0])
print("Conv3D, kernel of zeros, bias [1, 2, 3]: channel 0 holds", np.unique(y[:, 0]), "right [1.]")
is_right = bool(np.abs(added - (x + column)).max() < 0.1 and np.abs(y[:, 0] - 1).max() < 0.1)
print("RIGHT" if is_right else "WRONG", "got", added[0, 1], "expected", 1.0)
raise SystemExit(not is_right)
