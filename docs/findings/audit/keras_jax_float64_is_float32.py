"""Keras 3.15.1 on JAX in 64-bit mode: of float64 arrays keras.ops.tanh, sin, logaddexp and others give numbers of float32."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np

jax.config.update("jax_enable_x64", True)
x = jax.numpy.asarray(np.array([0.1, 0.2, 0.3]))
for name in ("tanh", "sin", "arctan", "sinc", "exp"):
    found = getattr(keras.ops, name)(x)
    print(f"keras.ops.{name}: {x.dtype} to {found.dtype}, first number {float(found[0])!r}")
got, expected = float(keras.ops.tanh(x)[2]), float(np.tanh(0.3))
is_right = abs(got - expected) < 1e-12
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
