"""tf.math.cumprod, keras.ops.cumprod: the gradient of an entry that is 0 is 0.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import tensorflow as tf

x = tf.constant([2.0, 0.0, 3.0, 5.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.math.cumprod(x)
print(tape.gradient(y, x).numpy())
