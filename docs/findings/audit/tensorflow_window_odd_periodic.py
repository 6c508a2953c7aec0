"""TensorFlow 2.21.0: periodic=True has no effect on windows of odd length."""

import numpy as np
import tensorflow as tf

print("tensorflow", tf.__version__)
turns = np.cos(2 * np.pi * np.arange(7) / 7)
for window, right in ((tf.signal.hann_window, 0.5 - 0.5 * turns), (tf.signal.hamming_window, 0.54 - 0.46 * turns)):
    print(window.__name__, window(7, periodic=True).numpy().round(4).tolist(), "right", right.round(4).tolist())
