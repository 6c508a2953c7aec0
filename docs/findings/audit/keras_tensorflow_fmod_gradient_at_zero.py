"""keras.ops.fmod on TensorFlow: at 0 the derivative by the first argument is 0 instead of 1, since sign(x) multiplies it."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import tensorflow as tf

x = tf.constant([0.0, 0.5])
with tf.GradientTape() as tape:
    tape.watch(x)
    found = keras.ops.fmod(x, tf.constant([2.0, 2.0]))
got = tape.gradient(found, x).numpy().tolist()
is_right = got == [1.0, 1.0]
print("RIGHT" if is_right else "WRONG", "got", got, "expected", [1.0, 1.0])
raise SystemExit(not is_right)
