"""tensorflow.math.special.spence: at 1 the second derivative is NaN, and 0 by forward mode over reverse, instead of 1/2."""

import tensorflow as tf

x = tf.constant(1.0, tf.float64)
with tf.GradientTape() as outer:
    outer.watch(x)
    with tf.GradientTape() as inner:
        inner.watch(x)
        y = tf.math.special.spence(x)
    first = inner.gradient(y, x)
got = outer.gradient(first, x, unconnected_gradients="zero")
is_right = bool(abs(float(got) - 0.5) < 1e-6)
print("RIGHT" if is_right else "WRONG", "got", float(got), "expected", 0.5)
raise SystemExit(not is_right)
