"""Keras 3.15.1 on PyTorch 2.13.0: batch norm gives NaN at a large mean; on TensorFlow and JAX it does not."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x = (np.random.default_rng(0).standard_normal((1024, 3)) * 2 + 1e4).astype("float32")
layer = keras.layers.BatchNormalization(momentum=0.0)
got = keras.ops.convert_to_numpy(layer(x, training=True)).std(0)
print("keras", keras.__version__, "standard deviation of the output", got, "is about 1")
print("running variance", keras.ops.convert_to_numpy(layer.moving_variance.value), "is", x.astype("float64").var(0))
is_right = bool((np.abs(got - 1) < 0.1).all())
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)
