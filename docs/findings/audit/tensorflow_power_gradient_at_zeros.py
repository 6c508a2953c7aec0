"""tf.math.pow: x to the 0 is 1 everywhere, and its gradient by x 0; at x = 0 it is NaN where the exponent is an array."""

import tensorflow as tf

x, n = tf.constant([0.0, 1.0]), tf.constant([0.0, 0.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    value = tf.math.pow(x, n)
got = tape.gradient(value, x).numpy().tolist()
is_right = got == [0.0, 0.0]
print("RIGHT" if is_right else "WRONG", "got", got, "expected", [0.0, 0.0])
raise SystemExit(not is_right)
