"""Keras 3.15.1: istft of stft is not what it was at the ends, on PyTorch and TensorFlow; on JAX it is.

The argument is the backend: tensorflow (if none is given), jax or torch.
"""

import os
import sys

backend = sys.argv[1] if sys.argv[1:] else "tensorflow"
os.environ["KERAS_BACKEND"] = backend
import keras
import numpy as np

print("keras", keras.__version__, backend)
x = np.random.default_rng(0).standard_normal((1, 38)).astype("float32")
worst = 0.0
for stride, center in ((2, True), (3, True), (5, True), (3, False), (2, False)):
    parts = keras.ops.stft(x, 8, stride, 8, "hamming", center)
    back = keras.ops.convert_to_numpy(keras.ops.istft(parts, 8, stride, 8, window="hamming", center=center))[0]
    error = np.abs(back - x[0, : len(back)])
    worst = max(worst, float(error.max()))
    print(f"stride {stride}, center {center}: largest error {error.max():.4f}, in the middle {error[10:-10].max():.1e}")
is_right = worst < 1e-3
print("RIGHT" if is_right else "WRONG", "got", worst, "expected", 0.0)
raise SystemExit(not is_right)
