"""keras.ops.ldexp on TensorFlow: at 0 the gradient of x times 2 to the n is 1 instead of 2 to the n."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

x = tf.constant(0.0)
with tf.GradientTape() as tape:
    tape.watch(x)
    value = keras.ops.ldexp(x, tf.constant(3))
got = float(tape.gradient(value, x))
is_right = got == 8.0
print("RIGHT" if is_right else "WRONG", "got", got, "expected", 8.0)
raise SystemExit(not is_right)
