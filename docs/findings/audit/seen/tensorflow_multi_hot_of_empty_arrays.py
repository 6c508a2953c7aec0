"""keras.ops.multi_hot, tensorflow 2.21.0, eager: outputs/0 is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras import ops
import numpy as np
import tensorflow as tf
call = lambda ids, classes: ops.multi_hot(ids, classes)
ids = tf.cast(tf.constant(np.array([], 'int64').reshape((3, 0))), tf.int32)
work = lambda: call(ids=ids, classes=5)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 0)]), float('0.0')  # by the definition in float64
is_right = bool(got == expected or (got != got and expected != expected))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
