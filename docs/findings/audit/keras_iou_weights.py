"""Keras 3.15.1, every backend: MeanIoU cuts off the fractions of sample weights."""

import keras
import numpy as np

metric = keras.metrics.MeanIoU(2)
metric.update_state([0, 0, 1, 1], [0, 1, 0, 1], sample_weight=np.array([0.9, 0.3, 0.3, 1.1], "float32"))
got, right = float(metric.result()), (0.9 / 1.5 + 1.1 / 1.7) / 2
print("keras", keras.__version__, "MeanIoU", got, "right", right)
is_right = abs(got - right) < 0.01
print("RIGHT" if is_right else "WRONG", "got", got, "expected", right)
raise SystemExit(not is_right)
