"""TensorFlow 2.21.0: forward mode of tf.image.resize gives None, which counts as 0, without a word; the gradient is right."""

import tensorflow as tf

print("tensorflow", tf.__version__)
x = tf.reshape(tf.range(6.0), (1, 2, 3, 1))
with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
    y = tf.image.resize(x, [4, 6])
got = float(tf.reduce_sum(accumulator.jvp(y, unconnected_gradients="zero")))
with tf.GradientTape() as tape:
    tape.watch(x)
    total = tf.reduce_sum(tf.image.resize(x, [4, 6]))
expected = float(tf.reduce_sum(tape.gradient(total, x)))  # of weights that add up to 1 in each of 24 pixels
is_right = abs(got - expected) < 1e-3
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
