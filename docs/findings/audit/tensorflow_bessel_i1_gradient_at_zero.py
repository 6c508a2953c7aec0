"""TensorFlow 2.21.0: the gradient of tf.math.bessel_i1 at 0 is 1 instead of 0.5; a little beside 0 it is right."""

import tensorflow as tf

x = tf.constant([0.0, 1e-3])
with tf.GradientTape() as tape:
    tape.watch(x)
    value = tf.math.bessel_i1(x)
got = tape.gradient(value, x).numpy().tolist()
is_right = abs(got[0] - 0.5) < 1e-4
print("tensorflow", tf.__version__)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", [0.5, 0.5])
raise SystemExit(not is_right)
