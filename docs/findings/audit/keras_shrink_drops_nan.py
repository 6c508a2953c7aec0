"""Keras 3.15.1: hard_shrink, soft_shrink and threshold lose NaN on JAX and TensorFlow, and keep it on PyTorch.

The argument is the backend: tensorflow, jax or torch.
"""

import os
import sys

os.environ["KERAS_BACKEND"] = sys.argv[1]
import keras
import numpy as np

print("keras", keras.__version__, sys.argv[1])
x, ops = keras.ops.convert_to_tensor(np.array([np.nan, 2.0], np.float32)), keras.ops
for name, y in (
    ("hard_shrink", ops.hard_shrink(x)),
    ("soft_shrink", ops.soft_shrink(x)),
    ("threshold", ops.threshold(x, 0.5, 7.0)),
):
    print(name, "of [nan, 2]:", ops.convert_to_numpy(y))
