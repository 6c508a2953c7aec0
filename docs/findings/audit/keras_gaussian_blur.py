"""keras.ops.image.gaussian_blur: wrong on each backend, in its own way, for a kernel that is not square.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
The argument is Keras's backend: torch, tensorflow or jax.
"""

import os
import sys

os.environ["KERAS_BACKEND"] = sys.argv[1]
import keras
import numpy as np

show = lambda x: np.asarray(keras.ops.convert_to_numpy(x)).round(4).tolist()
print("keras", keras.__version__, sys.argv[1])
point = np.zeros((1, 7, 7, 1), "float32")
point[0, 3, 3] = 1
lines = [np.exp(-((np.arange(n) - n // 2) ** 2) / (2 * s * s)) for n, s in ((3, 0.8), (5, 1.7))]
kernel = np.outer(lines[0] / lines[0].sum(), lines[1] / lines[1].sum())
print("right, rows 2 to 4:", *kernel.round(4).tolist(), sep="\n  ")
try:
    y = show(keras.ops.image.gaussian_blur(point, (3, 5), (0.8, 1.7))[0, :, :, 0])
    print("got:", *[row for row in y], sep="\n  ")
except Exception as error:
    print("got:", type(error).__name__, str(error)[:120])
