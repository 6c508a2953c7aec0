"""Keras 3: Adam counts every small batch of gradient_accumulation_steps as a step of its own, so the first update is too short.

https://github.com/keras-team/keras/issues/19990; https://github.com/keras-team/keras/pull/19998 of July 2024 mends it.
WRONG in 3.4.1, RIGHT in 3.5.0 (run on 2026-11-25, AMD EPYC).
"""

import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

variable = keras.Variable(np.array([1.0], "float32"))
adam = keras.optimizers.Adam(learning_rate=0.1, gradient_accumulation_steps=3)
adam.build([variable])
for _ in range(3):
    adam.apply_gradients([(keras.ops.convert_to_tensor(np.array([2.0], "float32")), variable)])
got = 1.0 - float(np.asarray(variable)[0])
ok = abs(got - 0.1) < 1e-4
print(f"{'RIGHT' if ok else 'WRONG'} got {got:.5f} expected 0.10000")
sys.exit(not ok)
