"""Keras 3.15.1: gaussian_blur with a kernel that is not square is wrong on every backend, each in its own way.

The argument is the backend: tensorflow (if none is given), jax or torch.
"""

import os
import sys

backend = sys.argv[1] if sys.argv[1:] else "tensorflow"
os.environ["KERAS_BACKEND"] = backend
import keras
import numpy as np

print("keras", keras.__version__, backend)
point = np.zeros((1, 7, 7, 1), "float32")
point[0, 3, 3] = 1
lines = [np.exp(-((np.arange(n) - n // 2) ** 2) / (2 * s * s)) for n, s in ((3, 0.8), (5, 1.7))]
right = np.outer(*(line / line.sum() for line in lines))
print("right, in the middle:", right.round(4).tolist(), sep="\n")
blur, is_right = keras.ops.image.gaussian_blur, False
try:
    blurred = keras.ops.convert_to_numpy(blur(point, (3, 5), (0.8, 1.7)))[0, :, :, 0]
    print("got:", blurred.round(4), sep="\n")
    is_right = blurred.shape == (7, 7) and bool(np.abs(blurred[2:5, 1:6] - right).max() < 1e-3)
except Exception as error:
    print("got:", type(error).__name__, str(error)[:120])
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)
