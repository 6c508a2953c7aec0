"""tensorflow.math.special.bessel_j1: at 0 the second derivative is NaN instead of 0, as j1(x) / x is differentiated."""

import tensorflow as tf

x = tf.constant(0.0, tf.float64)
with tf.GradientTape() as outer:
    outer.watch(x)
    with tf.GradientTape() as inner:
        inner.watch(x)
        y = tf.math.special.bessel_j1(x)
    first = inner.gradient(y, x)
got = outer.gradient(first, x, unconnected_gradients="zero")
is_right = bool(abs(float(got)) < 1e-6)
print("RIGHT" if is_right else "WRONG", "got", float(got), "expected", 0.0, "first", float(first))
raise SystemExit(not is_right)
