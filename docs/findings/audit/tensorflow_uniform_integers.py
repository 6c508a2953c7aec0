"""TensorFlow 2.21.0: integers of tf.random.stateless_uniform are drawn modulo: far from uniform where the range is large."""

import numpy as np
import tensorflow as tf

print("tensorflow", tf.__version__)
for kind, high in ((tf.int32, 3 * 2**29), (tf.int64, 3 * 2**61)):
    x = tf.random.stateless_uniform((1_000_000,), [1, 2], 0, high, kind).numpy()
    print(kind.name, "shares of sixths, right 0.1667 each:", (np.bincount(x // (high // 6), minlength=6) / len(x)).round(4))
