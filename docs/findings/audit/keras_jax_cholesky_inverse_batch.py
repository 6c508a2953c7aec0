"""Keras 3.15.1 on JAX 0.10.2: cholesky_inverse is wrong for n matrices of n by n, and raises for another number of them."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

low = np.tril(np.random.default_rng(0).standard_normal((3, 3, 3))).astype("float32") + 3 * np.eye(3, dtype="float32")
right = np.linalg.inv(low @ low.swapaxes(1, 2))
got = keras.ops.convert_to_numpy(keras.ops.cholesky_inverse(low))
error, raises = np.abs(got - right).max(), False
print("keras", keras.__version__, "largest error", error, "of", np.abs(right).max())
try:
    keras.ops.cholesky_inverse(low[:2])
except ValueError as raised:
    raises = True
    print("two of them:", raised)
is_right = bool(error < 1e-3 and not raises)
print("RIGHT" if is_right else "WRONG", "got", error, "expected", 0.0)
raise SystemExit(not is_right)
