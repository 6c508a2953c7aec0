"""Average pooling by reshaping, against the framework's own."""

import numpy as np
import tensorflow as tf

SIZES = {"height": (2, 4, 8, 12, 16), "width": (2, 4, 8, 12, 16)}


def inputs(seed, height=12, width=12, channels=5):
    return {"x": np.random.default_rng(seed).standard_normal((2, height, width, channels), np.float32)}


def reference(x):
    return tf.nn.avg_pool2d(x, 2, 2, "VALID")


def candidate(x):
    batch, height, width, channels = x.shape
    tiles = tf.reshape(tf.cast(x, tf.float32), (batch, height // 2, 2, width // 2, 2, channels))
    return tf.cast(tf.reduce_mean(tiles, (2, 4)), x.dtype)
