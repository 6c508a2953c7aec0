"""TensorFlow 2.21.0 on the CPU: average pooling of bfloat16 counts a window's elements in bfloat16, and stops counting at 256."""

import numpy as np
import tensorflow as tf

print("tensorflow", tf.__version__)
x = tf.cast(np.random.default_rng(0).standard_normal((1, 1000, 1)) + 0.5, tf.bfloat16)
for size in (10, 100, 1000):
    got = float(tf.nn.avg_pool1d(x, size, size, "VALID").numpy().ravel()[0])
    right = float(tf.reduce_mean(tf.cast(x[:, :size], tf.float64)))
    print(size, "avg_pool1d", got, "right", right)
is_right = abs(got - right) < 0.05
print("RIGHT" if is_right else "WRONG", "got", got, "expected", right)
raise SystemExit(not is_right)
