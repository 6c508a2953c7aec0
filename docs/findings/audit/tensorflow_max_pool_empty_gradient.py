"""tf.nn.max_pool, keras.ops.adaptive_max_pool(x, 1): where nothing comes out, the gradient is memory that nobody has written.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import tensorflow as tf

print("tensorflow", tf.__version__)
x = tf.reshape(tf.range(22.0), (1, 11, 2))
for _ in range(3):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.max_pool1d(x, 12, 1, "VALID")  # the window is wider than the input: nothing comes out
    gradient = tape.gradient(y, x)
    print(y.shape, "gradient should be 0:", gradient.numpy().ravel()[:8])
