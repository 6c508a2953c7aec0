"""Keras 3.15.1 on PyTorch: most of keras.ops computes float64 tensors in float32; mean says float64 of what it has rounded."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

x = keras.ops.convert_to_tensor(np.array([0.1, 0.2, 0.3]), dtype="float64")
for name in ("mean", "cumsum", "maximum", "matmul", "norm"):
    found = getattr(keras.ops, name)(*([x, x] if name in ("maximum", "matmul") else [x]))
    print(f"keras.ops.{name}: dtype {found.dtype}, first number {float(keras.ops.convert_to_numpy(found).ravel()[0])!r}")
got, expected = float(keras.ops.convert_to_numpy(keras.ops.mean(x))), float(np.mean([0.1, 0.2, 0.3]))
is_right = abs(got - expected) < 1e-12
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
