"""TensorFlow 2.21.0 on the CPU: the gradient of a max pooling that gives nothing out is uninitialised memory."""

import tensorflow as tf

print("tensorflow", tf.__version__)
x = tf.reshape(tf.range(22.0), (1, 11, 2))


def gradient():
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.max_pool1d(x, 12, 1, "VALID")  # The window is wider than the input.
    return y.shape, tape.gradient(y, x).numpy().ravel()


for _ in range(3):
    shape, found = gradient()
    print(shape, "gradient should be 0:", found[:8])
# What memory holds may be right once.
is_right = all((gradient()[1] == 0).all() for _ in range(20))
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)
