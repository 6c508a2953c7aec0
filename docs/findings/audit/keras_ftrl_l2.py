"""Keras 3.15.1: Ftrl computes with twice the l2_regularization_strength that its documentation says."""

import keras
import numpy as np

v, optimizer, g = keras.Variable(np.ones(1, "float32")), keras.optimizers.Ftrl(0.1, l2_regularization_strength=0.2), 0.5
optimizer.build([v])
optimizer.apply([keras.ops.convert_to_tensor(np.array([g], "float32"))], [v])
before, after = 0.1, 0.1 + g * g
z = g - (after**0.5 - before**0.5) / 0.1
documented, twice = (-z / (after**0.5 / 0.1 + l2) for l2 in (0.2, 0.4))
got = keras.ops.convert_to_numpy(v.value)[0]
print("keras", keras.__version__, got, "documented", documented, "with twice l2", twice)
is_right = bool(abs(got - documented) < 1e-3)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", documented)
raise SystemExit(not is_right)
