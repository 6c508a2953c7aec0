"""keras.ops.sparsemax adds up the running sums of the whole support, where the paper (https://arxiv.org/abs/1602.02068,
algorithm 1) takes the last of them: rows do not sum to 1. Any backend: `KERAS_BACKEND=jax python keras_sparsemax.py`."""

import keras
import numpy as np

x = np.array([[0.3, 0.1, -0.4], [1.2, 0.9, -1.0]], "float32")


def right(row):
    ordered, count = -np.sort(-row), np.arange(1, len(row) + 1)
    sums = np.cumsum(ordered)
    support = int((1 + count * ordered > sums).sum())
    return np.maximum(row - (sums[support - 1] - 1) / support, 0)


found = keras.ops.convert_to_numpy(keras.ops.sparsemax(x))
expected = np.array([right(row) for row in x])
is_right = bool(np.abs(found - expected).max() < 1e-5)
print("RIGHT" if is_right else "WRONG", keras.backend.backend(), "got", found.tolist(), "expected", expected.tolist())
raise SystemExit(not is_right)
