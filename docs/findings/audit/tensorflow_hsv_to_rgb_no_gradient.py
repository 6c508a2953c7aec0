"""TensorFlow 2.21.0: the gradient of tf.image.hsv_to_rgb is None, without a word; rgb_to_hsv has one."""

import tensorflow as tf

print("tensorflow", tf.__version__)
x = tf.constant([[[[0.3, 0.5, 0.7]]]])
found = []
for function in (tf.image.hsv_to_rgb, tf.image.rgb_to_hsv):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    gradient = tape.gradient(y, x)
    found.append(None if gradient is None else gradient.shape)
    print(function.__name__, gradient)
is_right = None not in found
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)
