"""TensorFlow 2.21.0: periodic=True has no effect on windows of odd length."""

import numpy as np
import tensorflow as tf

print("tensorflow", tf.__version__)
turns = np.cos(2 * np.pi * np.arange(7) / 7)
found = []
for window, right in ((tf.signal.hann_window, 0.5 - 0.5 * turns), (tf.signal.hamming_window, 0.54 - 0.46 * turns)):
    found.append((window(7, periodic=True).numpy(), right))
    print(window.__name__, found[-1][0].round(4).tolist(), "right", right.round(4).tolist())
is_right = all(np.abs(got - right).max() < 0.01 for got, right in found)
print("RIGHT" if is_right else "WRONG", "got", found[0][0][-1], "expected", found[0][1][-1])
raise SystemExit(not is_right)
