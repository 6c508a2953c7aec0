"""Keras 3: MeanIoU counts in float32, so a class stops at 16777216 elements.

https://github.com/keras-team/keras/issues/20574 of December 2024.
WRONG in 3.6.0, RIGHT in 3.8.0 (run on 2026-11-25, AMD EPYC).
"""

import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

size = 20_000_000
y_true = np.zeros(size, "int8")
y_pred = np.zeros(size, "int8")
y_pred[: size // 10] = 1
metric = keras.metrics.IoU(num_classes=2, target_class_ids=[0])
metric.update_state(y_true, y_pred)
got = float(np.asarray(metric.result()))
ok = abs(got - 0.9) < 1e-3
print(f"{'RIGHT' if ok else 'WRONG'} got {got:.5f} expected 0.90000")
sys.exit(not ok)
