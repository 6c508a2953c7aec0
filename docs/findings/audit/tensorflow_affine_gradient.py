"""keras.ops.image.affine_transform: the gradient is that of the inverse map, up to 0.75 off.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

x = tf.constant(np.random.default_rng(0).standard_normal((1, 4, 5, 1)).astype("float32"))
t = np.array([[0.9, 0.21, -0.37, -0.13, 1.07, 0.41, 0, 0]], "float32")
for mode in ("constant", "nearest"):
    call = lambda x: keras.ops.image.affine_transform(x, t, "bilinear", mode)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(call(x))
    got = tape.gradient(total, x).numpy().ravel()
    ones = np.eye(20, dtype="float32").reshape(20, 1, 4, 5, 1)
    right = np.array([float(tf.reduce_sum(call(tf.constant(one)))) for one in ones])  # the map is linear in x
    print(mode, "largest difference of the gradient:", np.abs(got - right).max(), "sums", got.sum(), right.sum())
