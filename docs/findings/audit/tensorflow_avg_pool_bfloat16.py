"""tf.nn.avg_pool, bf16: counts a window's elements in bf16: the mean of 1,000 is 1.73, not 0.45.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import numpy as np
import tensorflow as tf

x = tf.cast(np.random.default_rng(0).standard_normal((1, 1000, 1)) + 0.5, tf.bfloat16)
for size in (10, 100, 1000):
    got = float(tf.nn.avg_pool1d(x, size, size, "VALID").numpy().ravel()[0])
    print(
        size,
        "bfloat16 avg_pool1d",
        got,
        "right",
        float(tf.reduce_mean(tf.cast(x[:, :size], tf.float64))),
        "reduce_mean",
        float(tf.reduce_mean(x[:, :size])),
    )
