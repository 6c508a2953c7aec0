"""Keras 3: evaluate() gives a small last batch as much weight in the loss as a whole one.

https://github.com/keras-team/keras/pull/19363 of March 2024 mends it.
WRONG in 3.1.1, RIGHT in 3.3.3 (run on 2026-11-25, AMD EPYC).
"""

import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

inputs = keras.Input((1,))
model = keras.Model(inputs, keras.layers.Dense(1, kernel_initializer="zeros")(inputs))
model.compile(loss="mse", optimizer="sgd")
y = np.array([[10.0]] * 4 + [[0.0]], "float32")
got = float(model.evaluate(np.ones((5, 1), "float32"), y, batch_size=4, verbose=0))
ok = abs(got - 80.0) < 1e-3
print(f"{'RIGHT' if ok else 'WRONG'} got {got:.4f} expected 80.0000")
sys.exit(not ok)
