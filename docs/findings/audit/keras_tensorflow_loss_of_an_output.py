"""Keras on TensorFlow: the losses of single outputs, in fit and evaluate, are means over batches, whatever is in the last one."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np

x = np.arange(10.0, dtype="float32")[:, None]
given = keras.Input((1,))
outputs = {name: keras.layers.Dense(1, kernel_initializer="ones", use_bias=False, name=name)(given) for name in ("one", "other")}
model = keras.Model(given, outputs)
model.compile(loss={"one": "mse", "other": "mse"})
found = model.evaluate(x, {"one": 0.0 * x, "other": x}, batch_size=4, verbose=0, return_dict=True)
got, right = found["one_loss"], float(np.mean(x**2))
print("keras", keras.__version__, "10 examples, batches of 4, 4 and 2: loss", found["loss"], "of one output", got, "right", right)
is_right = abs(got - right) < 1e-3
print("RIGHT" if is_right else "WRONG", "got", got, "expected", right)
raise SystemExit(not is_right)
