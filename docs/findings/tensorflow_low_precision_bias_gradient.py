"""On CPUs TensorFlow adds up the gradient of a bfloat16 layer's bias in bfloat16, and tf.reduce_sum of float16 in float16."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf


def errors(dtype, side: int) -> list[str]:
    """Return the largest relative error of BiasAddGrad, of the same compiled by XLA, and of a plain sum."""
    arrives = tf.cast(np.random.default_rng(0).random((8, side, side, 4)), dtype)
    right = tf.cast(arrives, tf.float64).numpy().sum(axis=(0, 1, 2))

    def gradient(arrives):
        return tf.raw_ops.BiasAddGrad(out_backprop=arrives)

    ways = gradient, tf.function(gradient, jit_compile=True), lambda x: tf.reduce_sum(x, axis=[0, 1, 2])
    return [f"{np.abs(tf.cast(way(arrives), tf.float64).numpy() / right - 1).max():.1e}" for way in ways]


for side in (4, 8, 16, 32, 64):
    for dtype in (tf.bfloat16, tf.float16):
        found, compiled, plain = errors(dtype, side)
        print(f"{8 * side**2:6d} terms, {dtype.name}: relative error {found}, compiled by XLA {compiled}, tf.reduce_sum {plain}")
