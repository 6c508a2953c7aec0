"""tf.math.reduce_prod with a zero: the first derivative is right, and the second one is not."""

import numpy as np
import tensorflow as tf

x = tf.constant([2.0, 0.0, 3.0], tf.float64)
with tf.GradientTape() as outer:
    outer.watch(x)
    with tf.GradientTape() as inner:
        inner.watch(x)
        y = tf.math.reduce_prod(x)
    gradient = inner.gradient(y, x)
got = np.asarray(outer.jacobian(gradient, x))
expected = np.array([[0.0, 3.0, 0.0], [3.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
is_right = bool(np.allclose(got, expected))
print("RIGHT" if is_right else "WRONG", "got", got.tolist(), "expected", expected.tolist())
raise SystemExit(not is_right)
