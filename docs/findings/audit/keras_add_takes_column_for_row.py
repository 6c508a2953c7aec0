"""keras.ops.add, Conv3D(data_format="channels_first"): a column is added to a square matrix as if it were a row.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

print("keras", keras.__version__, "tensorflow", tf.__version__)
x, column = np.zeros((3, 3), "float32"), np.array([[1], [2], [3]], "float32")
print("keras.ops.add of a 3x3 matrix and a column:\n", np.asarray(keras.ops.add(x, column)))
print("numpy:\n", x + column)
print("keras.ops.subtract:\n", np.asarray(keras.ops.subtract(x, -column)))
# The same way a layer adds its bias: channels first, and as wide as it has channels.
layer = keras.layers.Conv3D(3, 1, data_format="channels_first")
layer.build((1, 2, 4, 4, 3))
weights = [np.zeros((1, 1, 1, 2, 3), "float32"), np.array([1, 2, 3], "float32")]
y = np.asarray(layer.stateless_call(weights, [], np.ones((1, 2, 4, 4, 3), "float32"))[0])
print("Conv3D, kernel of zeros, bias [1, 2, 3]: channel 0 holds", np.unique(y[:, 0]), "and should hold [1.]")
