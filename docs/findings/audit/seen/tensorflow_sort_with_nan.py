"""keras.ops.sort, tensorflow 2.21.0, eager: outputs/0 is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras.ops import sort as function
import numpy as np
import tensorflow as tf
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = tf.cast(tf.constant(np.array([np.inf, 1.5, np.inf, 1.5, 1.5, -np.inf, -2.0, 1.5, 0.0, 1.5, 0.0, 1.5, -np.inf, 1.5, 0.0, np.nan, np.nan, 1.5, 1.5, 1.5, -2.0], 'float32').reshape((3, 7))), tf.float32)
work = lambda: call(x=x)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(2, 2)]), float('1.5')  # by the definition in float64
is_right = got == expected or (got != got and expected != expected)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
