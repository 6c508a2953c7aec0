"""TensorFlow 2.21.0: the gradient of tf.math.cumprod at an entry that is 0 comes out as 0."""

import tensorflow as tf

x = tf.constant([2.0, 0.0, 3.0, 5.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.math.cumprod(x)
found = tape.gradient(y, x).numpy()
print("tensorflow", tf.__version__, "gradient", found, "right [1. 38. 0. 0.]")
is_right = bool(abs(found - [1, 38, 0, 0]).max() < 0.1)
print("RIGHT" if is_right else "WRONG", "got", found[1], "expected", 38.0)
raise SystemExit(not is_right)
