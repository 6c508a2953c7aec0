"""Keras 3.15.1, every backend: R2Score(num_regressors=1) counts elements where it should count samples."""

import keras
import numpy as np

r = np.random.default_rng(0)
truth = r.normal(size=(8, 3)).astype("float32")
guess = (truth + 0.3 * r.normal(size=(8, 3))).astype("float32")
plain, adjusted = keras.metrics.R2Score(), keras.metrics.R2Score(num_regressors=1)
for metric in (plain, adjusted):
    metric.update_state(truth, guess)
got, right = float(adjusted.result()), 1 - (1 - float(plain.result())) * 7 / 6
print("keras", keras.__version__, "8 samples of 3 columns, 1 regressor:", got, "right", right)
is_right = abs(got - right) < 1e-3
print("RIGHT" if is_right else "WRONG", "got", got, "expected", right)
raise SystemExit(not is_right)
