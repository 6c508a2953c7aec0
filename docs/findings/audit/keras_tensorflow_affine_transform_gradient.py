"""Keras 3.15.1 on TensorFlow 2.21.0: the gradient of affine_transform is that of another function."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

print("keras", keras.__version__, "tensorflow", tf.__version__)
x = tf.constant(np.random.default_rng(0).standard_normal((1, 4, 5, 1)).astype("float32"))
t = np.array([[0.9, 0.21, -0.37, -0.13, 1.07, 0.41, 0, 0]], "float32")
ones = np.eye(20, dtype="float32").reshape(20, 1, 4, 5, 1)
errors = []
for mode in ("constant", "nearest"):
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(keras.ops.image.affine_transform(x, t, "bilinear", mode))
    got = tape.gradient(total, x).numpy().ravel()
    # The map is linear in x: its derivatives are what it makes of ones.
    right = [float(tf.reduce_sum(keras.ops.image.affine_transform(tf.constant(one), t, "bilinear", mode))) for one in ones]
    errors.append(np.abs(got - right).max())
    print(mode, "largest difference of the gradient", errors[-1])
is_right = bool(max(errors) < 1e-3)
print("RIGHT" if is_right else "WRONG", "got", max(errors), "expected", 0.0)
raise SystemExit(not is_right)
