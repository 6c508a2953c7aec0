"""keras.initializers.Constant on TensorFlow: 0.1 in float64 is float32's 0.1, and so are Adagrad's first accumulators."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

got = float(np.asarray(keras.initializers.Constant(0.1)((1,), dtype="float64"))[0])
is_right = got == 0.1
print("RIGHT" if is_right else "WRONG", "got", got, "expected", 0.1)
raise SystemExit(not is_right)
