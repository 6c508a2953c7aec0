"""keras.ops.isclose, tensorflow 2.21.0, eager: outputs/0 is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras import ops
import numpy as np
import tensorflow as tf
call = lambda x, y, equal_nan: ops.isclose(x, y, 0.001, 0.01, equal_nan)
x = tf.cast(tf.constant(np.array([np.nan, np.nan, np.inf, 2.5, 2.5, 1.0, -np.inf], 'float32').reshape((7,))), tf.float32)
y = tf.cast(tf.constant(np.array([0.0, -np.inf, np.inf, -1.0, -1.0, 2.5, -0.0], 'float32').reshape((7,))), tf.float32)
work = lambda: call(x=x, y=y, equal_nan=False)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(2,)]), float('1.0')  # by the definition in float64
is_right = abs(got - expected) < 0.5
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
