"""TensorFlow 2.21.0: the gradient of tf.math.cumprod at an entry that is 0 comes out as 0."""

import tensorflow as tf

x = tf.constant([2.0, 0.0, 3.0, 5.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.math.cumprod(x)
print("tensorflow", tf.__version__, "gradient", tape.gradient(y, x).numpy(), "right [1. 38. 0. 0.]")
