"""On CPUs TensorFlow adds up the gradient of a bfloat16 layer's bias in bfloat16, and tf.reduce_sum of float16 in float16."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf


def errors(dtype, side: int) -> list[float]:
    """Return the largest relative error of BiasAddGrad, of the same compiled by XLA, and of a plain sum."""
    arrives = tf.cast(np.random.default_rng(0).random((8, side, side, 4)), dtype)
    right = tf.cast(arrives, tf.float64).numpy().sum(axis=(0, 1, 2))

    def gradient(arrives):
        return tf.raw_ops.BiasAddGrad(out_backprop=arrives)

    ways = gradient, tf.function(gradient, jit_compile=True), lambda x: tf.reduce_sum(x, axis=[0, 1, 2])
    return [float(np.abs(tf.cast(way(arrives), tf.float64).numpy() / right - 1).max()) for way in ways]


worst = {}
for side in (4, 8, 16, 32, 64):
    for dtype in (tf.bfloat16, tf.float16):
        found, compiled, plain = errors(dtype, side)
        worst[dtype.name] = found, plain  # of the longest sums, in the end
        what = f"{8 * side**2:6d} terms, {dtype.name}"
        print(f"{what}: relative error {found:.1e}, compiled by XLA {compiled:.1e}, tf.reduce_sum {plain:.1e}")
is_right = worst["bfloat16"][0] < 0.05 and worst["float16"][1] < 0.05
print("RIGHT" if is_right else "WRONG", "got", worst["bfloat16"][0], "expected", 0.0)
raise SystemExit(not is_right)
