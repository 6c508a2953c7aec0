"""Keras on TensorFlow: of equal numbers logaddexp, logaddexp2 and hypot, smooth there, have the gradient of a maximum."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import tensorflow as tf

found = {}
for name in ("logaddexp", "logaddexp2", "hypot"):
    x, y = tf.constant(2.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        value = getattr(keras.ops, name)(x, y)
    found[name] = [float(each) for each in tape.gradient(value, [x, y])]
right = {"logaddexp": 0.5, "logaddexp2": 0.5, "hypot": 0.5**0.5}
for name, pair in found.items():
    print("keras", keras.__version__, name, "of 2 and 2: gradients", pair, "right", round(right[name], 4), "each")
is_right = all(abs(each - right[name]) < 1e-4 for name, pair in found.items() for each in pair)
print("RIGHT" if is_right else "WRONG", "got", found["logaddexp"], "expected", 0.5)
raise SystemExit(not is_right)
