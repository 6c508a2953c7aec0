"""Adam takes the sum of squares for the square of a sum, where a row of an embedding is used twice: Keras 3 on TensorFlow.

The gradient of an embedding comes as slices, one for each use of a row. Their sum is the row's gradient, and its square belongs
into the second moment. Keras squares the slices and then adds them up. Run it with TensorFlow alone.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

keras = tf.keras


def update(gradient):
    """Return the second moment of two rows, and by how much they move, after the first step."""
    rows = keras.Variable(np.zeros((2, 1), "float32"))
    optimizer = keras.optimizers.Adam(0.1, beta_2=0.5)
    optimizer.build([rows])
    optimizer.apply([gradient], [rows])
    [moment] = [each for each in optimizer.variables if "velocity" in each.path]
    return moment.numpy().ravel(), rows.numpy().ravel()


# The first row is used twice, with gradients of 1 and 2; the second once, with 4.
slices = tf.IndexedSlices(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([0, 0, 1]), tf.constant([2, 1]))
right = 0.5 * np.array([(1.0 + 2.0) ** 2, 4.0**2])
print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}")
for name, gradient in (("dense ", tf.convert_to_tensor(slices)), ("slices", slices)):
    moment, moved = update(gradient)
    told = "RIGHT" if np.allclose(moment, right) else "WRONG"
    print(f"{name} second moment {moment.tolist()}, right {right.tolist()}: {told}; rows move by {moved.round(4).tolist()}")
is_right = bool(np.allclose(moment, right))
print("RIGHT" if is_right else "WRONG", "got", moment[0], "expected", right[0])
raise SystemExit(not is_right)
