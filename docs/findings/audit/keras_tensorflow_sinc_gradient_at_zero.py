"""Keras 3.15.1 on TensorFlow: the gradient of keras.ops.sinc at 0 is NaN instead of 0."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

x = tf.constant([0.0, 0.5])
with tf.GradientTape() as tape:
    tape.watch(x)
    value = keras.ops.sinc(x)
got = tape.gradient(value, x).numpy().tolist()
is_right = got[0] == 0.0
print("keras", keras.__version__)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", [0.0, -1.2732395])
raise SystemExit(not is_right)
