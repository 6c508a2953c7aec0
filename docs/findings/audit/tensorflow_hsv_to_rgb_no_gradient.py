"""tf.image.hsv_to_rgb: has no gradient, in silence; rgb_to_hsv has one.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import tensorflow as tf

x = tf.constant([[[[0.3, 0.5, 0.7]]]])
for function in (tf.image.hsv_to_rgb, tf.image.rgb_to_hsv):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    print(function.__name__, tape.gradient(y, x))
