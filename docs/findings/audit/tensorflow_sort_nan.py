"""TensorFlow 2.21.0: with NaN among them, tf.sort leaves the other numbers out of order, too."""

import numpy as np
import tensorflow as tf

x = np.array([3, np.nan, 1, 2, np.nan, 0], np.float32)
print("tensorflow", tf.__version__, tf.sort(tf.constant(x)).numpy(), "numpy", np.sort(x))
