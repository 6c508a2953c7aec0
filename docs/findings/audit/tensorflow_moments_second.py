"""tf.nn.moments stops the gradient of the mean within the variance: the first derivative is right, and the second one is not.

Keras's LayerNormalization, GroupNormalization and BatchNormalization are made of it on TensorFlow, as under a gradient penalty.
"""

import numpy as np
import tensorflow as tf

x = tf.constant([1.0, 2.0, 4.0], tf.float64)
with tf.GradientTape() as outer:
    outer.watch(x)
    with tf.GradientTape() as inner:
        inner.watch(x)
        variance = tf.nn.moments(x, 0)[1]
    gradient = inner.gradient(variance, x)
got = np.asarray(outer.jacobian(gradient, x))
expected = 2 / 3 * (np.eye(3) - 1 / 3)  # of the mean of squares of x less its mean
is_right = bool(np.allclose(got, expected))
print("RIGHT" if is_right else "WRONG", "first row", got[0].round(3), "expected", expected[0].round(3))
raise SystemExit(not is_right)
