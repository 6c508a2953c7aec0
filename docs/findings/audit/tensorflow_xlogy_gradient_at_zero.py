"""TensorFlow 2.21.0: at x = 0 the gradients of xlogy and xlog1py by x are 0, not the logarithm: a weight of 0 never moves."""

import math

import tensorflow as tf

x, y = tf.constant([0.0, 1e-3]), tf.constant([2.0, 2.0])
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    values = tf.math.xlogy(x, y), tf.math.xlog1py(x, y)
got = [tape.gradient(value, x).numpy().tolist() for value in values]
expected = [[math.log(2.0)] * 2, [math.log(3.0)] * 2]
is_right = all(abs(pair[0] - right[0]) < 1e-4 for pair, right in zip(got, expected, strict=True))
print("tensorflow", tf.__version__)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
