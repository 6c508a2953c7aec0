"""Keras 3.15.1: keras.ops.correlate is wrong where the second sequence is the longer one, or both are as long.

The argument is the backend: tensorflow (if none is given) or torch are wrong, jax is right. What is printed differs from NumPy's.
"""

import os
import sys

backend = sys.argv[1] if sys.argv[1:] else "tensorflow"
os.environ["KERAS_BACKEND"] = backend
import keras
import numpy as np

print("keras", keras.__version__, backend)
correlate, wrong = keras.ops.correlate, 0
r = np.random.default_rng(0)
for sizes in ((4, 7), (4, 4)):
    x, y = (r.integers(-3, 4, n).astype("float32") for n in sizes)
    for mode in ("full", "same", "valid"):
        try:
            found = keras.ops.convert_to_numpy(correlate(x, y, mode)).tolist()
        except Exception as error:
            found = type(error).__name__
        right = np.correlate(x, y, mode).tolist()
        if found != right:
            wrong += 1
            print(sizes, mode, found, "numpy", right)
is_right = wrong == 0
print("RIGHT" if is_right else "WRONG", "got", wrong, "expected", 0)
raise SystemExit(not is_right)
