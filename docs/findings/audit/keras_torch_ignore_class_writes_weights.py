"""Keras 3.15.1 on PyTorch 2.13.0: SparseCategoricalCrossentropy with ignore_class writes to the caller's sample_weight."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

weights = keras.ops.convert_to_tensor(np.ones(3, "float32"))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=1, reduction="none")
loss(np.array([0, 1, 2]), np.zeros((3, 3), "float32"), sample_weight=weights)
found = keras.ops.convert_to_numpy(weights)
print("keras", keras.__version__, "weights of 1 after the call:", found)
is_right = found.tolist() == [1.0, 1.0, 1.0]
print("RIGHT" if is_right else "WRONG", "got", found[1], "expected", 1.0)
raise SystemExit(not is_right)
