"""TensorFlow 2.21.0 on the CPU: the gradient of a max pooling that gives nothing out is uninitialised memory."""

import tensorflow as tf

print("tensorflow", tf.__version__)
x = tf.reshape(tf.range(22.0), (1, 11, 2))
for _ in range(3):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.max_pool1d(x, 12, 1, "VALID")  # The window is wider than the input.
    print(y.shape, "gradient should be 0:", tape.gradient(y, x).numpy().ravel()[:8])
