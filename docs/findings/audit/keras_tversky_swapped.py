"""Keras 3.15.1, every backend: keras.losses.tversky swaps alpha and beta."""

import keras
import numpy as np

y, x = np.array([[0.0, 1.0, 1.0, 0.0]]), np.array([[0.2, 0.7, 0.4, 0.9]])
both, false, missed = (x * y).sum(), (x * (1 - y)).sum(), ((1 - x) * y).sum()
right, swapped = (1 - both / (both + a * false + b * missed) for a, b in ((0.3, 0.8), (0.8, 0.3)))
print("keras", keras.__version__, float(keras.losses.tversky(y, x, alpha=0.3, beta=0.8)), "right", right, "swapped", swapped)
