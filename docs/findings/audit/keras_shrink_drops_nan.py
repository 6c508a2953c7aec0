"""Keras 3.15.1: hard_shrink, soft_shrink and threshold lose NaN on JAX and TensorFlow, and keep it on PyTorch.

The argument is the backend: tensorflow (if none is given), jax or torch.
"""

import os
import sys

backend = sys.argv[1] if sys.argv[1:] else "tensorflow"
os.environ["KERAS_BACKEND"] = backend
import keras
import numpy as np

print("keras", keras.__version__, backend)
x, ops = keras.ops.convert_to_tensor(np.array([np.nan, 2.0], np.float32)), keras.ops
found = []
for name, y in (
    ("hard_shrink", ops.hard_shrink(x)),
    ("soft_shrink", ops.soft_shrink(x)),
    ("threshold", ops.threshold(x, 0.5, 7.0)),
):
    found.append(float(ops.convert_to_numpy(y)[0]))
    print(name, "of [nan, 2]:", ops.convert_to_numpy(y))
is_right = bool(np.isnan(found).all())
print("RIGHT" if is_right else "WRONG", "got", found[0], "expected", "nan")
raise SystemExit(not is_right)
