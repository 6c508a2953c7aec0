"""An operator of your own, for `vigil verify`: what you wrote, what it shall compute, and inputs. Replace all three."""

import numpy as np
import tensorflow as tf


def inputs(seed, rows=32, columns=256):
    """Arguments made from the seed, by name. Sizes have usual values; Vigil tries others around powers of two and tiles."""
    random = np.random.default_rng(seed)
    return {"x": random.standard_normal((rows, columns), np.float32), "weight": random.random(columns, np.float32)}


def reference(x, weight):
    """The operator as its definition says, slow and plain. It is carried out in float64, and differentiated."""
    return x / tf.sqrt(tf.reduce_mean(x * x, axis=-1, keepdims=True) + 1e-6) * weight


@tf.custom_gradient
def candidate(x, weight):
    """The operator to verify: a kernel, a rewritten layer. Root mean square normalisation."""
    wide = tf.cast(x, tf.float32)
    inverse = tf.math.rsqrt(tf.reduce_mean(wide * wide, axis=-1, keepdims=True) + 1e-6)
    normal = wide * inverse

    def backward(gradient):
        gradient = tf.cast(gradient, tf.float32)
        scaled = gradient * tf.cast(weight, tf.float32)
        of_x = inverse * (scaled - normal * tf.reduce_mean(scaled * normal, axis=-1, keepdims=True))
        return tf.cast(of_x, x.dtype), tf.cast(tf.reduce_sum(gradient * normal, axis=0), weight.dtype)

    return tf.cast(normal * tf.cast(weight, tf.float32), x.dtype), backward


# Optional: what your own test allows. Vigil says how often it will fail of correct operators, and what rounding needs.
TOLERANCE = {"fp32": {"atol": 1e-5, "rtol": 1e-5}}
# Optional: TILES = {"columns": 128}, a kernel's tile; SIZES = {"columns": (64, 128)}, where others are not allowed;
# PRECISIONS = ("fp32",); DIFFERENTIATED = ("x",), where not every float input has a gradient.
