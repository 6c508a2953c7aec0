"""tensorflow.linalg.lstsq, tensorflow 2.21.0, eager: outputs/0 is 1.44e+76 times rounding off."""
import numpy as np
import tensorflow as tf
call = lambda x, y: tf.linalg.lstsq(x, y, fast=False)
x = tf.cast(tf.constant(np.array([], 'float32').reshape((0, 3))), tf.float32)
y = tf.cast(tf.constant(np.array([], 'float32').reshape((0, 2))), tf.float32)
work = lambda: call(x=x, y=y)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 0)]), float('0.0')  # by the definition in float64
is_right = bool(abs(got - expected) < 8.47e+37)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
