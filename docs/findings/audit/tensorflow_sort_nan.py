"""TensorFlow 2.21.0: with NaN among them, tf.sort leaves the other numbers out of order, too."""

import numpy as np
import tensorflow as tf

x = np.array([3, np.nan, 1, 2, np.nan, 0], np.float32)
found = tf.sort(tf.constant(x)).numpy()
print("tensorflow", tf.__version__, found, "numpy", np.sort(x))
is_right = bool((np.diff(found[~np.isnan(found)]) > 0).all())
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)
