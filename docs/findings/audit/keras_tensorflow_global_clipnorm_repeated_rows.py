"""Keras on TensorFlow: global_clipnorm takes the norm of an embedding's slices before equal rows are added."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf

found = {}
for what in ("slices", "dense"):
    table = keras.Variable(np.zeros((2, 1), "float32"))
    optimizer = keras.optimizers.SGD(1.0, global_clipnorm=1.0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(table.value, [0, 0, 0, 0]))
    [gradient] = tape.gradient(loss, [table.value])
    optimizer.apply([gradient if what == "slices" else tf.convert_to_tensor(gradient)], [table])
    found[what] = float(table.numpy()[0, 0])
# Row 0 is taken four times: its gradient is 4, which is clipped to 1.
print("keras", keras.__version__, "row after a step by slices", found["slices"], "by the same gradient, dense", found["dense"])
is_right = abs(found["slices"] + 1.0) < 1e-4
print("RIGHT" if is_right else "WRONG", "got", found["slices"], "expected", -1.0)
raise SystemExit(not is_right)
