"""Keras 3.15.1: gaussian_blur with a kernel that is not square is wrong on every backend, each in its own way.

The argument is the backend: tensorflow, jax or torch.
"""

import os
import sys

os.environ["KERAS_BACKEND"] = sys.argv[1]
import keras
import numpy as np

print("keras", keras.__version__, sys.argv[1])
point = np.zeros((1, 7, 7, 1), "float32")
point[0, 3, 3] = 1
lines = [np.exp(-((np.arange(n) - n // 2) ** 2) / (2 * s * s)) for n, s in ((3, 0.8), (5, 1.7))]
print("right, in the middle:", np.outer(*(line / line.sum() for line in lines)).round(4).tolist(), sep="\n")
try:
    blurred = keras.ops.convert_to_numpy(keras.ops.image.gaussian_blur(point, (3, 5), (0.8, 1.7)))[0, :, :, 0]
    print("got:", blurred.round(4), sep="\n")
except Exception as error:
    print("got:", type(error).__name__, str(error)[:120])
