"""Keras 3.15.1, every backend: keras.losses.tversky swaps alpha and beta."""

import keras
import numpy as np

y, x = np.array([[0.0, 1.0, 1.0, 0.0]]), np.array([[0.2, 0.7, 0.4, 0.9]])
both, false, missed = (x * y).sum(), (x * (1 - y)).sum(), ((1 - x) * y).sum()
right, swapped = (1 - both / (both + a * false + b * missed) for a, b in ((0.3, 0.8), (0.8, 0.3)))
got = float(keras.losses.tversky(y, x, alpha=0.3, beta=0.8))
print("keras", keras.__version__, got, "right", right, "swapped", swapped)
is_right = bool(abs(got - right) < 0.01)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", right)
raise SystemExit(not is_right)
