"""TensorFlow 2.21.0 on the CPU: convolutions of an empty batch leave the gradient of their weights unwritten."""

import ctypes

import tensorflow as tf

print("tensorflow", tf.__version__)
# glibc fills what it allocates with 0xFE, so that what nobody writes shows: four such bytes are -1.7e38.
ctypes.CDLL(None).mallopt(-6, 0x01)


def largest(convolution, shape, images):
    x, weight = tf.zeros(images), tf.ones(shape)
    with tf.GradientTape() as tape:
        tape.watch(weight)
        y = convolution(x, weight)
    return float(tf.reduce_max(tf.abs(tape.gradient(y, weight))))


found = {
    "depthwise_conv2d": largest(lambda x, w: tf.nn.depthwise_conv2d(x, w, [1] * 4, "VALID"), (3, 3, 3, 2), (0, 5, 5, 3)),
    "conv2d": largest(lambda x, w: tf.nn.conv2d(x, w, 1, "VALID"), (3, 3, 3, 2), (0, 5, 5, 3)),
}
is_right = not any(found.values())
print("RIGHT" if is_right else "WRONG", "the largest gradient of weights that met no image is", found, "expected 0.0")
raise SystemExit(not is_right)
