"""TensorFlow 2.21.0 on the CPU: in a window of max_pool3d, each number that equals the largest gets the whole gradient."""

import tensorflow as tf

print("tensorflow", tf.__version__)


def gradient(pool, x, size):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = pool(x, size, size, "VALID")
    return float(tf.reduce_sum(tape.gradient(y, x)))


of_volume = gradient(tf.nn.max_pool3d, tf.ones((1, 2, 2, 2, 1)), 2)
of_image = gradient(tf.nn.max_pool2d, tf.ones((1, 2, 2, 1)), 2)
# Moved by 1 with all that it holds, a window's largest is larger by 1: so much are its gradients together, as those of an image.
is_right = of_volume == of_image == 1.0
print("RIGHT" if is_right else "WRONG", "gradients of eight equal numbers add up to", of_volume, "expected", of_image)
raise SystemExit(not is_right)
